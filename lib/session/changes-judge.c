#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "session/changes-inner.h"

/*
 * What the inside sees at a path is upper's entry; or nothing, where that is a whiteout; or
 * lower's entry, where upper has none and all directories above are merged: neither opaque nor
 * replaced. A candidate is judged by what was seen there before and what is seen now.
 */

struct judge {
	struct changes *c;
	int up_fd, lower_fd;
	struct change_heap *heap;
	struct text path, old_path;
};

struct view {
	bool is_there, is_lower;
	struct tree_stat st;
};

/* --- looking -------------------------------------------------------------------------------- */

/* A path below a tree, through no link at all. -1 with errno. */
static int open_below(int top, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, top, path[1] ? path + 1 : ".", &how, sizeof how);
}

/* Of the two lower directories the first one has at a path. What stands in the first in the place of
 * a directory hides what the second has below; where the first has a directory, both are seen. */
static int open_lower(const struct judge *j, const char *path, uint64_t flags)
{
	int fd = j->lower_fd < 0 ? -1 : open_below(j->lower_fd, path, flags);

	if (fd >= 0 || j->c->base_fd < 0 || (j->lower_fd >= 0 && errno != ENOENT))
		return fd;
	return open_below(j->c->base_fd, path, flags);
}

/* What lower has at a path; owners as they are on disk in upper. */
static bool stat_lower(const struct judge *j, const char *path, struct tree_stat *ret)
{
	auto_fd int fd = open_lower(j, path, O_PATH);
	struct stat st;

	/* A whiteout can only be in the second, where somebody has put it: it hides itself. */
	if (fd < 0 || fstat(fd, &st) < 0 || (S_ISCHR(st.st_mode) && !st.st_rdev))
		return false;
	*ret = (struct tree_stat){ .ino = st.st_ino, .n = (uint64_t)st.st_size, .mode = st.st_mode,
		.mtime_ns = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
		.uid = st.st_uid + j->c->id_base, .gid = st.st_gid + j->c->id_base };
	return true;
}

/* Whether lower has a directory at the path of n, remembered. */
static bool is_lower_dir(struct judge *j, struct node *n)
{
	auto_text struct text path = { 0 };
	struct tree_stat st;

	if (!n)
		return true;
	if (n->lower == LOWER_UNKNOWN && n->parent && n->parent->lower == LOWER_NO_DIR)
		n->lower = LOWER_NO_DIR;
	if (n->lower == LOWER_UNKNOWN)
		n->lower = change_path(n, &path) && stat_lower(j, text_string(&path), &st) &&
			S_ISDIR(st.mode) ? LOWER_IS_DIR : LOWER_NO_DIR;
	return n->lower == LOWER_IS_DIR;
}

/* Whether lower's directory at the path of n shines through, with all above it. Only asked
 * where lower has one, so the way up is short. */
static bool was_merged(const struct node *n)
{
	for (; n; n = n->parent) {
		const struct tree_stat *st = n->candidate && n->candidate->had_old ?
			&n->candidate->old : &n->st;
		if (!n->is_new && (!S_ISDIR(st->mode) || n->was_opaque))
			return false;
	}
	return true;
}

static bool is_merged(const struct node *n)
{
	for (; n; n = n->parent) {
		bool is_gone = n->candidate && n->candidate->is_gone;
		if (!is_gone && (!S_ISDIR(n->st.mode) || n->is_opaque))
			return false;
	}
	return true;
}

/* --- content -------------------------------------------------------------------------------- */

/* [bytes] Longer files are compared by their times. */
enum { COMPARE_MAX = 1024 * 1024, COMPARE_CHUNK = 32768 };

static bool read_full(int fd, char *p, size_t n)
{
	while (n) {
		ssize_t r = read(fd, p, n);
		if (r <= 0)
			return false;
		p += r;
		n -= (size_t)r;
	}
	return true;
}

static bool is_same_text(int a, int b, size_t n)
{
	char x[COMPARE_CHUNK], y[COMPARE_CHUNK];

	while (n) {
		size_t now = n < sizeof x ? n : sizeof x;
		if (!read_full(a, x, now) || !read_full(b, y, now) || memcmp(x, y, now))
			return false;
		n -= now;
	}
	return true;
}

static bool is_same_link(int a, int b)
{
	char x[4096], y[4096];
	ssize_t n = readlinkat(a, "", x, sizeof x), m = readlinkat(b, "", y, sizeof y);

	return n >= 0 && n == m && !memcmp(x, y, (size_t)n);
}

