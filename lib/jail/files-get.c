#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/stream.h"
#include "jail/builtin.h"
#include "jail/files.h"

enum { PATH_BYTES = 4096 };

/* A walk without recursion: the open directories from the top down, and the path of what
 * is looked at. */
struct get {
	struct files_out out;
	DIR *dirs[FILES_DEPTH_MAX];
	size_t ends[FILES_DEPTH_MAX]; /* of the path, for each of them */
	size_t depth;
	char path[PATH_BYTES]; /* "": the top */
	bool has_top;
};

static void put_entry(struct get *g, enum stream_kind kind, const struct stat *st, const char *target)
{
	g->has_top = true;
	stream_put_entry(&g->out.t, &(struct stream_entry){ .kind = kind, .mode = st->st_mode & 0777,
		.n = kind == STREAM_FILE ? (uint64_t)st->st_size : 0, .mtime_ns = files_mtime_ns(st),
		.path = *g->path ? g->path : ".", .target = target });
}

static void skip(struct get *g, const char *why)
{
	files_skip(&g->out, *g->path ? g->path : ".", why);
}

/* As many bytes as were announced, whatever happens to the file meanwhile. */
static int put_content(struct get *g, int fd, uint64_t n, struct fault *f)
{
	static char buf[STREAM_DATA_MAX];
	bool short_of = false;
	int r = 0;

	while (n && !r) {
		size_t want = n < sizeof buf ? (size_t)n : sizeof buf;
		ssize_t got = short_of ? 0 : read(fd, buf, want);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			short_of = true;
			memset(buf, 0, want);
			got = (ssize_t)want;
		}
		stream_put_data(&g->out.t, buf, (size_t)got);
		n -= (uint64_t)got;
		r = files_flush(&g->out, false, f);
	}
	if (short_of)
		skip(g, "it changed while it was read; the end is zeros");
	return r;
}

static int put_file(struct get *g, int dir, const char *name, int follow, struct fault *f)
{
	struct stat st;
	auto_fd int fd = files_open(dir, name, O_RDONLY | O_NONBLOCK | follow, false);

	/* Looked at again: what was there may have been replaced. */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		skip(g, fd < 0 ? strerror(errno) : "it changed");
		return 0;
	}
	put_entry(g, STREAM_FILE, &st, "");
	return put_content(g, fd, (uint64_t)st.st_size, f);
}

static void put_link(struct get *g, int dir, const char *name, const struct stat *st)
{
	char target[PATH_BYTES];
	ssize_t n = readlinkat(dir, name, target, sizeof target - 1);

	if (n <= 0) {
		skip(g, n ? strerror(errno) : "an empty link");
		return;
	}
	target[n] = 0;
	put_entry(g, STREAM_LINK, st, target);
}

static void enter(struct get *g, int dir, const char *name, int follow, const struct stat *st)
{
	if (g->depth == FILES_DEPTH_MAX) {
		skip(g, "it lies too deep");
		return;
	}
	int fd = files_open(dir, name, O_RDONLY | O_DIRECTORY | follow, false);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		skip(g, strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	put_entry(g, STREAM_DIR, st, "");
	g->dirs[g->depth] = d;
	g->ends[g->depth++] = strlen(g->path);
}

/* One thing at g->path, which is `name` in dir. */
static int put_one(struct get *g, int dir, const char *name, bool follow, struct fault *f)
{
	struct stat st;
	int nofollow = follow ? 0 : O_NOFOLLOW;

	if (fstatat(dir, name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		skip(g, strerror(errno));
	else if (S_ISREG(st.st_mode))
		return put_file(g, dir, name, nofollow, f);
	else if (S_ISDIR(st.st_mode))
		enter(g, dir, name, nofollow, &st);
	else if (S_ISLNK(st.st_mode))
		put_link(g, dir, name, &st);
	else
		skip(g, files_kind_name(st.st_mode));
	return 0;
}

/* Appends a name to the path of the innermost directory. */
static bool set_path(struct get *g, const char *name)
{
	size_t at = g->ends[g->depth - 1], n = strlen(name);

	if (at + 1 + n >= sizeof g->path)
		return false;
	if (at)
		g->path[at++] = '/';
	memcpy(g->path + at, name, n + 1);
	return true;
}

static int step(struct get *g, struct fault *f)
{
	DIR *d = g->dirs[g->depth - 1];

	errno = 0;
	struct dirent *e = readdir(d);
	g->path[g->ends[g->depth - 1]] = 0;
	if (!e) {
		if (errno)
			skip(g, strerror(errno));
		closedir(d);
		g->depth--;
		return 0;
	}
	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
		return 0;
	if (!set_path(g, e->d_name)) {
		skip(g, "a path below it is too long");
		return 0;
	}
	int r = put_one(g, dirfd(d), e->d_name, false, f);
	return r ? r : files_flush(&g->out, false, f);
}

int files_get(char *const *argv)
{
	static struct get g;
	struct fault f;
	struct stat st;
	bool follow = argv[1] && !strcmp(argv[1], "follow");
	auto_fd int top = files_open(AT_FDCWD, argv[0], O_PATH | (follow ? 0 : O_NOFOLLOW), false);
	int r;

	if (top < 0 || fstat(top, &st) < 0)
		r = files_fail(&f, errno, "open", argv[0]);
	else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		r = fault_set(&f, FAULT_DENIED, 0, "'%.120s' is %s", argv[0], files_kind_name(st.st_mode));
	else
		r = put_one(&g, AT_FDCWD, argv[0], follow, &f);
	while (!r && g.depth)
		r = step(&g, &f);
	/* A top that could not be read is no end of a stream but a failure. */
	if (!r && g.out.skipped && !g.has_top)
		r = fault_set(&f, FAULT_DENIED, 0, "'%.120s' cannot be read", argv[0]);
	if (!r)
		stream_put_end(&g.out.t);
	return files_end(&g.out, r, &f);
}
