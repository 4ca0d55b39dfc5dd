#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/stream.h"
#include "jail/builtin.h"
#include "jail/files.h"

/* Modes and times of directories are set at the end: what is put into them would change
 * the time, and may not be allowed by the mode. Source of the bound: a large repository has
 * some 100,000 directories. */
enum { DIRS_MAX = 1000000, TEMP_TRIES = 100 };

struct put_dir {
	char *path;
	uint32_t mode;
	int64_t mtime_ns;
};

struct put {
	struct stream_reader reader;
	int stop;          /* readable once this is to end */
	int parent;        /* directory of the top */
	const char *name;  /* of the top in it; NULL: the content goes into parent */
	int top;           /* the top when it is a directory */
	struct put_dir *dirs;
	size_t n_dirs;
	int file;          /* being written; -1 */
	int file_dir;      /* its directory */
	char temp[64];     /* its name until it is whole; "" */
	char final[256];
	char path[FILES_PATH_BYTES];   /* in the stream */
	char shown[FILES_PATH_BYTES];  /* the top, for people */
	struct stream_entry entry;
	uint64_t n_left;   /* [bytes] of it */
};

/* Where an entry goes, seen from the root. */
static const char *show(const struct put *p, const char *path)
{
	static char text[2 * FILES_PATH_BYTES];

	if (!strcmp(path, "."))
		return p->shown;
	snprintf(text, sizeof text, "%s%s%s", p->shown, strcmp(p->shown, "/") ? "/" : "", path);
	return text;
}

static int fail(const struct put *p, int sysno, const char *what, const char *path, struct fault *f)
{
	return files_fail(f, sysno, what, show(p, path));
}

/* What is at a name that something is put at; shown: its path for people. */
static int check_place(int dir, const char *name, bool is_dir, const char *shown, struct fault *f)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : files_fail(f, errno, "look at", shown);
	if (S_ISLNK(st.st_mode))
		return fault_set(f, FAULT_DENIED, ELOOP, "'%.150s' is a link", shown);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return fault_set(f, FAULT_DENIED, 0, "'%.150s' is %s", shown, files_kind_name(st.st_mode));
	if (S_ISDIR(st.st_mode) != is_dir)
		return fault_set(f, FAULT_USAGE, is_dir ? ENOTDIR : EISDIR, "put %s at '%.150s'",
			is_dir ? "a directory" : "a file", shown);
	return 0;
}

static void set_shown(struct put *p, const char *path, const char *name)
{
	char from_root[FILES_PATH_BYTES];

	files_show(path, from_root);
	size_t n = strlen(from_root);
	while (n && from_root[n - 1] == '/')
		n--;
	snprintf(p->shown, sizeof p->shown, "%.*s/%s", (int)n, from_root, name ? name : "");
	if (!name && n)
		p->shown[n] = 0;
}

/* Finds where the top goes; as docker cp does. */
static int find_place(struct put *p, const char *path, const char *name, bool is_dir, struct fault *f)
{
	static char copy[2][4096];
	struct stat st;
	size_t n = strlen(path);
	bool slash = n > 1 && path[n - 1] == '/';

	if (!n || n >= sizeof copy[0])
		return fault_set(f, FAULT_USAGE, 0, "a path has 1 to %zu bytes", sizeof copy[0] - 1);
	if (!fstatat(AT_FDCWD, path, &st, slash ? 0 : AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode)) {
		p->parent = files_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, false);
		p->name = *name ? name : NULL;
		set_shown(p, path, p->name);
		if (p->parent >= 0 && !p->name && !is_dir)
			return fault_set(f, FAULT_USAGE, 0, "a file needs a name in '%.150s'", p->shown);
		return p->parent < 0 ? files_fail(f, errno, "open directory", path) : 0;
	}
	set_shown(p, path, NULL);
	if (slash && !is_dir)
		return fault_set(f, FAULT_NOT_FOUND, 0, "'%.150s' is no directory", p->shown);
	strcpy(copy[0], path);
	strcpy(copy[1], path);
	p->parent = files_open(AT_FDCWD, dirname(copy[0]), O_RDONLY | O_DIRECTORY, false);
	p->name = basename(copy[1]);
	return p->parent < 0 ? files_fail(f, errno, "open directory", copy[0]) : 0;
}

