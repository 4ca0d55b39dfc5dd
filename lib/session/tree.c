#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "session/tree.h"

/* Open directories at a time: below a default RLIMIT_NOFILE of 1024 with all else open. */
enum { OPEN_MAX_DIRS = 64, DENTS_BYTES = 65536, TRIES = 3 };

/* A directory on the way down. Its subdirectories that are still to do lie on w->names. */
struct level {
	void *node;
	size_t names_from;
	uint64_t ino;
	int fd; /* -1: closed for now */
};

struct walk {
	const struct tree_visitor *v;
	struct level *levels;
	size_t n, room;
	struct text names;   /* a stack of: name, NUL, node, length of the three */
	unsigned long long dents[DENTS_BYTES / sizeof(unsigned long long)];
	int64_t end_ms;
	bool moved;          /* some directory was not found again */
};

struct dent {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static int64_t to_ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000 + t->tv_nsec;
}

/* 0, or -errno. */
static int stat_entry(int dir, const char *name, struct tree_stat *ret)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return -errno;
	*ret = (struct tree_stat){ .ino = st.st_ino, .n = (uint64_t)st.st_size,
		.blocks = (uint64_t)st.st_blocks, .mtime_ns = to_ns(&st.st_mtim),
		.ctime_ns = to_ns(&st.st_ctim), .mode = st.st_mode, .uid = st.st_uid, .gid = st.st_gid,
		.nlink = (uint32_t)st.st_nlink, .is_whiteout = S_ISCHR(st.st_mode) && !st.st_rdev };
	return 0;
}

static void push_name(struct walk *w, const char *name, size_t n_name, void *node)
{
	size_t n = n_name + 1 + sizeof node + sizeof n;

	text_put_bytes(&w->names, name, n_name + 1);
	text_put_bytes(&w->names, &node, sizeof node);
	text_put_bytes(&w->names, &n, sizeof n);
}

static void pop_name(struct walk *w, char name[NAME_MAX + 1], void **ret_node)
{
	const char *end = w->names.data + w->names.n;
	size_t n;

	memcpy(&n, end - sizeof n, sizeof n);
	memcpy(ret_node, end - sizeof n - sizeof *ret_node, sizeof *ret_node);
	strcpy(name, end - n);
	w->names.n -= n;
}

static int visit(struct walk *w, const struct level *l, const char *name)
{
	struct tree_stat st;
	size_t n = strlen(name);
	void *node = NULL;
	int r = n > NAME_MAX ? -ENAMETOOLONG : stat_entry(l->fd, name, &st);

	if (r == -ENOENT)
		return 0; /* removed meanwhile */
	if (r)
		return r;
	r = w->v->entry(w->v->arg, l->node, name, n, &st, &node);
	if (!r && S_ISDIR(st.mode))
		push_name(w, name, n, node);
	return r;
}

/* 0, positive of the visitor, or -errno. */
static int read_dir(struct walk *w, size_t at)
{
	const struct level l = w->levels[at];
	char *buf = (char *)w->dents;

	for (;;) {
		long n = syscall(SYS_getdents64, l.fd, buf, DENTS_BYTES);
		if (n < 0 && errno == ENOENT)
			return 0; /* removed meanwhile */
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (long i = 0; i < n;) {
			const struct dent *d = (const struct dent *)(buf + i);
			i += d->reclen;
			if (d->name[0] == '.' && (!d->name[1] || (d->name[1] == '.' && !d->name[2])))
				continue;
			int r = visit(w, &l, d->name);
			if (r)
				return r;
		}
		if (clock_now_ms() > w->end_ms)
			return -ETIME;
	}
}

/* The overlay writes one or the other name, by how it was mounted. */
static bool is_opaque(int fd)
{
	char c = 0;

	if (fgetxattr(fd, "user.overlay.opaque", &c, 1) == 1)
		return c == 'y';
	return fgetxattr(fd, "trusted.overlay.opaque", &c, 1) == 1 && c == 'y';
}

