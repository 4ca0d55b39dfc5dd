#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "jail/mounts.h"
#include "jail/setup.h"
#include "jail/walls.h"
#include "jail/weak.h"
#include "sys/kernel.h"
#include "sys/landlock.h"
#include "sys/mnt.h"

enum { KEYCTL_JOIN_SESSION = 1 };

void setup_note(struct jail_report *report, const char *format, ...)
{
	size_t n = strlen(report->fallbacks);
	va_list ap;

	va_start(ap, format);
	vsnprintf(report->fallbacks + n, sizeof report->fallbacks - n, format, ap);
	va_end(ap);
}

int setup_fail(struct fault *f, int error, const char *what, const char *path)
{
	enum fault_kind kind = error == -EPERM || error == -EACCES ? FAULT_DENIED : FAULT_SYSTEM;

	if (error == -ENOSPC || error == -EAGAIN)
		kind = FAULT_LIMIT;
	return fault_set(f, kind, -error, "%s%s%s", what, path && *path ? " /" : "", path ? path : "");
}

/* A core limit of 1, unlike 0, also stops a handler that the host has set up to be given
 * cores by pipe. Source: fs/coredump.c; 3-jail.md, fact 7. */
void setup_limit_core(struct jail_report *report)
{
	struct rlimit one = { 1, 1 };

	if (setrlimit(RLIMIT_CORE, &one) < 0)
		setup_note(report, "core: the hard limit is already 0: a piped core handler of the"
			" host sees crashes\n");
}

static int spaces(void)
{
	int all = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

	all &= wall_is_off("net") ? ~CLONE_NEWNET : ~0;
	all &= wall_is_off("ipc") ? ~CLONE_NEWIPC : ~0;
	return wall_is_off("uts") ? all & ~CLONE_NEWUTS : all;
}

int setup_spaces(int fs, struct setup *s, struct fault *f)
{
	/* The directory is carried over into the new mount namespace; a descriptor is not. */
	if (fchdir(fs) < 0)
		return setup_fail(f, -errno, "enter the session's fs", NULL);
	if (unshare(spaces()) < 0)
		return setup_fail(f, -errno, "new namespaces", NULL);
	int r = mnt_make_private();
	if (r < 0)
		return setup_fail(f, r, "make mounts private", NULL);
	umask(022);
	if (!wall_is_off("core"))
		setup_limit_core(&s->report);
	return 0;
}

static int become_first(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int loopback_up(void)
{
	struct ifreq i = { .ifr_name = "lo" };
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &i) < 0)
		return -errno;
	i.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &i) < 0 ? -errno : 0;
}

static int attach_dir(const struct plan_dir *d, int *given, const char *place,
	const struct plan_op *op)
{
	struct stat st;
	auto_fd int tree = take_fd(given);

	if (tree < 0) {
		/* The path leads through the caller's own directories; what it leads to must
		 * be what the caller has open. */
		auto_fd int dir = open(d->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 || fstat(dir, &st) < 0)
			return -errno;
		if (st.st_dev != d->dev || st.st_ino != d->ino)
			return -ESTALE;
		tree = mnt_clone(dir, "", false);
		if (tree < 0)
			return tree;
	}
	int r = mnt_change(tree, op->attr, 0, false);
	return r < 0 ? r : mnt_attach(tree, AT_FDCWD, place);
}

static int attach_disk(struct setup *s, const struct plan_op *op)
{
	bool is_new = *op->source;
	auto_fd int fd = is_new ? mnt_make(op->source, op->options, op->attr) : take_fd(&s->disk);

	if (fd < 0)
		return is_new ? fd : -EBADF;
	int r = is_new ? 0 : mnt_change(fd, op->attr, 0, false);
	if (!r)
		r = mnt_attach(fd, AT_FDCWD, "disk");
	if (r < 0 || !is_new)
		return r;
	if (mkdirat(fd, "up", 0755) < 0 || mkdirat(fd, "wk", 0755) < 0)
		return -errno;
	s->up = openat(fd, "up", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->up < 0 ? -errno : 0;
}

static int mount_overlay(struct setup *s, const struct plan_op *op)
{
	char options[256];
	struct statvfs vfs;

	/* Volatile: an unmount does not sync the whole upper file system (8-speed.md 0). */
	snprintf(options, sizeof options, "%s,volatile", op->options);
	s->root = mnt_make("overlay", options, op->attr);
	s->report.overlay_volatile = s->root >= 0;
	if (s->root == -EINVAL) {
		s->root = mnt_make("overlay", op->options, op->attr);
		if (s->root >= 0)
			setup_note(&s->report, "overlay: not volatile: ending a session syncs its"
				" disk\n");
	}
	if (s->root < 0)
		return s->root;
	/* A work directory that is not ours gives a mount that is silently read-only. */
	if (fstatvfs(s->root, &vfs) < 0)
		return -errno;
	return vfs.f_flag & ST_RDONLY ? -EROFS : mnt_attach(s->root, AT_FDCWD, "root");
}

static int write_file(struct setup *s, const struct plan_op *op)
{
	auto_fd int fd = mnt_open(s->root, op->path, O_WRONLY | O_CREAT | O_EXCL);

	if (fd < 0)
		return fd;
	int r = fd_write_all(fd, op->data, op->n);
	/* It is in the file now: each process of the jail would keep this copy. */
	mem_drop(op->data, op->n);
	return !r && fchmod(fd, op->number) < 0 ? -errno : r;
}

static int write_user(const char *name, const char *value)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/sys/user/%s", name);
	auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd_write_all(fd, value, strlen(value));
}

