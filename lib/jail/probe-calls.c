#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "jail/probe-inside.h"
#include "sys/kernel.h"

#define HIGH (1ul << 32) /* what the kernel ignores in an int, and a filter must, too */
#define NODE "/tmp/sbx-probe"
#define CWD ((unsigned long)AT_FDCWD)
#define P(s) ((unsigned long)(s))

struct call {
	const char *key;
	long nr;
	unsigned long args[6];
	int expected[2]; /* errno; 0: none */
};

static struct sched_param fifo = { .sched_priority = 1 };
static struct rlimit no_core;
static char push = 'x';

/* Groups 9, 14, 21 to 25, 28, 30 to 41, 44, 47, 48 and 80. */
static const struct call calls[] = {
	{ "mount", SYS_mount, { P("none"), P("/tmp"), P("tmpfs") }, { EPERM } },
	{ "mount_bind", SYS_mount, { P("/"), P("/tmp"), 0, MS_BIND }, { EPERM } },
	{ "mount_remount", SYS_mount, { 0, P("/usr"), 0, MS_REMOUNT | MS_BIND }, { EPERM } },
	{ "umount", SYS_umount2, { P("/proc/sys"), MNT_DETACH }, { EPERM } },
	{ "fsopen", SYS_fsopen, { P("tmpfs") }, { ENOSYS } },
	{ "open_tree", SYS_open_tree, { CWD, P("/"), 1 }, { ENOSYS } },
	{ "move_mount", SYS_move_mount, { ~0ul, P(""), ~0ul, P(""), 0x44 }, { ENOSYS } },
	{ "mount_setattr", SYS_mount_setattr, { ~0ul, P(""), 0x1000 }, { ENOSYS } },
	{ "pivot_root", SYS_pivot_root, { P("/tmp"), P("/tmp") }, { EPERM } },
	{ "chroot", SYS_chroot, { P("/tmp") }, { EPERM } },
	{ "unshare_user", SYS_unshare, { CLONE_NEWUSER }, { EPERM } },
	{ "unshare_mount", SYS_unshare, { CLONE_NEWNS }, { EPERM } },
	{ "unshare_net", SYS_unshare, { CLONE_NEWNET }, { EPERM } },
	{ "clone_user", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, { EPERM } },
	{ "clone_pid", SYS_clone, { CLONE_NEWPID | SIGCHLD }, { EPERM } },
	{ "clone_high_bits", SYS_clone, { HIGH | CLONE_NEWNET | SIGCHLD }, { EPERM } },
	{ "clone3", SYS_clone3, { 0, 0 }, { ENOSYS } },
	{ "setns", SYS_setns, { ~0ul, 0 }, { EPERM } },
	{ "ptrace_init", SYS_ptrace, { PTRACE_ATTACH, 1 }, { EPERM } },
	{ "vm_read_init", SYS_process_vm_readv, { 1, 0, 0, 0, 0, 0 }, { EPERM } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { ~0ul, 0, 0 }, { ENOSYS } },
	{ "kcmp", SYS_kcmp, { 1, 1, 0, 0, 0 }, { EPERM } },
	{ "keyctl", SYS_keyctl, { 0, (unsigned long)-3 }, { EPERM } },
	{ "add_key", SYS_add_key, { P("user"), P("x"), P("x"), 1, (unsigned long)-2 }, { EPERM } },
	{ "request_key", SYS_request_key, { P("user"), P("sbx-probe"), 0, 0 }, { EPERM } },
	{ "bpf", SYS_bpf, { 5, 0, 0 }, { ENOSYS } },
	{ "perf_event", SYS_perf_event_open, { 0, 0, ~0ul, ~0ul, 0 }, { ENOSYS } },
	{ "userfaultfd", SYS_userfaultfd, { 1 }, { ENOSYS } },
	{ "io_uring", SYS_io_uring_setup, { 1, 0 }, { ENOSYS } },
	{ "fanotify", SYS_fanotify_init, { 0x200, 0 }, { ENOSYS } },
	{ "memfd_secret", SYS_memfd_secret, { 0 }, { ENOSYS } },
	{ "init_module", SYS_init_module, { 0, 0, 0 }, { EPERM } },
	{ "finit_module", SYS_finit_module, { ~0ul, 0, 0 }, { EPERM } },
	{ "delete_module", SYS_delete_module, { P("sbx-probe"), O_NONBLOCK }, { EPERM } },
	{ "kexec", SYS_kexec_load, { 0, 0, 0, ~0ul }, { ENOSYS } },
	{ "reboot", SYS_reboot, { 0, 0, 0 }, { EPERM } },
	{ "swapon", SYS_swapon, { P("/nowhere"), 0 }, { EPERM } },
	{ "acct", SYS_acct, { P("/nowhere") }, { EPERM } },
	{ "quotactl", SYS_quotactl, { 0, 0, 0, 0 }, { ENOSYS } },
	{ "clock_settime", SYS_clock_settime, { 0, 0 }, { EPERM } },
	{ "adjtimex", SYS_adjtimex, { 0 }, { EPERM } },
	{ "sethostname", SYS_sethostname, { P("x"), 1 }, { EPERM } },
	{ "syslog", SYS_syslog, { 10, 0, 0 }, { EPERM } },
	{ "name_to_handle", SYS_name_to_handle_at, { CWD, P("/"), 0, 0, 0 }, { EPERM } },
	{ "open_by_handle", SYS_open_by_handle_at, { ~0ul, 0, 0 }, { EPERM } },
	{ "statmount", SYS_statmount, { 0, 0, 0, 0 }, { ENOSYS } },
	{ "listmount", SYS_listmount, { 0, 0, 0, 0 }, { ENOSYS } },
	{ "mknod_char", SYS_mknodat, { CWD, P(NODE), S_IFCHR, 0x101 }, { EPERM } },
	{ "mknod_block", SYS_mknodat, { CWD, P(NODE), S_IFBLK, 0x800 }, { EPERM } },
	{ "mknod_whiteout", SYS_mknodat, { CWD, P(NODE), HIGH | S_IFCHR, 0 }, { EPERM } },
	{ "personality", SYS_personality, { 0x0400000 }, { EPERM } },
	{ "tiocsti", SYS_ioctl, { 0, 0x5412, P(&push) }, { EPERM } },
	{ "tiocsti_high_bits", SYS_ioctl, { 0, HIGH | 0x5412, P(&push) }, { EPERM } },
	{ "tioclinux", SYS_ioctl, { 0, 0x541c, P(&push) }, { EPERM } },
	{ "tiocsetd", SYS_ioctl, { 0, 0x5423, P(&push) }, { EPERM } },
	{ "core_limit_set", SYS_prlimit64, { 0, HIGH | RLIMIT_CORE, P(&no_core), 0 }, { EPERM } },
	{ "limits_of_init", SYS_prlimit64, { HIGH | 1, RLIMIT_CPU, P(&no_core), 0 }, { EPERM } },
	{ "vsock", SYS_socket, { 40, SOCK_STREAM, 0 }, { EAFNOSUPPORT } },
	{ "vsock_high_bits", SYS_socket, { HIGH | 40, SOCK_STREAM, 0 }, { EAFNOSUPPORT } },
	{ "packet_socket", SYS_socket, { AF_PACKET, SOCK_RAW, 0 }, { EAFNOSUPPORT } },
	{ "alg_socket", SYS_socket, { 38, SOCK_SEQPACKET, 0 }, { EAFNOSUPPORT } },
	{ "raw_socket", SYS_socket, { AF_INET, SOCK_RAW, 1 }, { EPERM } },
	{ "raw_socket_flags", SYS_socket, { AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58 }, { EPERM } },
	{ "netlink_audit", SYS_socket, { AF_NETLINK, SOCK_RAW, 9 }, { EAFNOSUPPORT } },
	{ "netlink_netfilter", SYS_socket, { AF_NETLINK, SOCK_RAW, 12 }, { EAFNOSUPPORT } },
	{ "set_uid", SYS_setresuid, { 0, 0, 0 }, { EPERM, EINVAL } },
	{ "set_gid", SYS_setresgid, { 0, 0, 0 }, { EPERM, EINVAL } },
	{ "set_groups", SYS_setgroups, { 0, 0 }, { EPERM } },
	{ "realtime", SYS_sched_setscheduler, { 0, SCHED_FIFO, P(&fifo) }, { EPERM } },
	{ "nice", SYS_setpriority, { PRIO_PROCESS, 0, (unsigned long)-20 }, { EACCES, EPERM } },
	{ "chown_root", SYS_fchownat, { CWD, P("/workspace"), 0, 0, 0 }, { EPERM, EINVAL } },
#ifdef __x86_64__
	{ "iopl", SYS_iopl, { 3 }, { EPERM } },
	{ "ioperm", SYS_ioperm, { 0x80, 1, 1 }, { EPERM } },
	{ "modify_ldt", SYS_modify_ldt, { 0, 0, 0 }, { ENOSYS } },
	{ "x32", 0x40000000 | 39, { 0 }, { ENOSYS } },
#endif
	{ "unknown_call", KERNEL_NR_MAX + 1, { 0 }, { ENOSYS } },
};

static void try_call(struct text *t, const struct call *c)
{
	const unsigned long *a = c->args;
	char room[16];

	errno = 0;
	long r = syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	int sysno = r < 0 ? errno : 0;
	/* The wall did not hold and this is the copy; the original tells. */
	if (!r && c->nr == SYS_clone)
		_exit(0);
	bool held = sysno && (sysno == c->expected[0] || sysno == c->expected[1]);
	probe_put(t, c->key, held, sysno ? probe_errno_name(sysno, room) : "it was done");
}

#ifdef __x86_64__
/* getpid by the gate of 32-bit programs; their numbers mean other calls. */
static void try_int80(struct text *t)
{
	char observed[64] = "it answered";
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		long r = 20;
		__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
		_exit(r < 0 ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return;
	if (WIFSIGNALED(status))
		snprintf(observed, sizeof observed, "killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == 1)
		strcpy(observed, "refused");
	probe_put(t, "int80", WIFSIGNALED(status) || WEXITSTATUS(status) == 1, observed);
}
#else
static void try_int80(struct text *t)
{
	(void)t;
}
#endif

void probe_calls(struct text *t)
{
	for (size_t i = 0; i < array_size(calls); i++)
		try_call(t, &calls[i]);
	try_int80(t);
}