/* Whether a file copied up from lower has the same content still. */
static bool is_same_content(struct judge *j, const char *path, const struct tree_stat *low,
	const struct tree_stat *up)
{
	if (low->n != up->n)
		return false;
	if (!S_ISREG(up->mode) && !S_ISLNK(up->mode))
		return true;
	uint64_t flags = S_ISLNK(up->mode) ? O_PATH : O_RDONLY | O_NONBLOCK | O_NOCTTY;
	auto_fd int a = up->n > COMPARE_MAX ? -1 : open_lower(j, path, flags);
	auto_fd int b = a < 0 ? -1 : open_below(j->up_fd, path, flags);
	struct stat st;
	/* A copy keeps the time of the original. */
	if (a < 0 || b < 0 || fstat(b, &st) < 0 || st.st_ino != up->ino)
		return low->mtime_ns == up->mtime_ns;
	return S_ISLNK(up->mode) ? is_same_link(a, b) : is_same_text(a, b, (size_t)up->n);
}

/* --- judging -------------------------------------------------------------------------------- */

static bool is_same_owner_and_mode(const struct tree_stat *a, const struct tree_stat *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid;
}

static void set_kind(struct candidate *d, enum change_kind kind, const struct tree_stat *shown)
{
	d->is_change = true;
	d->kind = kind;
	d->shown = *shown;
}

static void judge_both(struct judge *j, struct candidate *d, const char *path,
	const struct view *old, const struct view *new)
{
	const struct tree_stat *a = &old->st, *b = &new->st;

	if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
		set_kind(d, CHANGE_MODIFIED, b);
	else if (S_ISDIR(b->mode)) {
		/* That something in it came or went is told by what came or went. */
		if (!is_same_owner_and_mode(a, b))
			set_kind(d, CHANGE_METADATA, b);
	} else if (old->is_lower)
		set_kind(d, is_same_content(j, path, a, b) ? CHANGE_METADATA : CHANGE_MODIFIED, b);
	else if (a->ino != b->ino || a->n != b->n || a->mtime_ns != b->mtime_ns)
		set_kind(d, CHANGE_MODIFIED, b);
	else
		set_kind(d, CHANGE_METADATA, b);
}

/* --- a lower directory that is hidden now ------------------------------------------------------ */

struct hidden_dir {
	struct hidden_dir *next; /* all of them, to be freed */
	struct hidden_dir *up;
	struct node *node;       /* NULL: upper had nothing there, before or now */
	bool is_judged;          /* by itself, with all below */
	char *path;
};

struct hidden {
	struct judge *j;
	bool is_base;            /* of the second lower directory what the first has not */
	struct hidden_dir top, *all;
	size_t n;
};

static struct hidden_dir *hidden_dir_new(struct hidden *h, struct hidden_dir *up, struct node *n,
	const char *path)
{
	struct hidden_dir *d = mem_new(struct hidden_dir);

	*d = (struct hidden_dir){ h->all, up, n, up->is_judged || n, mem_string(path) };
	h->all = d;
	return d;
}

static int hidden_entry(void *arg, void *parent, const char *name, size_t n_name,
	const struct tree_stat *st, void **ret_node)
{
	struct hidden *h = arg;
	struct hidden_dir *up = parent ? parent : &h->top;
	struct node *n = up->node ? changes_find(h->j->c, up->node, name, n_name) : NULL;

	if (h->n++ >= LOWER_WALK_MAX)
		return 1;
	auto_free char *path = mem_format("%s/%s", up->path, name);
	auto_fd int twice = h->is_base ? open_below(h->j->lower_fd, path, O_PATH) : -1;
	if (twice >= 0 && !S_ISDIR(st->mode))
		return 0;
	if (!n && !up->is_judged && twice < 0)
		change_add(h->j->heap, path, NULL, CHANGE_DELETED, st);
	if (S_ISDIR(st->mode))
		*ret_node = hidden_dir_new(h, up, n, path);
	return 0;
}

static void hidden_again(void *arg)
{
	/* Nobody changes lower while a session has it. */
	(void)arg;
}

/* Everything in a lower directory at n, but what upper had or has there too. */
static void tell_hidden_in(struct judge *j, int lower, struct node *n, const char *path)
{
	struct hidden h = { .j = j, .is_base = lower == j->c->base_fd, .top = { .node = n } };
	struct tree_visitor v = { hidden_entry, NULL, hidden_again, &h };
	auto_fd int fd = open_below(lower, path, O_RDONLY | O_DIRECTORY);
	auto_free char *copy = mem_string(path);
	struct fault f;

	h.top.path = copy;
	if (fd >= 0)
		tree_walk_here(fd, &v, &f);
	for (struct hidden_dir *d = h.all, *next; d; d = next) {
		next = d->next;
		free(d->path);
		free(d);
	}
}