/* The directory that an entry goes into, and its name there. The top's own is the parent. */
static int open_place(struct put *p, const char *path, const char **ret_name, struct fault *f)
{
	char dir[4096];
	const char *slash = strrchr(path, '/');

	if (!strcmp(path, ".")) {
		*ret_name = p->name;
		int fd = fcntl(p->parent, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? fail(p, errno, "open", path, f) : fd;
	}
	*ret_name = slash ? slash + 1 : path;
	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	int fd = p->top < 0 ? -1 : files_open(p->top, dir, O_RDONLY | O_DIRECTORY, true);
	if (fd < 0)
		return fail(p, p->top < 0 ? ENOTDIR : errno, "open directory", dir, f);
	return fd;
}

static int note_dir(struct put *p, const struct stream_entry *e, struct fault *f)
{
	if (p->n_dirs == DIRS_MAX)
		return fault_set(f, FAULT_LIMIT, 0, "more than %d directories", DIRS_MAX);
	if (!(p->n_dirs & (p->n_dirs - 1))) /* at each power of two */
		p->dirs = mem_resized(p->dirs, p->n_dirs ? p->n_dirs * 2 : 1, sizeof *p->dirs);
	p->dirs[p->n_dirs++] = (struct put_dir){ mem_string(e->path), e->mode, e->mtime_ns };
	return 0;
}

static int put_directory(struct put *p, int dir, const char *name, const struct stream_entry *e,
	struct fault *f)
{
	bool is_top = !strcmp(e->path, ".");

	if (!name) { /* into a directory that is there: it stays as it is */
		p->top = fcntl(p->parent, F_DUPFD_CLOEXEC, 3);
		return p->top < 0 ? fail(p, errno, "open", e->path, f) : 0;
	}
	int r = check_place(dir, name, true, show(p, e->path), f);
	if (r < 0)
		return r;
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return fail(p, errno, "make directory", e->path, f);
	if (is_top) {
		p->top = files_open(dir, name, O_RDONLY | O_DIRECTORY, true);
		if (p->top < 0)
			return fail(p, errno, "open directory", e->path, f);
	}
	return note_dir(p, e, f);
}

/* Makes what comes to e's place later. The id of this process is the same in every execution,
 * so it makes no name; nor may a file that somebody left there stop anything. */
static int make_temp(struct put *p, int dir, const struct stream_entry *e)
{
	int r = -1;

	for (int i = 0; i < TEMP_TRIES && r < 0; i++) {
		uint64_t bits;
		if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
			break;
		snprintf(p->temp, sizeof p->temp, ".sbx-put-%016llx", (unsigned long long)bits);
		r = e->kind == STREAM_LINK ? symlinkat(e->target, dir, p->temp) :
			openat(dir, p->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (r < 0 && errno != EEXIST)
			break;
	}
	if (r < 0)
		p->temp[0] = 0;
	return r;
}

static int put_link(struct put *p, int dir, const char *name, const struct stream_entry *e,
	struct fault *f)
{
	struct timespec times[2];
	int r = check_place(dir, name, false, show(p, e->path), f);

	if (r < 0 && f->sysno != ELOOP) /* a link may take the place of a link */
		return r;
	if (make_temp(p, dir, e) < 0)
		return fail(p, errno, "make link", e->path, f);
	files_times(e->mtime_ns, times);
	utimensat(dir, p->temp, times, AT_SYMLINK_NOFOLLOW);
	r = renameat(dir, p->temp, dir, name) < 0 ? fail(p, errno, "make link", e->path, f) : 0;
	if (r < 0)
		unlinkat(dir, p->temp, 0);
	p->temp[0] = 0;
	return r;
}

static int end_file(struct put *p, struct fault *f)
{
	struct stream_entry *e = &p->entry;
	struct timespec times[2];
	const char *path = p->path;

	files_times(e->mtime_ns, times);
	if (fchmod(p->file, e->mode) < 0 || futimens(p->file, times) < 0)
		return fail(p, errno, "write", path, f);
	int r = check_place(p->file_dir, p->final, false, show(p, path), f);
	if (r < 0)
		return r;
	/* The name leads to the old or to the new file, and never through a link. */
	if (renameat(p->file_dir, p->temp, p->file_dir, p->final) < 0)
		return fail(p, errno, "write", path, f);
	p->temp[0] = 0;
	drop_fd(&p->file);
	drop_fd(&p->file_dir);
	return 0;
}

static int begin_file(struct put *p, int dir, const char *name, const struct stream_entry *e,
	struct fault *f)
{
	int r = check_place(dir, name, false, show(p, e->path), f);

	if (r < 0)
		return r;
	p->file_dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	p->file = p->file_dir < 0 ? -1 : make_temp(p, dir, e);
	if (p->file < 0)
		return fail(p, errno, "create", e->path, f);
	snprintf(p->path, sizeof p->path, "%s", e->path);
	snprintf(p->final, sizeof p->final, "%s", name);
	p->entry = *e;
	p->n_left = e->n;
	return p->n_left ? 0 : end_file(p, f);
}

static int put_entry(struct put *p, const struct stream_entry *e, char *const *argv, struct fault *f)
{
	const char *name;

	if (!strcmp(e->path, ".")) {
		int r = find_place(p, argv[0], argv[1] ? argv[1] : "", e->kind == STREAM_DIR, f);
		if (r < 0)
			return r;
	}
	auto_fd int dir = open_place(p, e->path, &name, f);
	if (dir < 0)
		return dir;
	if (e->kind == STREAM_DIR)
		return put_directory(p, dir, name, e, f);
	if (e->kind == STREAM_LINK)
		return put_link(p, dir, name, e, f);
	return begin_file(p, dir, name, e, f);
}

static int put_data(struct put *p, const struct stream_item *i, struct fault *f)
{
	int r = fd_write_all(p->file, i->data, i->entry.n);

	if (r < 0)
		return fail(p, -r, "write", p->path, f);
	p->n_left -= i->entry.n;
	return p->n_left ? 0 : end_file(p, f);
}

/* The innermost first. One that the payload has moved away meanwhile is its own. */
static void end_dirs(struct put *p)
{
	while (p->n_dirs) {
		struct put_dir *d = &p->dirs[--p->n_dirs];
		struct timespec times[2];
		auto_fd int fd = files_open(p->top, d->path, O_RDONLY | O_DIRECTORY, true);
		files_times(d->mtime_ns, times);
		if (fd >= 0 && !fchmod(fd, d->mode))
			futimens(fd, times);
		free(d->path);
	}
}

/* 1: the end of the stream. */
static int take(struct put *p, const struct stream_item *i, char *const *argv, struct fault *f)
{
	switch (i->entry.kind) {
	case STREAM_DIR:
	case STREAM_FILE:
	case STREAM_LINK:
		return put_entry(p, &i->entry, argv, f);
	case STREAM_DATA:
		return put_data(p, i, f);
	case STREAM_FAULT:
		*f = i->fault;
		return -(int)f->kind;
	case STREAM_END:
		return 1;
	default:
		return 0;
	}
}

/* More of the stream. A TERM is seen here, between two pieces: what is half is then removed. */
static int read_more(struct put *p, struct fault *f)
{
	static char buf[STREAM_DATA_MAX];
	struct pollfd polls[2] = { { p->stop, POLLIN, 0 }, { 0, POLLIN, 0 } };

	while (poll(polls, 2, -1) < 0)
		if (errno != EINTR)
			return fault_set(f, FAULT_SYSTEM, errno, "wait for the stream of files");
	if (polls[0].revents)
		return fault_set(f, FAULT_SYSTEM, EINTR, "put files");
	ssize_t n = read(0, buf, sizeof buf);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return fault_set(f, FAULT_FORMAT, n ? errno : 0, "the stream of files ends early");
	stream_feed(&p->reader, buf, (size_t)n);
	return 0;
}

static int run(struct put *p, char *const *argv, struct fault *f)
{
	struct stream_item item;

	for (;;) {
		int r = stream_next(&p->reader, &item, f);
		if (r > 0)
			r = take(p, &item, argv, f);
		else if (!r)
			r = read_more(p, f);
		if (r)
			return r > 0 ? 0 : r;
	}
}

/* Without it a stop only ends this at once. */
static int open_stop(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd >= 0)
		sigprocmask(SIG_BLOCK, &set, NULL);
	return fd;
}

int files_put(char *const *argv)
{
	static struct put p;
	struct files_out out = { 0 };
	struct fault f;

	p = (struct put){ .parent = -1, .top = -1, .file = -1, .file_dir = -1 };
	p.stop = open_stop();
	/* A file over its limit is a failed write, after which what is half goes, and not the end. */
	signal(SIGXFSZ, SIG_IGN);
	int r = run(&p, argv, &f);

	if (p.temp[0] && p.file_dir >= 0)
		unlinkat(p.file_dir, p.temp, 0);
	end_dirs(&p);
	free(p.dirs);
	drop_fd(&p.file);
	drop_fd(&p.file_dir);
	drop_fd(&p.top);
	drop_fd(&p.parent);
	drop_fd(&p.stop);
	stream_reader_done(&p.reader);
	return files_end(&out, r, &f);
}
