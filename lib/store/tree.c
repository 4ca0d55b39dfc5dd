/*
 * Deleting a tree that an enemy has made.
 *
 * By descriptor and name, never by path. Down to DEPTH_MAX levels by recursion; a
 * directory below that is moved up into the root of the trash and deleted by a later pass,
 * so that no depth takes more memory or descriptors.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/inner.h"

enum { DEPTH_MAX = 24, PASSES_MAX = 100 };

struct removal {
	int root;
	uint64_t *n;
	bool moved;
};

static int open_beneath(int dir, const char *name, uint64_t flags)
{
	/* NO_XDEV also stops at a bind mount of the same file system, which st_dev cannot tell. */
	struct open_how how = {
		.flags = flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

/* Its owner may always change the mode: an ordinary user's payload has his own id. By
 * descriptor, because chmod by name follows links. */
static void allow(int dir, const char *name)
{
	auto_fd int fd = open_beneath(dir, name, O_PATH);
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd >= 0)
		chmod(path, 0700);
}

static int open_dir(int dir, const char *name)
{
	int fd = open_beneath(dir, name, O_RDONLY);

	if (fd >= 0 || errno != EACCES)
		return fd;
	allow(dir, name);
	return open_beneath(dir, name, O_RDONLY);
}

/* Moving a directory to another parent writes its "..": that takes write permission on it. */
static int move_up(struct removal *rm, int dir, const char *name, struct fault *f)
{
	char unique[ID_TEXT];

	id_make("deep_", unique);
	int r = renameat(dir, name, rm->root, unique);
	if (r < 0 && errno == EACCES) {
		allow(dir, name);
		r = renameat(dir, name, rm->root, unique);
	}
	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "move a deep directory up");
	rm->moved = true;
	++*rm->n;
	return 0;
}

static int remove_entry(struct removal *rm, int dir, const char *name, unsigned depth,
	struct fault *f);

/* Every entry once; the first failure is kept, the rest goes on. */
static int remove_entries(struct removal *rm, DIR *d, unsigned depth, struct fault *f)
{
	struct fault first = { 0 };
	struct dirent *e;

	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (remove_entry(rm, dirfd(d), e->d_name, depth, f) < 0 && !first.kind)
			first = *f;
	}
	if (first.kind)
		*f = first;
	return -(int)first.kind;
}

static int remove_dir(struct removal *rm, int dir, const char *name, unsigned depth,
	struct fault *f)
{
	int fd = open_dir(dir, name);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (!d) {
		fault_set(f, FAULT_SYSTEM, errno, errno == EXDEV ? "a directory in trash is a mount point"
								 : "open a directory in trash");
		if (fd >= 0)
			close(fd);
		return -f->kind;
	}
	/* Deleting while reading may hide entries on some file systems: until it is empty. What
	 * failed below is not tried again: the tries would multiply with the depth. */
	for (int i = 0; i < PASSES_MAX; i++, rewinddir(d)) {
		r = remove_entries(rm, d, depth + 1, f);
		if (r < 0)
			break;
		if (unlinkat(dir, name, AT_REMOVEDIR) == 0) {
			++*rm->n;
			break;
		}
		if (errno == ENOENT)
			break;
		r = fault_set(f, FAULT_SYSTEM, errno, "remove a directory in trash");
		if (errno != ENOTEMPTY && errno != EEXIST)
			break;
	}
	closedir(d);
	return r;
}

static int remove_entry(struct removal *rm, int dir, const char *name, unsigned depth,
	struct fault *f)
{
	int r = unlinkat(dir, name, 0);

	if (r < 0 && errno == EACCES && depth) {
		/* The directory forbids it: dir is open, so it is ours to change. */
		fchmod(dir, 0700);
		r = unlinkat(dir, name, 0);
	}
	if (r == 0)
		++*rm->n;
	if (r == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return fault_set(f, FAULT_SYSTEM, errno, "delete a file in trash");
	/* An empty one needs no look inside. */
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0) {
		++*rm->n;
		return 0;
	}
	if (errno == ENOTDIR)
		return fault_set(f, FAULT_SYSTEM, EPERM, "delete a file in trash");
	if (errno == EBUSY)
		return fault_set(f, FAULT_SYSTEM, EBUSY, "a directory in trash is a mount point");
	return depth >= DEPTH_MAX ? move_up(rm, dir, name, f) : remove_dir(rm, dir, name, depth, f);
}

int store_tree_remove(int root, int dir, const char *name, uint64_t *ret_n, struct fault *f)
{
	struct removal rm = { .root = root, .n = ret_n };
	int r = remove_entry(&rm, dir, name, 0, f);

	return r < 0 ? r : rm.moved;
}