static void tell_hidden(struct judge *j, struct node *n, const char *path)
{
	tell_hidden_in(j, j->lower_fd, n, path);
	if (j->c->base_fd >= 0)
		tell_hidden_in(j, j->c->base_fd, n, path);
}

/* --- all of them -------------------------------------------------------------------------------- */

static void judge_one(struct judge *j, struct candidate *d)
{
	struct node *n = d->node;
	struct view old = { 0 }, new = { 0 };
	struct tree_stat low;
	bool has_path = change_path(n, &j->path);
	const char *path = text_string(&j->path);
	bool has_low = has_path && is_lower_dir(j, n->parent) && stat_lower(j, path, &low);
	bool shone = has_low && was_merged(n->parent), shines = has_low && is_merged(n->parent);

	if (d->had_old)
		old = (struct view){ !d->old.is_whiteout, false, d->old };
	else if (shone)
		old = (struct view){ true, true, low };
	if (!d->is_gone)
		new = (struct view){ !n->st.is_whiteout, false, n->st };
	else if (shines)
		new = (struct view){ true, true, low };
	if (old.is_there && new.is_there)
		judge_both(j, d, path, &old, &new);
	else if (new.is_there)
		set_kind(d, CHANGE_ADDED, &new.st);
	else if (old.is_there)
		set_kind(d, CHANGE_DELETED, &old.st);

	if (!has_low || !S_ISDIR(low.mode))
		return;
	bool was = shone && (!d->had_old || (S_ISDIR(d->old.mode) && !n->was_opaque));
	bool is = shines && (d->is_gone || (S_ISDIR(n->st.mode) && !n->is_opaque));
	if (was && !is)
		tell_hidden(j, n, path);
}

static int compare_ino(const void *a, const void *b)
{
	const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;

	return x->old.ino < y->old.ino ? -1 : x->old.ino > y->old.ino;
}

static struct candidate *find_moved(struct candidate **gone, size_t n, const struct tree_stat *st)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t mid = (from + to) / 2;
		if (gone[mid]->old.ino < st->ino)
			from = mid + 1;
		else
			to = mid;
	}
	for (; from < n && gone[from]->old.ino == st->ino; from++) {
		const struct tree_stat *old = &gone[from]->old;
		if (gone[from]->is_change && old->n == st->n && old->mtime_ns == st->mtime_ns &&
			(old->mode & S_IFMT) == (st->mode & S_IFMT))
			return gone[from];
	}
	return NULL;
}

/* A deleted and an added path with the same inode, size and time are one that was renamed. */
static void pair_renamed(struct changes *c)
{
	struct candidate **gone = mem_new_array(struct candidate *, c->n_candidates + 1);
	size_t n = 0;

	for (size_t i = 0; i < c->n_candidates; i++) {
		struct candidate *d = c->candidates[i];
		if (d->is_change && d->kind == CHANGE_DELETED && d->had_old)
			gone[n++] = d;
	}
	qsort(gone, n, sizeof *gone, compare_ino);
	for (size_t i = 0; i < c->n_candidates && n; i++) {
		struct candidate *d = c->candidates[i];
		if (!d->is_change || d->kind != CHANGE_ADDED)
			continue;
		struct candidate *from = find_moved(gone, n, &d->shown);
		if (!from)
			continue;
		from->is_change = false;
		d->kind = CHANGE_RENAMED;
		d->old_node = from->node;
	}
	free(gone);
}

void changes_judge(struct changes *c, int up_fd, int lower_fd, struct change_list *ret)
{
	struct judge j = { c, up_fd, lower_fd, mem_new(struct change_heap), { 0 }, { 0 } };

	for (size_t i = 0; i < c->n_candidates; i++)
		judge_one(&j, c->candidates[i]);
	pair_renamed(c);
	for (size_t i = 0; i < c->n_candidates; i++) {
		const struct candidate *d = c->candidates[i];
		if (!d->is_change)
			continue;
		const char *path = change_path(d->node, &j.path) ? text_string(&j.path) : NULL;
		const char *old = d->old_node && change_path(d->old_node, &j.old_path) ?
			text_string(&j.old_path) : NULL;
		change_add(j.heap, path, old, d->kind, &d->shown);
	}
	change_heap_end(j.heap, ret);
	free(j.heap);
	text_done(&j.path);
	text_done(&j.old_path);
}
