#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "pack/inner.h"

/* Modes and times of directories wait for the end: one without the w bit takes no files,
 * and every file changes its time. */
struct made_dir {
	char *path;
	uint32_t mode;
	int64_t mtime_ns;
};

struct dir_sink {
	struct pack_sink sink;
	int dir;               /* what name is in */
	char *name;
	bool must_be_dir;
	int top;               /* the top as a directory; -1: not yet, or it is none */
	mode_t umask;
	struct made_dir *made;
	size_t n_made, room_made;
	/* the file that is being written */
	int fd, parent;
	char temp[64], file_name[256];
	struct stream_entry file;
	uint64_t at;           /* [bytes] */
};

/* For utimensat(2); before 1970 too. */
static void set_times(struct timespec times[2], int64_t mtime_ns)
{
	int64_t s = mtime_ns / 1000000000, ns = mtime_ns % 1000000000;

	times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
	times[1] = (struct timespec){ .tv_sec = ns < 0 ? s - 1 : s, .tv_nsec = ns < 0 ? ns + 1000000000 : ns };
}

static int fail(const struct dir_sink *d, const char *path, struct fault *f)
{
	bool is_top = d->top < 0 || !strcmp(path, ".");

	return pack_fail("write", is_top ? d->dir : d->top, is_top ? d->name : path, f);
}

/* Of the file that is being written. */
static int fail_file(const struct dir_sink *d, struct fault *f)
{
	return pack_fail("write", d->parent, d->file_name, f);
}

/* The directory that an entry lies in, and its name there. */
static int open_parent(struct dir_sink *d, const char *path, const char **ret_name, int *ret_fd)
{
	const char *slash = strrchr(path, '/');

	if (!strcmp(path, ".")) {
		*ret_name = d->name;
		*ret_fd = fcntl(d->dir, F_DUPFD_CLOEXEC, 0);
	} else if (d->top < 0) {
		errno = ENOTDIR;
		return -1;
	} else if (!slash) {
		*ret_name = path;
		*ret_fd = fcntl(d->top, F_DUPFD_CLOEXEC, 0);
	} else {
		auto_free char *parent = mem_bytes(path, (size_t)(slash - path));
		*ret_name = slash + 1;
		*ret_fd = pack_open_below(d->top, parent, O_RDONLY | O_DIRECTORY);
	}
	return *ret_fd < 0 ? -1 : 0;
}

static void note_made(struct dir_sink *d, const struct stream_entry *e)
{
	if (d->n_made == d->room_made) {
		d->room_made = d->room_made ? d->room_made * 2 : 64;
		d->made = mem_resized(d->made, d->room_made, sizeof *d->made);
	}
	d->made[d->n_made++] = (struct made_dir){ mem_string(e->path), e->mode, e->mtime_ns };
}

static int make_dir(struct dir_sink *d, int parent, const char *name, const struct stream_entry *e,
	struct fault *f)
{
	bool is_top = !strcmp(e->path, ".");

	if (!mkdirat(parent, name, 0700))
		note_made(d, e);
	else if (errno != EEXIST)
		return fail(d, e->path, f);
	/* Also where it was there: a link in its place must not be gone through. */
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail(d, e->path, f);
	if (is_top)
		d->top = fd;
	else
		close(fd);
	return 0;
}

