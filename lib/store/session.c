/* One session's directory: made, opened, locked. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/inner.h"

enum { PATH_ROOM = 2 * ID_TEXT };

static void session_path(const char *id, char buf[PATH_ROOM])
{
	snprintf(buf, PATH_ROOM, "sessions/%s", id);
}

/* fs/: init's working directory. In root mode init is an id of the block that cannot pass
 * 0700, so these are open; who may reach them is decided by the home directory. */
static int make_fs(int dir, uint32_t id_base, const struct session_spec *spec, struct fault *f)
{
	const struct {
		const char *name;
		bool is_wanted;
	} parts[] = { { "up", true }, { "wk", true }, { "root", true }, { "low", true },
		{ "img", spec->runtime_dir }, { "disk", spec->disk != DISK_PLAIN } };
	uid_t owner = id_base ? id_base : (uid_t)-1;
	auto_fd int fs = -1;
	int r = store_make_dir(dir, "fs", 0755, &fs, f);

	for (size_t i = 0; r >= 0 && i < array_size(parts); i++)
		if (parts[i].is_wanted)
			r = store_make_owned_dir(fs, parts[i].name, 0755, owner, f);
	return r;
}

/* 0, STORE_LOCKED, or negative. */
static int take_lock(int dir, int *ret_fd, struct fault *f)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	auto_fd int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : store_kind(errno), errno,
			"open its lock");
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno == EAGAIN || errno == EACCES)
			return STORE_LOCKED;
		return fault_set(f, FAULT_SYSTEM, errno, "take its lock");
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

static int fill_new(struct store *st, struct store_session *s, struct fault *f)
{
	/* A one-off session has no journal. */
	static const char *const all_parts[] = { "events", "exec", NULL };
	const char *const *part = all_parts + (s->spec.class == CLASS_EPHEMERAL);
	int r = take_lock(s->dir, &s->lock_fd, f);

	if (r == STORE_LOCKED)
		return fault_set(f, FAULT_BUSY, 0, "the new session is locked by another process");
	for (; r >= 0 && *part; part++)
		r = store_make_owned_dir(s->dir, *part, 0700, (uid_t)-1, f);
	if (r >= 0)
		r = make_fs(s->dir, st->id_base, &s->spec, f);
	if (r >= 0)
		r = store_spec_write(s->dir, &s->spec, f);
	return r;
}

