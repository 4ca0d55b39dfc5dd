/* Removing sessions: one rename into trash/, then deletion at leisure. */
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
#include "store/inner.h"

/* [s] What is still being made after that long was left by a kill. Making one takes
 * milliseconds; a skeleton, at most some hundred. */
enum { ABANDONED_S = 600 };

int store_trash(struct store *st, int dir, const char *name, const char *what, struct fault *f)
{
	auto_fd int trash = -1;
	char unique[ID_TEXT];
	int r = file_open_dir(st->dir, "trash", &trash, f);

	if (r < 0)
		return r;
	id_make("gone_", unique);
	if (renameat(dir, name, trash, unique) < 0)
		return fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : store_kind(errno), errno,
			"move %s to trash", what);
	return 0;
}

int store_session_discard(struct store_session *s, struct fault *f)
{
	auto_fd int sessions = -1;
	int r = file_open_dir(s->store->dir, "sessions", &sessions, f);

	if (r >= 0)
		r = store_trash(s->store, sessions, s->spec.id, s->spec.id, f);
	if (r < 0)
		return r;
	/* After it: a name without a session is free, a session without its name is lost. */
	if (s->damaged)
		store_name_drop_all(s->store, s->spec.id);
	else if (s->spec.name[0])
		store_name_drop(s->store, s->spec.name, s->spec.id);
	return 0;
}

int store_session_remove(struct store_session *s, struct fault *f)
{
	int r = store_session_discard(s, f);

	return r < 0 ? r : store_empty_trash(s->store, f);
}

static DIR *open_list(int dir, const char *name, struct fault *f)
{
	int fd;

	if (file_open_dir(dir, name, &fd, f) < 0)
		return NULL;
	DIR *d = fdopendir(fd);
	if (!d) {
		fault_set(f, FAULT_SYSTEM, errno, "read %s", name);
		close(fd);
	}
	return d;
}

static bool is_abandoned(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_ctim.tv_sec + ABANDONED_S < time(NULL);
}

/* Sessions and skeletons that were never finished have a dot in front. */
static void sweep(struct store *st, const char *part)
{
	struct fault ignored;
	struct dirent *e;
	DIR *d = open_list(st->dir, part, &ignored);

	while (d && (e = readdir(d)))
		if (e->d_name[0] == '.' && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			is_abandoned(dirfd(d), e->d_name))
			store_trash(st, dirfd(d), e->d_name, e->d_name, &ignored);
	if (d)
		closedir(d);
}

/* One pass; what could not be deleted stays, the first reason is kept. */
static int empty_once(struct store *st, uint64_t *ret_n, struct fault *f)
{
	struct fault first = { 0 };
	struct dirent *e;
	DIR *d = open_list(st->dir, "trash", f);

	if (!d)
		return -f->kind;
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (store_tree_remove(dirfd(d), dirfd(d), e->d_name, ret_n, f) < 0 && !first.kind)
			first = *f;
	}
	closedir(d);
	if (first.kind)
		*f = first;
	return -(int)first.kind;
}

int store_empty_trash(struct store *st, struct fault *f)
{
	uint64_t n;
	int r;

	sweep(st, "sessions");
	sweep(st, "layers");
	/* What lay deep was moved up into trash/ and is met by the next pass; each pass makes
	 * the trees smaller, so it ends. */
	do {
		n = 0;
		r = empty_once(st, &n, f);
	} while (n);
	return r;
}

int store_session_fresh_work(struct store_session *s, bool *ret_other_boot, struct fault *f)
{
	uint32_t base = s->store->id_base;
	auto_fd int fs = -1;
	char boot[40];
	int r = file_open_dir(s->dir, "fs", &fs, f);

	if (r < 0)
		return r;
	bool used = faccessat(fs, "wk/work", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (used || faccessat(fs, "wk", F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		r = used ? store_trash(s->store, fs, "wk", "fs/wk", f) : 0;
		if (r >= 0)
			r = store_make_owned_dir(fs, "wk", 0755, base ? base : (uid_t)-1, f);
		if (r < 0)
			return r;
	}
	*ret_other_boot = used && s->status.boot_id[0] &&
		strcmp(s->status.boot_id, store_boot_id(boot)) != 0;
	return 0;
}

int store_disk_prepare(struct store *st, int disk, struct fault *f)
{
	uid_t owner = st->id_base ? st->id_base : (uid_t)-1;
	uint64_t n;
	int r = 0;

	if (faccessat(disk, "up", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = store_make_owned_dir(disk, "up", 0755, owner, f);
	/* The work directory has no depth but what an overlay of the kernel gives it. */
	while (r >= 0 && faccessat(disk, "wk", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		n = 0;
		r = store_tree_remove(disk, disk, "wk", &n, f);
	}
	return r < 0 ? r : store_make_owned_dir(disk, "wk", 0755, owner, f);
}
