/*
 * Names of sessions: names/NAME is a symbolic link whose text is the id. Making a link is
 * one step that fails where there is one, so two callers can never both get a name. Taking
 * one away is two, look and unlink: that is done under a lock on the directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "store/inner.h"

/* It is held for microseconds, unless its holder is stopped: nobody waits longer. */
enum { LOCK_TRIES = 1000, LOCK_PAUSE_NS = 1000 * 1000 };

/* Until the descriptor is closed. */
static bool lock_names(int names)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(names, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
	}
	return false;
}

/* 1: ret is set; 0: there is none, or it is no id. */
static int read_link(int names, const char *name, char ret[ID_TEXT], struct fault *f)
{
	char text[ID_TEXT + 1];
	ssize_t n = readlinkat(names, name, text, sizeof text);

	if (n < 0)
		return errno == ENOENT || errno == EINVAL ? 0
			: fault_set(f, FAULT_SYSTEM, errno, "read names/%s", name);
	if (n > ID_MAX)
		return 0;
	text[n] = 0;
	if (!id_is_valid(text))
		return 0;
	memcpy(ret, text, (size_t)n + 1);
	return 1;
}

int store_name_find(struct store *st, const char *name, char ret[ID_TEXT], struct fault *f)
{
	auto_fd int names = -1;
	int r = file_open_dir(st->dir, "names", &names, f);

	return r < 0 ? r : read_link(names, name, ret, f);
}

static bool session_exists(struct store *st, const char *id)
{
	char path[ID_TEXT + 16];

	snprintf(path, sizeof path, "sessions/%s", id);
	return faccessat(st->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Once more, under the lock: whoever finds the name with a session that is gone frees it. */
static int take_locked(struct store *st, int names, const char *name, const char *id,
	struct fault *f)
{
	char owner[ID_TEXT];

	if (!lock_names(names))
		return fault_set(f, FAULT_BUSY, 0, "the names are locked by another process");
	int r = read_link(names, name, owner, f);
	if (r < 0)
		return r;
	if (r && session_exists(st, owner))
		return fault_set(f, FAULT_BUSY, 0, "the name '%s' is taken by session %s", name, owner);
	unlinkat(names, name, 0);
	if (symlinkat(id, names, name) == 0)
		return 0;
	if (errno == EEXIST)
		return fault_set(f, FAULT_BUSY, 0, "the name '%s' is taken", name);
	return fault_set(f, store_kind(errno), errno, "make names/%s", name);
}

int store_name_take(struct store *st, const char *name, const char *id, struct fault *f)
{
	auto_fd int names = -1;
	int r = file_open_dir(st->dir, "names", &names, f);

	if (r < 0)
		return r;
	if (symlinkat(id, names, name) == 0)
		return 0;
	if (errno != EEXIST)
		return fault_set(f, store_kind(errno), errno, "make names/%s", name);
	return take_locked(st, names, name, id, f);
}

/* Under the lock. One that stays is stale, and free for whoever wants it. */
static void drop(int names, const char *name, const char *id)
{
	struct fault ignored;
	char owner[ID_TEXT];

	if (read_link(names, name, owner, &ignored) == 1 && strcmp(owner, id) == 0)
		unlinkat(names, name, 0);
}

void store_name_drop(struct store *st, const char *name, const char *id)
{
	auto_fd int names = -1;
	struct fault ignored;

	if (file_open_dir(st->dir, "names", &names, &ignored) >= 0 && lock_names(names))
		drop(names, name, id);
}

void store_name_drop_all(struct store *st, const char *id)
{
	struct fault ignored;
	struct dirent *e;
	int names;

	if (file_open_dir(st->dir, "names", &names, &ignored) < 0)
		return;
	DIR *d = fdopendir(names);
	if (!d) {
		close(names);
		return;
	}
	bool locked = lock_names(names);
	while (locked && (e = readdir(d)))
		drop(names, e->d_name, id);
	closedir(d);
}