static bool has_names(const struct walk *w, size_t at)
{
	size_t end = at + 1 < w->n ? w->levels[at + 1].names_from : w->names.n;

	return end > w->levels[at].names_from;
}

/* Goes down into a directory: takes fd. */
static int push_level(struct walk *w, int fd, uint64_t ino, void *node)
{
	if (w->n == w->room) {
		w->room = w->room ? w->room * 2 : 64;
		w->levels = mem_resized(w->levels, w->room, sizeof *w->levels);
	}
	w->levels[w->n++] = (struct level){ node, w->names.n, ino, fd };
	if (w->n > OPEN_MAX_DIRS)
		drop_fd(&w->levels[w->n - OPEN_MAX_DIRS].fd);
	if (node && w->v->enter)
		w->v->enter(w->v->arg, node, is_opaque(fd));
	return read_dir(w, w->n - 1);
}

/* Comes back up. A parent whose descriptor was closed is found through "..", and must be
 * the same directory as before: it cannot lead out of the tree, for it was reached from its
 * top. */
static void pop_level(struct walk *w)
{
	struct level *l = &w->levels[--w->n], *up = w->n ? l - 1 : NULL;
	struct stat st;

	if (up && up->fd < 0 && has_names(w, w->n - 1)) {
		up->fd = openat(l->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (up->fd < 0 || fstat(up->fd, &st) < 0 || st.st_ino != up->ino) {
			drop_fd(&up->fd);
			w->names.n = up->names_from;
			w->moved = true;
		}
	}
	drop_fd(&l->fd);
}

/* One step: into the next subdirectory of the last level, or up. */
static int step(struct walk *w)
{
	size_t at = w->n - 1;
	char name[NAME_MAX + 1];
	struct stat st;
	void *node;

	if (!has_names(w, at)) {
		pop_level(w);
		return 0;
	}
	pop_name(w, name, &node);
	int fd = openat(w->levels[at].fd, name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return -EIO;
	}
	/* Its last subdirectory: it is not needed again. A chain of any depth needs two. */
	if (at && !has_names(w, at))
		drop_fd(&w->levels[at].fd);
	return push_level(w, fd, st.st_ino, node);
}

int tree_walk_here(int top_fd, const struct tree_visitor *v, struct fault *f)
{
	int top = openat(top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (top < 0)
		return errno == EACCES ? TREE_DENIED : fault_set(f, FAULT_SYSTEM, errno, "open a tree");
	struct walk *w = mem_new(struct walk);
	w->v = v;
	w->end_ms = clock_now_ms() + TREE_WALK_MS;
	r = push_level(w, top, 0, NULL);
	while (!r && w->n)
		r = step(w);
	bool moved = w->moved;
	for (size_t i = 0; i < w->n; i++)
		drop_fd(&w->levels[i].fd);
	text_done(&w->names);
	free(w->levels);
	free(w);
	if (r == -EACCES || r == -EPERM)
		return TREE_DENIED;
	if (r == -ETIME)
		return fault_set(f, FAULT_LIMIT, 0, "a tree is too large to read in %d ms", TREE_WALK_MS);
	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, -r, "read a tree");
	return r ? r : moved ? TREE_MOVED : 0;
}

int tree_walk(int top_fd, const struct tree_visitor *v, struct fault *f)
{
	int r = TREE_MOVED;

	/* Somebody moves deep directories while we look: the last view is what there is. */
	for (int i = 0; i < TRIES && r == TREE_MOVED; i++) {
		if (i)
			v->again(v->arg);
		r = tree_walk_here(top_fd, v, f);
	}
	if (r == TREE_MOVED)
		return 0;
	if (r != TREE_DENIED)
		return r;
	/* Root has every right already, and would lose them in a namespace of its own. */
	if (!geteuid())
		return fault_set(f, FAULT_SYSTEM, EACCES, "read a tree");
	v->again(v->arg);
	return tree_walk_apart(top_fd, v, f);
}
