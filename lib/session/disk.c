#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "session/disk.h"
#include "session/super.h"
#include "sys/kernel.h"
#include "sys/loopdev.h"
#include "sys/mnt.h"
#include "sys/pidfd.h"

static const char image[] = "disk.img", unfinished[] = "disk.new";

/* [ms] Making 1 TiB takes 0.3 s; checking is read from a disk. What ran before writes what it has in
 * memory, at the speed of the home's disk. */
enum { TOOL_MS = 120 * 1000, RELEASE_MS = 30 * 1000, RELEASE_STEP_MS = 2 };

/* --- programs of the host -------------------------------------------------------------------- */

/* Runs a program of e2fsprogs on an open file, as its descriptor 3. Returns its exit code. */
static int run_tool(const char *name, char **argv, int file, struct fault *f)
{
	static const char *const places[] = { "/usr/sbin", "/sbin" };
	char *env[] = { (char *)"PATH=/usr/sbin:/sbin:/usr/bin:/bin", (char *)"LC_ALL=C",
		(char *)"MKE2FS_SKIP_PROGRESS=1", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = ENOENT, status = 0;
	sigset_t none, usual;
	char path[64];
	pid_t pid;

	sigemptyset(&none);
	sigfillset(&usual);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawn_file_actions_init(&actions);
	/* Never the same number: that would leave it close-on-exec. */
	auto_fd int high = fcntl(file, F_DUPFD_CLOEXEC, 10);
	posix_spawn_file_actions_adddup2(&actions, high, 3);
	for (size_t i = 0; r == ENOENT && i < array_size(places); i++) {
		snprintf(path, sizeof path, "%s/%s", places[i], name);
		r = posix_spawn(&pid, path, &actions, &attr, argv, env);
	}
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (r)
		return fault_set(f, r == ENOENT ? FAULT_NOT_FOUND : FAULT_SYSTEM, r == ENOENT ? 0 : r,
			"%s is not here; install e2fsprogs, or use --disk tmpfs:SIZE or --disk SIZE", name);
	auto_fd int fd = pidfd_find(pid);
	if (fd >= 0 && pidfd_wait(fd, TOOL_MS, &status) == 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return fault_set(f, FAULT_SYSTEM, ETIMEDOUT, "%s does not come to an end", name);
}

/* Without a journal: what counts is what the session's directory has after a stop, and a crash of
 * the machine is repaired by e2fsck. Blocks that are not used are not written. */
static int make_image(int dir, uint64_t n_bytes, struct fault *f)
{
	char *argv[] = { (char *)"mke2fs", (char *)"-q", (char *)"-F", (char *)"-t", (char *)"ext4",
		(char *)"-m", (char *)"0", (char *)"-O", (char *)"^has_journal,^resize_inode",
		(char *)"-E", (char *)"lazy_itable_init=1,nodiscard,root_owner=0:0",
		(char *)"/proc/self/fd/3", NULL };

	unlinkat(dir, unfinished, 0);
	auto_fd int fd = openat(dir, unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)n_bytes) < 0)
		return fault_set(f, errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? FAULT_LIMIT :
			FAULT_SYSTEM, errno, "make the image of its disk");
	int r = run_tool("mke2fs", argv, fd, f);
	if (r > 0)
		return fault_set(f, FAULT_SYSTEM, 0, "mke2fs cannot make its disk (exit code %d)", r);
	if (!r && renameat(dir, unfinished, dir, image) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "put the image of its disk in place");
	return r;
}

/* Whether it was unmounted in order. Source: ext4 superblock: at 1024; s_magic at 56, s_state at
 * 58, little endian; 1: clean, 2: errors. */
static bool is_clean(int fd)
{
	unsigned char b[4];

	return pread(fd, b, sizeof b, 1024 + 56) == sizeof b && b[0] == 0x53 && b[1] == 0xef &&
		(b[2] & 3) == 1;
}

static int repair(int fd, struct fault *f)
{
	char *argv[] = { (char *)"e2fsck", (char *)"-fy", (char *)"/proc/self/fd/3", NULL };

	if (is_clean(fd))
		return 0;
	int r = run_tool("e2fsck", argv, fd, f);
	if (r < 0)
		return r;
	/* 1: errors were corrected. Source: e2fsck(8). */
	return r <= 1 ? DISK_REPAIRED : fault_set(f, FAULT_FORMAT, 0, "its disk is damaged and e2fsck cannot repair "
		"it (exit code %d)", r);
}

/* --- mounting ---------------------------------------------------------------------------------- */

/* The lock is that of the open file, which the loop device keeps: it goes when the device does. A
 * second device for the same file would destroy what is in it. */
static int wait_released(int fd, struct fault *f)
{
	int64_t end = clock_now_ms() + RELEASE_MS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return fault_set(f, FAULT_SYSTEM, errno, "lock its disk");
		if (clock_now_ms() >= end)
			return fault_set(f, FAULT_BUSY, 0, "its disk is still held by what ran before");
		poll(NULL, 0, RELEASE_STEP_MS);
	}
	return 0;
}

static int mount_image(int fd, int *ret_mount, struct fault *f)
{
	char path[LOOPDEV_PATH];
	auto_fd int device = loopdev_attach(fd, path);

	if (device < 0)
		return fault_set(f, FAULT_DENIED, -device, "no loop device can be had here; use --disk "
			"tmpfs:SIZE or --disk SIZE");
	/* What is deleted inside makes the image smaller again. */
	int mount = mnt_make_on("ext4", path, "discard,noinit_itable", KERNEL_MOUNT_NOSUID |
		KERNEL_MOUNT_NODEV);
	if (mount < 0)
		return fault_set(f, FAULT_SYSTEM, -mount, "mount its disk");
	*ret_mount = mount;
	return 0;
}

int disk_open(struct store_session *s, bool is_new, int *ret_mount, struct fault *f)
{
	auto_fd int mount = -1;
	int r = 0, state;

	if (is_new && faccessat(s->dir, image, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = make_image(s->dir, s->spec.limits[LIMIT_DISK], f);
	if (r < 0)
		return r;
	auto_fd int fd = openat(s->dir, image, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_SYSTEM, errno,
			"open the image of its disk");
	r = wait_released(fd, f);
	if (!r)
		r = repair(fd, f);
	state = r;
	if (r >= 0)
		r = mount_image(fd, &mount, f);
	if (!r)
		r = store_disk_prepare(s->store, mount, f);
	if (r < 0)
		return r;
	*ret_mount = take_fd(&mount);
	return state;
}

/* --- how full it is ------------------------------------------------------------------------------ */

void disk_use(const struct super *s, struct disk_use *ret)
{
	struct statvfs v;

	if (s->session->spec.disk == DISK_PLAIN || fstatvfs(s->up_fd, &v) < 0) {
		*ret = (struct disk_use){ .used_bytes = changes_bytes(s->changes),
			.limit_bytes = s->session->spec.limits[LIMIT_DISK] };
		return;
	}
	*ret = (struct disk_use){
		.used_bytes = (uint64_t)(v.f_blocks - v.f_bfree) * v.f_frsize,
		.limit_bytes = (uint64_t)v.f_blocks * v.f_frsize,
		.used_entries = v.f_files - v.f_ffree,
		.limit_entries = v.f_files,
	};
}
