/* All sessions, oldest first. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/inner.h"

struct entry {
	int64_t made_ns;
	char id[ID_TEXT];
};

struct list {
	struct entry *items;
	size_t n, room;
};

/* spec.json is written once, so its time is the session's: no file is parsed twice. */
static int64_t read_made(int sessions, const char *id)
{
	char path[2 * ID_TEXT];
	struct stat st;

	snprintf(path, sizeof path, "%.*s/spec.json", ID_MAX, id);
	if (fstatat(sessions, path, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		fstatat(sessions, id, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void add(struct list *l, int sessions, const char *id)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->items = mem_resized(l->items, l->room, sizeof *l->items);
	}
	struct entry *e = &l->items[l->n++];
	snprintf(e->id, sizeof e->id, "%.*s", ID_MAX, id);
	e->made_ns = read_made(sessions, id);
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->made_ns != y->made_ns)
		return x->made_ns < y->made_ns ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* [s] A directory that is being made has its lock long before this. */
enum { HALF_MADE_S = 2 };

static void trash_half_made(struct store *st, int sessions, const char *name)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[2 * ID_TEXT];
	struct stat s;
	struct fault f;

	if (!id_is_valid(name + 1) || fstatat(sessions, name, &s, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	snprintf(path, sizeof path, "%.*s/lock", ID_TEXT, name);
	auto_fd int fd = openat(sessions, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	/* Its file is there a moment before the lock is, events/ a moment after. Asked in this order,
	 * so that no creator can pass between the two. */
	snprintf(path, sizeof path, "%.*s/events", ID_TEXT, name);
	bool was_held = fd >= 0 && faccessat(sessions, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	bool is_held = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	if (is_held || (!was_held && time(NULL) - s.st_mtim.tv_sec < HALF_MADE_S))
		return;
	store_trash(st, sessions, name, name, &f);
}

static int open_sessions(struct store *st, DIR **ret, struct fault *f)
{
	int fd, r = file_open_dir(st->dir, "sessions", &fd, f);

	if (r < 0)
		return r;
	*ret = fdopendir(fd);
	if (*ret)
		return 0;
	r = errno;
	close(fd);
	return fault_set(f, FAULT_SYSTEM, r, "read sessions");
}

static int read_list(struct store *st, bool one_off, struct list *l, struct fault *f)
{
	struct dirent *e;
	DIR *d;
	int r = open_sessions(st, &d, f);

	if (r < 0)
		return r;
	/* Valid ids begin with no dot: neither "." nor a session that is being made is one. */
	while ((void)(errno = 0), (e = readdir(d))) {
		if (one_off && e->d_name[0] == '.')
			trash_half_made(st, dirfd(d), e->d_name);
		else if (id_is_valid(e->d_name) &&
			(!one_off || !strncmp(e->d_name, STORE_ONE_OFF, strlen(STORE_ONE_OFF))))
			add(l, dirfd(d), e->d_name);
	}
	if (errno)
		r = fault_set(f, FAULT_SYSTEM, errno, "read sessions");
	closedir(d);
	if (l->n)
		qsort(l->items, l->n, sizeof *l->items, compare);
	return r;
}

int store_count(struct store *st, uint64_t *ret_n, struct fault *f)
{
	struct dirent *e;
	uint64_t n = 0;
	DIR *d;
	int r = open_sessions(st, &d, f);

	if (r < 0)
		return r;
	while ((void)(errno = 0), (e = readdir(d)))
		n += id_is_valid(e->d_name);
	if (errno)
		r = fault_set(f, FAULT_SYSTEM, errno, "read sessions");
	closedir(d);
	if (!r)
		*ret_n = n;
	return r;
}

static int visit(struct store *st, bool one_off, int (*fn)(struct store_session *s, void *arg),
	void *arg, struct fault *f)
{
	struct list l = { 0 };
	int r = read_list(st, one_off, &l, f);

	for (size_t i = 0; !r && i < l.n; i++) {
		struct store_session s;
		r = store_session_open_any(st, l.items[i].id, &s, f);
		if (r == -FAULT_NOT_FOUND) {
			r = 0; /* removed since */
			continue;
		}
		if (r < 0)
			break;
		r = fn(&s, arg);
		store_session_close(&s);
	}
	free(l.items);
	return r;
}

int store_each(struct store *st, int (*fn)(struct store_session *s, void *arg), void *arg,
	struct fault *f)
{
	return visit(st, false, fn, arg, f);
}

int store_each_one_off(struct store *st, int (*fn)(struct store_session *s, void *arg), void *arg,
	struct fault *f)
{
	return visit(st, true, fn, arg, f);
}
