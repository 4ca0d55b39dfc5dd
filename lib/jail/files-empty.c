#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/stream.h"
#include "jail/builtin.h"
#include "jail/files.h"

/* Deeper directories are first moved up to the top: the walk holds only so many open. */
enum { LEVELS = 64 };

struct empty {
	struct files_out out;
	const char *top;
	DIR *dirs[LEVELS];
	char names[LEVELS][256]; /* of each in the one above; "" the top */
	bool kept[LEVELS];       /* something in it could not be removed */
	size_t depth;
	unsigned n_moved;
	uint64_t n_bytes, n_removed;
};

/* Source: stat(2), st_blocks is in units of 512 bytes. */
enum { BLOCK_BYTES = 512 };

static void keep(struct empty *e, const char *name)
{
	char path[1024];

	snprintf(path, sizeof path, "%.500s/%.255s%s%.255s", e->top, e->depth > 1 ?
		e->names[e->depth - 1] : "", e->depth > 1 ? "/" : "", name);
	if (e->depth)
		e->kept[e->depth - 1] = true;
	files_skip(&e->out, path, strerror(errno));
}

static bool enter(struct empty *e, int dir, const char *name)
{
	int fd = files_open(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, false);

	/* The owner may have taken away its own right to look. */
	if (fd < 0 && errno == EACCES && !fchmodat(dir, name, 0700, 0))
		fd = files_open(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, false);
	struct stat st;
	if (fd >= 0 && e->depth && !fstat(fd, &st) && (st.st_mode & 0700) != 0700)
		fchmod(fd, 0700);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	e->dirs[e->depth] = d;
	snprintf(e->names[e->depth], sizeof e->names[0], "%s", e->depth ? name : "");
	e->kept[e->depth++] = false;
	return true;
}

/* To a name of its own in the top, where the walk comes by again. */
static bool move_up(struct empty *e, int dir, const char *name)
{
	char to[32];

	for (int i = 0; i < 100; i++) {
		snprintf(to, sizeof to, ".sbx-deep-%u", e->n_moved++);
		if (!renameat(dir, name, dirfd(e->dirs[0]), to)) {
			rewinddir(e->dirs[0]);
			return true;
		}
		if (errno != EEXIST && errno != ENOTEMPTY)
			return false;
	}
	return false;
}

/* The last name of a file gives its room back, as far as nobody has it open. */
static void count(struct empty *e, const struct stat *st)
{
	e->n_removed++;
	if (S_ISDIR(st->st_mode) || st->st_nlink == 1)
		e->n_bytes += (uint64_t)st->st_blocks * BLOCK_BYTES;
}

static bool unlink_counted(struct empty *e, int dir, const char *name, int flags)
{
	struct stat st;
	bool known = !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);

	if (unlinkat(dir, name, flags) < 0)
		return errno == ENOENT;
	if (known)
		count(e, &st);
	return true;
}

static void remove_one(struct empty *e, int dir, const char *name)
{
	/* Directories say so: EISDIR, as Linux does, or EPERM, as POSIX says. */
	if (unlink_counted(e, dir, name, 0))
		return;
	int sysno = errno;
	if (sysno != EISDIR && sysno != EPERM) {
		keep(e, name);
		return;
	}
	if (unlink_counted(e, dir, name, AT_REMOVEDIR))
		return;
	if (errno == ENOTDIR) {
		errno = sysno;
		keep(e, name);
	} else if (errno != ENOTEMPTY && errno != EEXIST) {
		keep(e, name);
	} else if (e->depth < LEVELS ? !enter(e, dir, name) : !move_up(e, dir, name)) {
		keep(e, name);
	}
}

static void leave(struct empty *e)
{
	bool kept = e->kept[--e->depth];

	closedir(e->dirs[e->depth]);
	if (!e->depth)
		return;
	int above = dirfd(e->dirs[e->depth - 1]);
	if (kept || !unlink_counted(e, above, e->names[e->depth], AT_REMOVEDIR)) {
		if (!kept)
			keep(e, e->names[e->depth]);
		e->kept[e->depth - 1] = true;
	}
}

static int step(struct empty *e, struct fault *f)
{
	DIR *d = e->dirs[e->depth - 1];
	struct dirent *entry = readdir(d);

	if (!entry)
		leave(e);
	else if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
		remove_one(e, dirfd(d), entry->d_name);
	return files_flush(&e->out, false, f);
}

int files_empty(char *const *argv)
{
	static struct empty e;
	struct fault f;
	int r = 0;

	for (; *argv && !r; argv++) {
		e.top = *argv;
		e.depth = 0;
		if (!enter(&e, AT_FDCWD, *argv))
			r = files_fail(&f, errno, "open directory", *argv);
		while (!r && e.depth)
			r = step(&e, &f);
	}
	stream_put_freed(&e.out.t, e.n_bytes, e.n_removed);
	return files_end(&e.out, r, &f);
}
