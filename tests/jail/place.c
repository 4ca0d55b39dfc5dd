/*
 * Runs a program in a place that is weaker than this machine, made for real:
 *
 *	place [OPTION[=VALUE]]... -- PROGRAM [ARGUMENT...]
 *
 * What needs it lies in mount and user namespaces of its own, so nothing of the host changes
 * and nothing is left. Options work in the order in which they are given; those that change what
 * the program may do (caps, deny, docker, chroot) come last.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/kernel.h"

enum { FAILED = 99 };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "place: %s: %s\n", what, strerror(errno));
	exit(FAILED);
}

static void write_to(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
}

/* --- namespaces ---------------------------------------------------------------------------- */

/* All ids for root, whose map only a process outside may write; else the caller's own. */
static void map_ids(pid_t of, uid_t uid, gid_t gid)
{
	char path[64], line[64];

	if (uid) {
		snprintf(path, sizeof path, "/proc/%d/setgroups", (int)of);
		write_to(path, "deny");
	}
	snprintf(path, sizeof path, "/proc/%d/gid_map", (int)of);
	snprintf(line, sizeof line, "%u %u %u", gid, gid, uid ? 1 : ~0u);
	write_to(path, line);
	snprintf(path, sizeof path, "/proc/%d/uid_map", (int)of);
	snprintf(line, sizeof line, "%u %u %u", uid, uid, uid ? 1 : ~0u);
	write_to(path, line);
}

static void own_users(void)
{
	int go[2], status;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char c = 0;

	if (pipe2(go, O_CLOEXEC) < 0)
		die("pipe");
	pid_t parent = getpid(), pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			map_ids(parent, uid, gid);
		_exit(c != 'g');
	}
	if (pid < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		die("new user namespace");
	if (write(go[1], "g", 1) != 1 || waitpid(pid, &status, 0) < 0 || status)
		die("map ids");
	close(go[0]);
	close(go[1]);
}

