#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "pack/inner.h"

/* Directories that are still to do wait as paths below the top: no depth needs more than
 * three descriptors. The last found is the next: so a directory is followed by all that is in it,
 * and tar(1) can set its time and mode when it leaves it. */
struct path_source {
	struct pack_source source;
	int top;             /* the top as a directory, or what the top is in */
	char *top_name;      /* a top that is no directory; else NULL */
	bool is_begun;
	char **waiting;
	size_t n_waiting, room_waiting;
	/* the directory whose entries come */
	char *dir_path;
	int dir;
	char **names;
	size_t n_names, at_name, room_names;
	/* the file whose content comes */
	int fd;
	uint64_t n_left;     /* [bytes] */
};

enum { CHUNK_BYTES = STREAM_DATA_MAX };

static void push(char ***list, size_t *n, size_t *room, char *s)
{
	if (*n == *room) {
		*room = *room ? *room * 2 : 64;
		*list = mem_resized(*list, *room, sizeof **list);
	}
	(*list)[(*n)++] = s;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int skip(struct path_source *p, struct text *t, const char *path, const char *why)
{
	pack_note_skipped(&p->source.stats, path, why);
	stream_put_skipped(t, path, why);
	return 1;
}

static struct stream_entry to_entry(const struct stat *st, const char *path)
{
	return (struct stream_entry){ .mode = st->st_mode & 0777, .path = path,
		.mtime_ns = st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec };
}

/* Something to tell: what it is called in dir, and below the top. */
struct spot {
	int dir;
	const char *name, *path;
};

static int put_file(struct path_source *p, struct text *t, const struct spot *s, struct fault *f)
{
	const char *path = s->path;
	struct stat st;
	/* It may have become a fifo since it was looked at. */
	auto_fd int fd = openat(s->dir, s->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return skip(p, t, path, "it went away");
	if (fd < 0 || fstat(fd, &st) < 0)
		return pack_fail("read", s->dir, s->name, f);
	if (!S_ISREG(st.st_mode))
		return skip(p, t, path, "it is being changed");
	struct stream_entry e = to_entry(&st, path);
	e.kind = STREAM_FILE;
	e.n = (uint64_t)st.st_size;
	int r = pack_count(&p->source.stats, e.n, f);
	if (r < 0)
		return r;
	stream_put_entry(t, &e);
	p->n_left = e.n;
	if (e.n)
		p->fd = take_fd(&fd);
	return 1;
}

static int put_other(struct path_source *p, struct text *t, const struct spot *s,
	const struct stat *st, struct fault *f)
{
	const char *path = s->path;
	struct stream_entry e = to_entry(st, path);
	char target[PATH_MAX];

	if (S_ISDIR(st->st_mode)) {
		push(&p->waiting, &p->n_waiting, &p->room_waiting, mem_string(path));
		return 1;
	}
	if (!S_ISLNK(st->st_mode))
		return skip(p, t, path, "neither file, directory nor link");
	ssize_t n = readlinkat(s->dir, s->name, target, sizeof target - 1);
	if (n <= 0)
		return n ? pack_fail("read", s->dir, s->name, f) : skip(p, t, path, "an empty link");
	target[n] = 0;
	e.kind = STREAM_LINK;
	e.target = target;
	int r = pack_count(&p->source.stats, 0, f);
	if (r < 0)
		return r;
	stream_put_entry(t, &e);
	return 1;
}

static int put_name(struct path_source *p, struct text *t, const struct spot *s, struct fault *f)
{
	struct stat st;

	if (!stream_path_is_valid(s->path, true))
		return skip(p, t, s->path, "its path is too long");
	if (fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? skip(p, t, s->path, "it went away") :
			pack_fail("read", s->dir, s->name, f);
	return S_ISREG(st.st_mode) ? put_file(p, t, s, f) : put_other(p, t, s, &st, f);
}

static void close_dir(struct path_source *p)
{
	while (p->n_names)
		free(p->names[--p->n_names]);
	free(take_ptr(&p->dir_path));
	drop_fd(&p->dir);
}

static int list_dir(struct path_source *p, struct fault *f)
{
	int list_fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = list_fd < 0 ? NULL : fdopendir(list_fd);

	if (!list)
		return pack_fail("read", p->dir, ".", f);
	for (struct dirent *e; (e = readdir(list));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			push(&p->names, &p->n_names, &p->room_names, mem_string(e->d_name));
	closedir(list);
	qsort(p->names, p->n_names, sizeof *p->names, by_name);
	return 1;
}

/* Tells the next waiting directory and reads its names; 0 when there is none. */
static int open_dir(struct path_source *p, struct text *t, struct fault *f)
{
	struct stat st;

	close_dir(p);
	p->at_name = 0;
	if (!p->n_waiting)
		return 0;
	p->dir_path = p->waiting[--p->n_waiting];
	p->dir = pack_open_below(p->top, p->dir_path, O_RDONLY | O_DIRECTORY);
	if (p->dir < 0 && errno == ENOENT)
		return skip(p, t, p->dir_path, "it went away");
	if (p->dir < 0 || fstat(p->dir, &st) < 0)
		return pack_fail("read", p->top, p->dir_path, f);
	struct stream_entry e = to_entry(&st, p->dir_path);
	e.kind = STREAM_DIR;
	int r = pack_count(&p->source.stats, 0, f);
	if (r < 0)
		return r;
	stream_put_entry(t, &e);
	return list_dir(p, f);
}

static int put_content(struct path_source *p, struct text *t, struct fault *f)
{
	char buf[CHUNK_BYTES];
	size_t want = p->n_left < sizeof buf ? (size_t)p->n_left : sizeof buf;
	ssize_t n = read(p->fd, buf, want);

	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0)
		return pack_fail("read", p->fd, ".", f);
	/* It became shorter: what was announced must come. */
	if (!n) {
		memset(buf, 0, want);
		n = (ssize_t)want;
	}
	stream_put_data(t, buf, (size_t)n);
	p->n_left -= (uint64_t)n;
	if (!p->n_left)
		drop_fd(&p->fd);
	return 1;
}

static int step(struct path_source *p, struct text *t, struct fault *f)
{
	if (p->fd >= 0)
		return put_content(p, t, f);
	if (!p->is_begun) {
		p->is_begun = true;
		struct spot top = { p->top, p->top_name ? p->top_name : ".", "." };
		return put_name(p, t, &top, f);
	}
	while (p->at_name == p->n_names) {
		int r = open_dir(p, t, f);
		if (r < 0)
			return r;
		if (!r) {
			stream_put_end(t);
			return 0;
		}
	}
	const char *name = p->names[p->at_name++];
	auto_free char *path = strcmp(p->dir_path, ".") ? mem_format("%s/%s", p->dir_path, name) :
							   mem_string(name);
	return put_name(p, t, &(struct spot){ p->dir, name, path }, f);
}

static int path_next(struct pack_source *s, struct text *t, struct fault *f)
{
	int r = 1;

	while (r > 0 && t->n < CHUNK_BYTES)
		r = step((struct path_source *)s, t, f);
	return r;
}

static void path_free(struct pack_source *s)
{
	struct path_source *p = (struct path_source *)s;

	close_dir(p);
	while (p->n_waiting)
		free(p->waiting[--p->n_waiting]);
	free(p->waiting);
	free(p->names);
	free(p->top_name);
	drop_fd(&p->fd);
	drop_fd(&p->top);
	free(p);
}

/* A directory is its own top; anything else is a name in what it lies in. */
static int open_top(struct path_source *p, const char *path)
{
	struct stat st;
	const char *slash = strrchr(path, '/');

	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode)) {
		p->top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		return p->top < 0 ? -errno : 0;
	}
	auto_free char *parent = slash ? mem_bytes(path, (size_t)(slash - path) + 1) : mem_bytes(".", 1);
	p->top_name = mem_string(slash ? slash + 1 : path);
	p->top = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return p->top < 0 ? -errno : 0;
}

int pack_source_path(const char *path, bool follow, struct pack_source **ret, struct fault *f)
{
	auto_free char *real = follow ? realpath(path, NULL) : mem_string(path);
	int r = real ? 0 : -errno;

	if (r == -ENOENT)
		return fault_set(f, FAULT_NOT_FOUND, -r, "read '%.150s'", path);
	struct path_source *p = mem_new(struct path_source);
	p->source = (struct pack_source){ path_next, path_free };
	p->top = p->dir = p->fd = -1;
	if (!r)
		r = open_top(p, real);
	if (r < 0) {
		path_free(&p->source);
		return fault_set(f, r == -ENOENT ? FAULT_NOT_FOUND : pack_fault_kind(-r), -r, "read '%.150s'", path);
	}
	*ret = &p->source;
	return 0;
}