static int check_new(struct store *st, struct session_spec *spec, struct fault *f)
{
	char path[PATH_ROOM];

	if (!spec->id[0])
		id_make(spec->class == CLASS_EPHEMERAL ? STORE_ONE_OFF : "sess_", spec->id);
	if (!id_is_valid(spec->id))
		return fault_set(f, FAULT_USAGE, 0, "'%s' cannot be the id of a session", spec->id);
	if (!spec->name[0])
		return 0;
	if (!id_is_valid(spec->name))
		return fault_set(f, FAULT_USAGE, 0,
			"'%s' cannot be the name of a session: 1 to 64 of a-z 0-9 _ . -, no sign first",
			spec->name);
	/* A name that is also an id would never be found: ids are looked up first. */
	session_path(spec->name, path);
	if (faccessat(st->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return fault_set(f, FAULT_BUSY, 0, "the name '%s' is the id of a session", spec->name);
	return 0;
}

/* The finished directory gets its name in one step; nobody sees half of it. */
static int publish(struct store *st, int sessions, const char *temp, struct session_spec *spec,
	struct fault *f)
{
	int r = 0;

	/* A directory cannot replace one that is not empty, and none of these is. */
	if (renameat(sessions, temp, sessions, spec->id) < 0)
		return fault_set(f, errno == ENOTEMPTY || errno == EEXIST ? FAULT_BUSY : FAULT_SYSTEM,
			errno == ENOTEMPTY || errno == EEXIST ? 0 : errno,
			"the id '%s' is taken", spec->id);
	if (spec->name[0])
		r = store_name_take(st, spec->name, spec->id, f);
	if (r < 0)
		renameat(sessions, spec->id, sessions, temp);
	return r;
}

static int make(struct store *st, int sessions, const char *temp, struct store_session *s,
	struct fault *f)
{
	int r = store_make_dir(sessions, temp, 0700, &s->dir, f);

	if (r < 0)
		return fault_wrap(f, "in %s (SBX_HOME names another directory)", st->path);
	r = fill_new(st, s, f);
	if (r >= 0)
		r = publish(st, sessions, temp, &s->spec, f);
	if (r < 0) {
		struct fault ignored;
		if (store_trash(st, sessions, temp, temp, &ignored) >= 0)
			store_empty_trash(st, &ignored);
	}
	return r;
}

int store_session_make(struct store *st, struct session_spec *spec, struct store_session *ret,
	struct fault *f)
{
	struct store_session s = { .store = st, .dir = -1, .lock_fd = -1 };
	auto_fd int sessions = -1;
	char temp[PATH_ROOM];
	int r = check_new(st, spec, f);

	if (r >= 0)
		r = file_open_dir(st->dir, "sessions", &sessions, f);
	if (r < 0)
		return r;
	if (!spec->created_us)
		spec->created_us = clock_wall_us();
	s.spec = *spec;
	s.status.state = STATE_CREATING;
	s.status.last_used_us = spec->created_us;
	s.is_loaded = true;
	snprintf(temp, sizeof temp, ".%s", spec->id);
	r = make(st, sessions, temp, &s, f);
	if (r < 0) {
		s.spec = (struct session_spec){ 0 }; /* still the caller's */
		store_session_close(&s);
		return r;
	}
	*spec = (struct session_spec){ 0 };
	*ret = s;
	return 0;
}

/* 1: ret_fd; 0: there is none. */
static int open_dir(struct store *st, const char *id, int *ret_fd, struct fault *f)
{
	char path[PATH_ROOM];

	session_path(id, path);
	int fd = openat(st->dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : fault_set(f, FAULT_SYSTEM, errno, "open %s", path);
	*ret_fd = fd;
	return 1;
}

static int find(struct store *st, const char *id_or_name, char id[ID_TEXT], int *ret_fd,
	struct fault *f)
{
	if (!id_is_valid(id_or_name))
		return fault_set(f, FAULT_USAGE, 0, "'%.80s' is neither an id nor a name", id_or_name);
	snprintf(id, ID_TEXT, "%s", id_or_name);
	int r = open_dir(st, id, ret_fd, f);
	if (r == 0) {
		r = store_name_find(st, id_or_name, id, f);
		if (r > 0)
			r = open_dir(st, id, ret_fd, f);
	}
	return r ? r : fault_set(f, FAULT_NOT_FOUND, 0, "no such session: '%s'", id_or_name);
}

int store_session_load(struct store_session *s, struct fault *f)
{
	char id[ID_TEXT];

	if (s->is_loaded)
		return 0;
	memcpy(id, s->spec.id, sizeof id);
	int r = store_spec_read(s->dir, &s->spec, f);
	if (r >= 0 && strcmp(s->spec.id, id) != 0)
		r = fault_set(f, FAULT_FORMAT, 0, "spec.json is that of session %s", s->spec.id);
	if (r >= 0)
		r = store_status_read(s, f);
	/* A file that is missing or unreadable is damage too; a session without them is none. */
	if (r == -FAULT_NOT_FOUND)
		f->kind = FAULT_FORMAT;
	s->is_loaded = r >= 0;
	return r < 0 ? fault_wrap(f, "session %s is damaged", id) : 0;
}

int store_session_find(struct store *st, const char *id_or_name, struct store_session *ret,
	struct fault *f)
{
	struct store_session s = { .store = st, .dir = -1, .lock_fd = -1 };
	int r = find(st, id_or_name, s.spec.id, &s.dir, f);

	if (r < 0)
		return r;
	*ret = s;
	return 0;
}

static int open_session(struct store *st, const char *id_or_name, bool damaged_too,
	struct store_session *ret, struct fault *f)
{
	struct store_session s;
	char id[ID_TEXT];
	int r = store_session_find(st, id_or_name, &s, f);

	if (r < 0)
		return r;
	memcpy(id, s.spec.id, sizeof id);
	r = store_session_load(&s, f);
	if (r < 0 && damaged_too) {
		s.damaged = true;
		memcpy(s.spec.id, id, sizeof id);
		r = 0;
	}
	if (r < 0) {
		store_session_close(&s);
		return r;
	}
	*ret = s;
	return 0;
}

int store_session_open(struct store *st, const char *id, struct store_session *ret, struct fault *f)
{
	return open_session(st, id, false, ret, f);
}

int store_session_open_any(struct store *st, const char *id, struct store_session *ret,
	struct fault *f)
{
	return open_session(st, id, true, ret, f);
}

void store_session_close(struct store_session *s)
{
	drop_fd(&s->lock_fd);
	drop_fd(&s->dir);
	session_spec_done(&s->spec);
}

/* Whoever waited for the lock of a session that was removed meanwhile has got the lock of
 * a directory in trash/. */
static int check_in_place(struct store_session *s, struct fault *f)
{
	struct stat here, there;
	char path[PATH_ROOM];

	session_path(s->spec.id, path);
	if (fstat(s->dir, &here) == 0 &&
		fstatat(s->store->dir, path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		here.st_ino == there.st_ino && here.st_dev == there.st_dev)
		return 0;
	return fault_set(f, FAULT_NOT_FOUND, 0, "it was removed");
}

int store_session_lock(struct store_session *s, struct fault *f)
{
	int r;

	if (s->lock_fd >= 0)
		return 0;
	r = take_lock(s->dir, &s->lock_fd, f);
	if (r == STORE_LOCKED)
		return r;
	if (r >= 0)
		r = check_in_place(s, f);
	if (r >= 0 && !s->damaged)
		r = store_status_read(s, f);
	if (r < 0) {
		drop_fd(&s->lock_fd);
		return fault_wrap(f, "session %s", s->spec.id);
	}
	return 0;
}

int store_session_is_live(const struct store_session *s, bool *ret_live, struct fault *f)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	auto_fd int fd = openat(s->dir, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		*ret_live = false;
		return 0;
	}
	/* Asks only: taking it for a moment could turn another one's attempt away. */
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "look at the lock of session %s", s->spec.id);
	*ret_live = lock.l_type != F_UNLCK;
	return 0;
}

int store_status_read(struct store_session *s, struct fault *f)
{
	int r = store_status_read_at(s->dir, &s->status, f);

	if (r != -FAULT_NOT_FOUND)
		return r;
	/* Its first supervisor has not written it yet. */
	s->status = (struct session_status){ .state = STATE_CREATING,
		.last_used_us = s->spec.created_us };
	return 0;
}

int store_status_write(struct store_session *s, struct fault *f)
{
	return store_status_write_at(s->dir, &s->status, f);
}

int store_session_fs(struct store_session *s, int *ret_fd, struct fault *f)
{
	return file_open_dir(s->dir, "fs", ret_fd, f);
}

/* Above the home directory nothing is changed: whoever may pass there is for its owner to say. */
static int check_way(struct store *st, struct fault *f)
{
	auto_fd int at = openat(st->dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st_at, last = { 0 };

	while (at >= 0 && !fstat(at, &st_at)) {
		if (st_at.st_dev == last.st_dev && st_at.st_ino == last.st_ino)
			return 0;
		if (!(st_at.st_mode & S_IXOTH))
			return fault_set(f, FAULT_DENIED, 0, "weak isolation: a directory above %s lets nobody"
				" pass but its owner; set SBX_HOME to one where others may pass, as /var/lib/sbx",
				st->path);
		last = st_at;
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		drop_fd(&at);
		at = up;
	}
	return fault_set(f, FAULT_SYSTEM, errno, "look above %s", st->path);
}

int store_session_let_in(struct store_session *s, uint32_t id, struct fault *f)
{
	auto_fd int sessions = -1, fs = -1;

	if (!s->store->id_base)
		return 0;
	int r = file_open_dir(s->store->dir, "sessions", &sessions, f);
	if (!r)
		r = store_session_fs(s, &fs, f);
	int way[] = { s->store->dir, sessions, s->dir, fs };
	for (size_t i = 0; !r && i < array_size(way); i++) {
		struct stat st;
		if (fstat(way[i], &st) < 0 || fchown(way[i], (uid_t)-1, id) < 0 ||
			fchmod(way[i], (st.st_mode & 0707) | S_IXGRP) < 0)
			r = fault_set(f, FAULT_SYSTEM, errno, "let the payload pass");
	}
	return r < 0 ? r : check_way(s->store, f);
}

int store_session_events(struct store_session *s, int *ret_fd, struct fault *f)
{
	return file_open_dir(s->dir, "events", ret_fd, f);
}

void store_session_sync(struct store_session *s)
{
	/* The whole file system: an overlay's upper directory is a tree of any size. */
	if (syncfs(s->dir) < 0)
		sync();
}