static void own_mounts(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	if (geteuid())
		own_users();
	else if (unshare(CLONE_NEWNS) < 0)
		die("new mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		die("private mounts");
}

/* The limit is that of the program's own user namespace, not the host's. */
static void limit_namespaces(const char *value)
{
	if (!geteuid())
		own_users();
	own_mounts();
	write_to("/proc/sys/user/max_user_namespaces", value);
}

/* --- file systems -------------------------------------------------------------------------- */

static void put(const char *type, const char *at, const char *options)
{
	struct stat st;

	own_mounts();
	if (stat(at, &st) < 0 || mount(type, at, type, 0, options) < 0)
		die(at);
	bool ours = st.st_uid == geteuid();
	if (chmod(at, st.st_mode & 07777) < 0 || (ours && chown(at, st.st_uid, st.st_gid) < 0))
		die(at);
}

static void put_tmpfs(const char *at)
{
	put("tmpfs", at, NULL);
}

static void put_full(const char *at)
{
	put("tmpfs", at, "size=64k,nr_inodes=24");
}

static void put_ramfs(const char *at)
{
	put("ramfs", at, NULL);
}

/* As in a container, whose root is one. */
static void put_overlay(const char *at)
{
	char options[4096], below[4000];
	static const char *const parts[] = { "low", "up", "wk" };

	put_tmpfs(at);
	for (size_t i = 0; i < array_size(parts); i++) {
		snprintf(below, sizeof below, "%s/%s", at, parts[i]);
		if (mkdir(below, 0700) < 0)
			die(below);
	}
	snprintf(options, sizeof options, "lowerdir=%s/low,upperdir=%s/up,workdir=%s/wk,userxattr",
		at, at, at);
	put("overlay", at, options);
}

static void bind_with(const char *at, uint64_t attr)
{
	struct kernel_mount_attr a = { .set = attr };

	own_mounts();
	if (mount(at, at, NULL, MS_BIND | MS_REC, NULL) < 0)
		die(at);
	if (syscall(SYS_mount_setattr, AT_FDCWD, at, KERNEL_AT_RECURSIVE, &a, sizeof a) < 0)
		die(at);
}

static void bind_read_only(const char *at)
{
	bind_with(at, KERNEL_MOUNT_RDONLY);
}

static void bind_noexec(const char *at)
{
	bind_with(at, KERNEL_MOUNT_NOEXEC | KERNEL_MOUNT_NOSUID | KERNEL_MOUNT_NODEV);
}

/* What container engines do to /proc. Source: runtime-spec defaults of moby, oci/defaults.go. */
static void mask_proc(const char *unused)
{
	static const char *const files[] = { "/proc/kcore", "/proc/keys", "/proc/timer_list",
		"/proc/latency_stats", "/proc/sched_debug" };
	static const char *const locks[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys" };

	(void)unused;
	own_mounts();
	for (size_t i = 0; i < array_size(files); i++)
		if (!access(files[i], F_OK) && mount("/dev/null", files[i], NULL, MS_BIND, NULL) < 0)
			die(files[i]);
	for (size_t i = 0; i < array_size(locks); i++)
		if (!access(locks[i], F_OK))
			bind_read_only(locks[i]);
}

/* NAME=VALUE: one setting that this kernel may not have; its neighbours go. */
static void set_kernel(const char *value)
{
	char path[256], name[128];

	put("tmpfs", "/proc/sys/kernel", NULL);
	snprintf(name, sizeof name, "%.*s", (int)strcspn(value, ":"), value);
	snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
	write_to(path, value + strlen(name) + 1);
}

/* Only these devices, and no terminals. */
static void small_dev(const char *names)
{
	char copy[256], from[300], to[300], *save = NULL;

	own_mounts();
	int kept = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (kept < 0 || mount("tmpfs", "/dev", "tmpfs", 0, "mode=0755") < 0)
		die("/dev");
	snprintf(copy, sizeof copy, "%s", names);
	for (char *n = strtok_r(copy, ",", &save); n; n = strtok_r(NULL, ",", &save)) {
		snprintf(from, sizeof from, "/proc/self/fd/%d/%s", kept, n);
		snprintf(to, sizeof to, "/dev/%s", n);
		write_to(to, "");
		if (mount(from, to, NULL, MS_BIND, NULL) < 0)
			die(to);
	}
	close(kept);
}

static void change_root(const char *at)
{
	own_mounts();
	if (mount("/", at, NULL, MS_BIND | MS_REC, NULL) < 0 || chroot(at) < 0 || chdir("/") < 0)
		die(at);
}

/* --- rights -------------------------------------------------------------------------------- */

/* What root of a container has. Source: moby, oci/caps/defaults.go. */
static void drop_caps(const char *unused)
{
	static const int kept[] = { CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FSETID, CAP_FOWNER, CAP_MKNOD,
		CAP_NET_RAW, CAP_SETGID, CAP_SETUID, CAP_SETFCAP, CAP_SETPCAP, CAP_NET_BIND_SERVICE,
		CAP_SYS_CHROOT, CAP_KILL, CAP_AUDIT_WRITE };
	uint64_t all = 0;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	(void)unused;
	if (geteuid())
		return;
	for (size_t i = 0; i < array_size(kept); i++)
		all |= 1ull << kept[i];
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (!(all & 1ull << i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL)
			die("bounding set");
	if (syscall(SYS_capget, &head, data) < 0)
		die("capget");
	for (int i = 0; i < 2; i++) {
		uint32_t part = (uint32_t)(all >> 32 * i);
		data[i].effective &= part;
		data[i].permitted &= part;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) < 0)
		die("capset");
}

static const struct {
	const char *name;
	long nr;
} calls[] = {
#define CALL(name) { #name, SYS_##name }
	CALL(clone3), CALL(unshare), CALL(mount), CALL(umount2), CALL(setns), CALL(pivot_root),
	CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(open_tree),
	CALL(move_mount), CALL(mount_setattr), CALL(keyctl), CALL(add_key), CALL(request_key),
	CALL(bpf), CALL(perf_event_open), CALL(io_uring_setup), CALL(userfaultfd), CALL(openat2),
	CALL(close_range), CALL(pidfd_open), CALL(pidfd_send_signal), CALL(memfd_create),
	CALL(landlock_create_ruleset), CALL(landlock_add_rule), CALL(landlock_restrict_self),
	CALL(seccomp), CALL(sethostname), CALL(execveat), CALL(statx), CALL(setgroups),
	CALL(signalfd4), CALL(renameat2), CALL(sched_setscheduler), CALL(prctl),
#undef CALL
};

enum { FILTER_MAX = 256 };

static void add(struct sock_fprog *p, struct sock_filter insn)
{
	if (p->len == FILTER_MAX)
		die("too many rules");
	p->filter[p->len++] = insn;
}

static void add_answer(struct sock_fprog *p, long nr, int answer)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1));
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		SECCOMP_RET_ERRNO | ((uint32_t)answer & SECCOMP_RET_DATA)));
}