static int make_link(struct dir_sink *d, int parent, const char *name, const struct stream_entry *e, struct fault *f)
{
	struct timespec times[2];

	set_times(times, e->mtime_ns);
	if (symlinkat(e->target, parent, name) < 0 &&
		(errno != EEXIST || unlinkat(parent, name, 0) < 0 ||
			symlinkat(e->target, parent, name) < 0))
		return fail(d, e->path, f);
	utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static void forget_file(struct dir_sink *d)
{
	if (d->fd >= 0)
		unlinkat(d->parent, d->temp, 0);
	drop_fd(&d->fd);
	drop_fd(&d->parent);
}

static int end_file(struct dir_sink *d, struct fault *f)
{
	struct timespec times[2];
	struct stat st;

	set_times(times, d->file.mtime_ns);
	/* The last bytes may be a hole. */
	if (ftruncate(d->fd, (off_t)d->at) < 0 || fchmod(d->fd, d->file.mode & ~d->umask) < 0)
		return fail_file(d, f);
	futimens(d->fd, times);
	if (!fstatat(d->parent, d->file_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return fail_file(d, f);
	}
	if (renameat(d->parent, d->temp, d->parent, d->file_name) < 0)
		return fail_file(d, f);
	drop_fd(&d->fd);
	drop_fd(&d->parent);
	return 0;
}

static int begin_file(struct dir_sink *d, int *parent, const char *name,
	const struct stream_entry *e, struct fault *f)
{
	static unsigned counter;

	d->file = *e;
	d->at = 0;
	snprintf(d->file_name, sizeof d->file_name, "%s", name);
	snprintf(d->temp, sizeof d->temp, ".sbx-cp.%d.%llx.%u", (int)getpid(),
		(unsigned long long)clock_now_us(), counter++);
	d->parent = take_fd(parent);
	d->fd = openat(d->parent, d->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->fd < 0)
		return fail(d, e->path, f);
	return e->n ? 0 : end_file(d, f);
}

static int dir_entry(struct pack_sink *k, const struct stream_entry *e, struct fault *f)
{
	struct dir_sink *d = (struct dir_sink *)k;
	auto_fd int parent = -1;
	const char *name;

	if (open_parent(d, e->path, &name, &parent) < 0)
		return fail(d, e->path, f);
	/* "." is the content of a directory, never a file in its place. */
	if (!strcmp(name, ".") && e->kind != STREAM_DIR)
		return fault_set(f, FAULT_DENIED, 0, "the source is no directory");
	if (d->must_be_dir && !strcmp(e->path, ".") && e->kind != STREAM_DIR)
		return fault_set(f, FAULT_NOT_FOUND, 0, "there is no directory '%.150s'", d->name);
	switch (e->kind) {
	case STREAM_DIR:
		return make_dir(d, parent, name, e, f);
	case STREAM_LINK:
		return make_link(d, parent, name, e, f);
	default:
		return begin_file(d, &parent, name, e, f);
	}
}

static bool is_zero(const char *p, size_t n)
{
	return !*p && !memcmp(p, p + 1, n - 1);
}

static int dir_data(struct pack_sink *k, const void *p, size_t n, struct fault *f)
{
	struct dir_sink *d = (struct dir_sink *)k;

	/* A sparse file inside does not fill the host's disk. */
	int r = is_zero(p, n) ? lseek(d->fd, (off_t)n, SEEK_CUR) < 0 ? -errno : 0 :
				fd_write_all(d->fd, p, n);
	if (r < 0) {
		errno = -r;
		return fail_file(d, f);
	}
	d->at += n;
	return d->at < d->file.n ? 0 : end_file(d, f);
}

/* From the last to the first: a parent may close the way to its children. */
static int dir_end(struct pack_sink *k, struct fault *f)
{
	struct dir_sink *d = (struct dir_sink *)k;

	for (size_t i = d->n_made; i--;) {
		const struct made_dir *m = &d->made[i];
		struct timespec times[2];
		auto_fd int fd = pack_open_below(d->top, m->path, O_RDONLY | O_DIRECTORY);
		if (fd < 0 || fchmod(fd, m->mode & ~d->umask) < 0)
			return fail(d, m->path, f);
		set_times(times, m->mtime_ns);
		futimens(fd, times);
	}
	return 0;
}

static void dir_free(struct pack_sink *k)
{
	struct dir_sink *d = (struct dir_sink *)k;

	forget_file(d);
	for (size_t i = 0; i < d->n_made; i++)
		free(d->made[i].path);
	free(d->made);
	free(d->name);
	drop_fd(&d->top);
	drop_fd(&d->dir);
	free(d);
}

int pack_sink_dir(int dir, const char *name, struct pack_sink **ret, struct fault *f)
{
	size_t n = strlen(name);
	bool must_be_dir = n > 1 && name[n - 1] == '/';
	auto_free char *plain = mem_bytes(name, must_be_dir ? n - 1 : n);

	if (strchr(plain, '/') || !stream_path_is_valid(plain, true))
		return fault_set(f, FAULT_USAGE, 0, "'%.150s' is no name of a file", name);
	int own = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "use a directory");
	struct dir_sink *d = mem_new(struct dir_sink);
	d->sink = (struct pack_sink){ dir_entry, dir_data, dir_end, dir_free };
	d->dir = own;
	d->name = take_ptr(&plain);
	d->must_be_dir = must_be_dir;
	d->top = d->fd = d->parent = -1;
	d->umask = umask(0);
	umask(d->umask);
	*ret = &d->sink;
	return 0;
}