static int limit_userns(void)
{
	return write_user("max_user_namespaces", "0");
}

/* What is watched inside counts for the caller too, who has 128 instances by default, also
 * where he is root. Source: inc_ucount of Linux goes up to the first user namespace. */
static int limit_inotify(void)
{
	int r = write_user("max_inotify_instances", "32");

	return r ? r : write_user("max_inotify_watches", "65536");
}

/* What is only wanted goes on without, and says so. */
static int wanted(struct setup *s, const char *what, int r, char *ret_flag)
{
	*ret_flag = r >= 0;
	if (r < 0)
		setup_note(&s->report, "%s: %s\n", what, strerror(-r));
	return 0;
}

static int run(struct setup *s, const struct plan_op *op)
{
	char ignored;

	if (s->plan->is_weak && op->kind != PLAN_KEYRING)
		return weak_run(s, op);
	switch (op->kind) {
	case PLAN_IDS:
		return become_first();
	case PLAN_KEYRING:
		return wanted(s, "private keyring",
			syscall(SYS_keyctl, KEYCTL_JOIN_SESSION, NULL) < 0 ? -errno : 0,
			&s->report.private_keyring);
	case PLAN_HOSTNAME:
		return sethostname(op->source, strlen(op->source)) < 0 ? -errno : 0;
	case PLAN_LOOPBACK:
		return wanted(s, "loopback", loopback_up(), &s->report.net_loopback);
	case PLAN_SKELETON:
		return attach_dir(&s->plan->skeleton, &s->tree, "low", op);
	case PLAN_BASE:
		return attach_dir(&s->plan->base, &s->base, "img", op);
	case PLAN_DISK:
		return attach_disk(s, op);
	case PLAN_OVERLAY:
		return mount_overlay(s, op);
	case PLAN_FILE:
		return write_file(s, op);
	case PLAN_PIVOT:
		return mnt_pivot(s->root);
	case PLAN_NO_USERNS:
		return wanted(s, "no user namespaces inside", limit_userns(),
			&s->report.userns_limited);
	case PLAN_INOTIFY:
		return wanted(s, "limits of inotify", limit_inotify(), &ignored);
	case PLAN_SWEEP:
		return mounts_sweep(s->plan);
	default:
		return mounts_run(s->root, op);
	}
}

int setup_run(struct setup *s, bool late, struct fault *f)
{
	static const char *const names[] = {
#define X(name, json) [PLAN_##name] = json,
#include "jail/plan.def"
#undef X
	};

	for (uint32_t i = 0; i < s->plan->n_ops; i++) {
		const struct plan_op *op = &s->plan->ops[i];
		if (late != !!(op->flags & PLAN_LATE))
			continue;
		int r = run(s, op);
		bool absent = r == -ENOENT || r == -ENOTDIR;
		if (absent && op->kind == PLAN_DEVICE && op->flags & PLAN_OPTIONAL)
			setup_note(&s->report, "%s: there is none here\n", op->source);
		if (r == -EUCLEAN)
			return fault_set(f, FAULT_SYSTEM, 0,
				"sweep: something is mounted otherwise than the plan says");
		if (r < 0 && !(op->flags & PLAN_OPTIONAL && absent))
			return setup_fail(f, r, names[op->kind], op->path);
	}
	return 0;
}

/* A clone of a writable place, made while the root still is writable. */
static int clone_place(int root, const struct plan_rule *rule)
{
	auto_fd int dir = mnt_open(root, rule->path + 1, O_PATH | O_DIRECTORY);

	return dir < 0 ? dir : mnt_clone(dir, "", false);
}

/* Moving a file from one of them to another is EXDEV then, as between file systems. */
int setup_close_root(struct setup *s, struct fault *f)
{
	int trees[PLAN_RULES_MAX], r = 0;

	if (s->plan->is_weak || landlock_abi() >= LANDLOCK_ABI_TRUNCATE)
		return 0;
	for (uint32_t i = 0; i < s->plan->n_rules; i++)
		trees[i] = mounts_is_place(&s->plan->rules[i]) ?
			clone_place(s->root, &s->plan->rules[i]) : -ENOENT;
	r = mnt_change(s->root, KERNEL_MOUNT_RDONLY, 0, false);
	for (uint32_t i = 0; i < s->plan->n_rules; i++) {
		auto_fd int tree = trees[i];
		if (tree == -ENOENT || r < 0)
			continue;
		r = tree < 0 ? tree : mnt_attach(tree, s->root, s->plan->rules[i].path + 1);
	}
	if (r < 0)
		return setup_fail(f, r, "make the root read-only", NULL);
	setup_note(&s->report, "root: read-only by its mount, as Landlock before Linux 6.2 lets "
		"files be cut off\n");
	return 0;
}