/* clone with a new namespace in its flags, a signal in the lowest byte. */
static void add_clone(struct sock_fprog *p, int answer)
{
	size_t at = offsetof(struct seccomp_data, args);

	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
	add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7e020000, 0, 1));
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		SECCOMP_RET_ERRNO | ((uint32_t)answer & SECCOMP_RET_DATA)));
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static int number_of(const char *word)
{
	static const struct {
		const char *name;
		int number;
	} names[] = { { "EPERM", EPERM }, { "EACCES", EACCES }, { "ENOSYS", ENOSYS },
		{ "EINVAL", EINVAL } };

	for (size_t i = 0; i < array_size(names); i++)
		if (!strcmp(names[i].name, word))
			return names[i].number;
	errno = EINVAL;
	die(word);
}

static void add_named(struct sock_fprog *p, const char *name, int answer)
{
	if (!strcmp(name, "clone")) {
		add_clone(p, answer);
		return;
	}
	for (size_t i = 0; i < array_size(calls); i++)
		if (!strcmp(calls[i].name, name)) {
			add_answer(p, calls[i].nr, answer);
			return;
		}
	errno = EINVAL;
	die(name);
}

/* CALL=ERRNO,…; clone stands for one that makes a namespace. */
static void deny(const char *list)
{
	struct sock_filter insns[FILTER_MAX];
	struct sock_fprog p = { .filter = insns };
	char copy[1024], *save = NULL;

	snprintf(copy, sizeof copy, "%s", list);
	add(&p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr)));
	for (char *one = strtok_r(copy, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		size_t n = strcspn(one, ":");
		if (!one[n])
			die(one);
		one[n] = 0;
		add_named(&p, one, number_of(one + n + 1));
	}
	add(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0)
		die("filter");
}

/* What the filter of container engines refuses to who has no CAP_SYS_ADMIN. Source: moby,
 * profiles/seccomp/default.json. */
static void deny_as_docker(const char *unused)
{
	(void)unused;
	deny("clone3:ENOSYS,unshare:EPERM,mount:EPERM,umount2:EPERM,setns:EPERM,pivot_root:EPERM,"
	     "fsopen:EPERM,fsconfig:EPERM,fsmount:EPERM,fspick:EPERM,open_tree:EPERM,"
	     "move_mount:EPERM,mount_setattr:EPERM,keyctl:EPERM,add_key:EPERM,request_key:EPERM,"
	     "bpf:EPERM,perf_event_open:EPERM,io_uring_setup:EPERM,userfaultfd:EPERM,"
	     "sethostname:EPERM,clone:EPERM");
}

/* A /proc that shows nobody else's processes; only root can remount it. */
static void hide_pids(const char *unused)
{
	(void)unused;
	own_mounts();
	if (mount("proc", "/proc", "proc", 0, "hidepid=2") < 0)
		die("hidepid");
}

static void limit_processes(const char *value)
{
	struct rlimit l = { strtoul(value, NULL, 10), strtoul(value, NULL, 10) };

	if (setrlimit(RLIMIT_NPROC, &l) < 0)
		die("RLIMIT_NPROC");
}

static const struct {
	const char *name;
	void (*make)(const char *value);
} options[] = {
	{ "max-userns", limit_namespaces }, { "tmpfs", put_tmpfs }, { "ramfs", put_ramfs },
	{ "full", put_full }, { "overlay", put_overlay }, { "read-only", bind_read_only },
	{ "noexec", bind_noexec }, { "masked-proc", mask_proc }, { "kernel", set_kernel },
	{ "dev", small_dev }, { "chroot", change_root }, { "caps", drop_caps }, { "deny", deny },
	{ "docker", deny_as_docker }, { "nproc", limit_processes },
	{ "hidepid", hide_pids },
};

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t n = strcspn(argv[i], "="), k = 0;
		while (k < array_size(options) && (strlen(options[k].name) != n ||
			strncmp(options[k].name, argv[i], n) != 0))
			k++;
		if (k == array_size(options)) {
			fprintf(stderr, "place: unknown option %s\n", argv[i]);
			return FAILED;
		}
		options[k].make(argv[i][n] ? argv[i] + n + 1 : "");
	}
	if (i + 1 >= argc)
		return FAILED;
	execvp(argv[i + 1], argv + i + 1);
	die(argv[i + 1]);
}
