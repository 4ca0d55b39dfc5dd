#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/kernel.h"
#include "sys/mnt.h"

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

static int set_option(int fs, char *option)
{
	char *value = strchr(option, '=');

	if (!value)
		return result(syscall(SYS_fsconfig, fs, KERNEL_FSCONFIG_FLAG, option, NULL, 0));
	*value++ = 0;
	return result(syscall(SYS_fsconfig, fs, KERNEL_FSCONFIG_STRING, option, value, 0));
}

static int set_options(int fs, const char *options)
{
	char copy[512], *save = NULL;
	int r = 0;

	if (strlen(options) >= sizeof copy)
		return -ENAMETOOLONG;
	strcpy(copy, options);
	for (char *o = strtok_r(copy, ",", &save); o && r >= 0; o = strtok_r(NULL, ",", &save))
		r = set_option(fs, o);
	return r;
}

int mnt_make_on(const char *type, const char *source, const char *options, uint32_t attr)
{
	auto_fd int fs = (int)syscall(SYS_fsopen, type, KERNEL_FSOPEN_CLOEXEC);

	if (fs < 0)
		return -errno;
	int r = result(syscall(SYS_fsconfig, fs, KERNEL_FSCONFIG_STRING, "source", source, 0));
	if (r >= 0)
		r = set_options(fs, options);
	if (r >= 0)
		r = result(syscall(SYS_fsconfig, fs, KERNEL_FSCONFIG_CREATE, NULL, NULL, 0));
	return r < 0 ? r : result(syscall(SYS_fsmount, fs, KERNEL_FSMOUNT_CLOEXEC, attr));
}

int mnt_make(const char *type, const char *options, uint32_t attr)
{
	/* The source is shown in mountinfo; some tools take an empty field for damage. */
	return mnt_make_on(type, type, options, attr);
}

int mnt_clone(int dir, const char *path, bool recursive)
{
	unsigned flags = KERNEL_OPEN_TREE_CLONE | KERNEL_OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW |
		AT_EMPTY_PATH | (recursive ? KERNEL_AT_RECURSIVE : 0);

	return result(syscall(SYS_open_tree, dir, path, flags));
}

static int set_attr(int fd, const struct kernel_mount_attr *attr, bool recursive)
{
	unsigned flags = AT_EMPTY_PATH | (recursive ? KERNEL_AT_RECURSIVE : 0);

	return result(syscall(SYS_mount_setattr, fd, "", flags, attr, sizeof *attr));
}

int mnt_change(int fd, uint32_t set, uint32_t clear, bool recursive)
{
	struct kernel_mount_attr attr = { .set = set, .clear = clear };

	return set_attr(fd, &attr, recursive);
}

int mnt_idmap(int fd, int userns)
{
	struct kernel_mount_attr attr = { .set = KERNEL_MOUNT_IDMAP, .userns_fd = (uint64_t)userns };

	return set_attr(fd, &attr, false);
}

int mnt_open(int root, const char *path, int flags)
{
	struct kernel_open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? 0444 : 0,
		.resolve = KERNEL_RESOLVE_IN_ROOT | KERNEL_RESOLVE_NO_SYMLINKS |
			KERNEL_RESOLVE_NO_MAGICLINKS,
	};

	return result(syscall(SYS_openat2, root, path, &how, sizeof how));
}

int mnt_attach(int fd, int root, const char *path)
{
	auto_fd int at = mnt_open(root, path, O_PATH);

	if (at < 0)
		return at;
	return result(syscall(SYS_move_mount, fd, "", at, "",
		KERNEL_MOVE_F_EMPTY | KERNEL_MOVE_T_EMPTY));
}

int mnt_pivot(int fd)
{
	/* Both on the same place: the old root then lies on top of the new one, and the
	 * current directory is in it. Source: pivot_root(2), "pivot_root(".", ".")". */
	if (fchdir(fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
		umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

int mnt_make_private(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}
