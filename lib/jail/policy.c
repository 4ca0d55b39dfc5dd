#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "jail/policy-inner.h"
#include "jail/walls.h"

/* A new name space of any kind. The lowest byte of clone's flags is a signal, in which
 * CLONE_NEWTIME (0x80) has no meaning. Source: sched.h of Linux. */
#define NEW_ANY 0x7e020000u

#define PROTO_ROUTE       0
#define PROTO_MPTCP       262
#define TTY_PUSH_INPUT    0x5412 /* TIOCSTI */
#define TTY_CONSOLE       0x541c /* TIOCLINUX */
#define TTY_LINE          0x5423 /* TIOCSETD */
#define PERSONA_ASK       0xffffffffu
#define PERSONA_NO_RANDOM 0x0040000u

static const struct seccomp_rule rules[] = {
	/* As if this kernel did not have them: libraries know how to go on. */
	REFUSE(ENOSYS, clone3), /* its flags lie in memory, where no filter can look */
	REFUSE(ENOSYS, open_tree),
	REFUSE(ENOSYS, move_mount),
	REFUSE(ENOSYS, fsopen),
	REFUSE(ENOSYS, fsconfig),
	REFUSE(ENOSYS, fsmount),
	REFUSE(ENOSYS, fspick),
	REFUSE(ENOSYS, mount_setattr),
	REFUSE(ENOSYS, open_tree_attr),
	REFUSE(ENOSYS, statmount),
	REFUSE(ENOSYS, listmount),
	REFUSE(ENOSYS, file_setattr), /* what FS_IOC_SETFLAGS can */
	REFUSE(ENOSYS, io_uring_setup),
	REFUSE(ENOSYS, io_uring_enter),
	REFUSE(ENOSYS, io_uring_register),
	REFUSE(ENOSYS, userfaultfd),
	REFUSE(ENOSYS, bpf),
	REFUSE(ENOSYS, perf_event_open),
	REFUSE(ENOSYS, fanotify_init),
	REFUSE(ENOSYS, memfd_secret), /* memory that the kernel cannot look into */
	REFUSE(ENOSYS, pidfd_getfd),
	REFUSE(ENOSYS, process_madvise),
	REFUSE(ENOSYS, kexec_load),
	REFUSE(ENOSYS, kexec_file_load),
	REFUSE(ENOSYS, nfsservctl),
	REFUSE(ENOSYS, lookup_dcookie),
	REFUSE(ENOSYS, quotactl),
	REFUSE(ENOSYS, quotactl_fd),
#ifdef __x86_64__
	REFUSE(ENOSYS, uselib),
	REFUSE(ENOSYS, _sysctl),
	REFUSE(ENOSYS, sysfs),
	REFUSE(ENOSYS, ustat),
	REFUSE(ENOSYS, modify_ldt),
#endif
	REFUSE(EPERM, mount),
	REFUSE(EPERM, umount2),
	REFUSE(EPERM, pivot_root),
	REFUSE(EPERM, chroot),
	REFUSE(EPERM, setns),
	REFUSE(EPERM, unshare),
	REFUSE_IF(EPERM, clone, HAS(0, NEW_ANY)),
	REFUSE(EPERM, ptrace),
	REFUSE(EPERM, process_vm_readv),
	REFUSE(EPERM, process_vm_writev),
	REFUSE(EPERM, kcmp),
	REFUSE(EPERM, keyctl),
	REFUSE(EPERM, add_key),
	REFUSE(EPERM, request_key),
	REFUSE(EPERM, open_by_handle_at),
	REFUSE(EPERM, name_to_handle_at),
	REFUSE(EPERM, swapon),
	REFUSE(EPERM, swapoff),
	REFUSE(EPERM, reboot),
	REFUSE(EPERM, init_module),
	REFUSE(EPERM, finit_module),
	REFUSE(EPERM, delete_module),
	REFUSE(EPERM, acct),
	REFUSE(EPERM, syslog),
	REFUSE(EPERM, settimeofday),
	REFUSE(EPERM, clock_settime),
	REFUSE(EPERM, clock_adjtime),
	REFUSE(EPERM, adjtimex),
	REFUSE(EPERM, sethostname),
	REFUSE(EPERM, setdomainname),
	REFUSE(EPERM, vhangup),
	REFUSE(EPERM, mbind),
	REFUSE(EPERM, set_mempolicy),
	REFUSE(EPERM, migrate_pages),
	REFUSE(EPERM, move_pages),
#ifdef __x86_64__
	REFUSE(EPERM, iopl),
	REFUSE(EPERM, ioperm),
	REFUSE_IF(EPERM, mknod, MASKED(1, S_IFMT, S_IFCHR)),
	REFUSE_IF(EPERM, mknod, MASKED(1, S_IFMT, S_IFBLK)),
#endif
	/* An overlay's whiteouts are made by the kernel, never by this call. */
	REFUSE_IF(EPERM, mknodat, MASKED(2, S_IFMT, S_IFCHR)),
	REFUSE_IF(EPERM, mknodat, MASKED(2, S_IFMT, S_IFBLK)),
	ALLOW_IF(personality, IS(0, 0)),
	ALLOW_IF(personality, IS(0, PERSONA_ASK)),
	ALLOW_IF(personality, IS(0, PERSONA_NO_RANDOM)),
	REFUSE(EPERM, personality),
	REFUSE_IF(EPERM, ioctl, IS(1, TTY_PUSH_INPUT)),
	REFUSE_IF(EPERM, ioctl, IS(1, TTY_CONSOLE)),
	REFUSE_IF(EPERM, ioctl, IS(1, TTY_LINE)),
	/* A limit of 1 is what keeps a core handler of the host from running. */
	REFUSE_IF(EPERM, prlimit64, IS(1, RLIMIT_CORE), GIVEN(2)),
	REFUSE_IF(EPERM, setrlimit, IS(0, RLIMIT_CORE)),
	/* Process 1 has the payload's id in a single map, and its limits would be open to it. */
	REFUSE_IF(EPERM, prlimit64, IS(0, 1), GIVEN(2)),
	/* Some families have no name space: what they reach is the host. */
	ALLOW_IF(socket, IS(0, AF_UNIX)),
	REFUSE_IF(EPERM, socket, IS(0, AF_INET), MASKED(1, SOCK_KIND, SOCK_RAW)),
	/* The kernel turns this one into AF_PACKET. Source: net/socket.c */
	REFUSE_IF(EPERM, socket, IS(0, AF_INET), MASKED(1, SOCK_KIND, SOCK_PACKET)),
	/* The usual protocols: any other number can have the kernel load a module for it. */
	ALLOW_IF(socket, IS(0, AF_INET), IS(2, 0)),
	ALLOW_IF(socket, IS(0, AF_INET), IS(2, IPPROTO_ICMP)),
	ALLOW_IF(socket, IS(0, AF_INET), IS(2, IPPROTO_TCP)),
	ALLOW_IF(socket, IS(0, AF_INET), IS(2, IPPROTO_UDP)),
	ALLOW_IF(socket, IS(0, AF_INET), IS(2, PROTO_MPTCP)),
	REFUSE_IF(EPROTONOSUPPORT, socket, IS(0, AF_INET)),
	REFUSE_IF(EPERM, socket, IS(0, AF_INET6), MASKED(1, SOCK_KIND, SOCK_RAW)),
	ALLOW_IF(socket, IS(0, AF_INET6), IS(2, 0)),
	ALLOW_IF(socket, IS(0, AF_INET6), IS(2, IPPROTO_TCP)),
	ALLOW_IF(socket, IS(0, AF_INET6), IS(2, IPPROTO_UDP)),
	ALLOW_IF(socket, IS(0, AF_INET6), IS(2, IPPROTO_ICMPV6)),
	ALLOW_IF(socket, IS(0, AF_INET6), IS(2, PROTO_MPTCP)),
	REFUSE_IF(EPROTONOSUPPORT, socket, IS(0, AF_INET6)),
	ALLOW_IF(socket, IS(0, AF_NETLINK), IS(2, PROTO_ROUTE)),
	REFUSE(EAFNOSUPPORT, socket),
	ALLOW_IF(socketpair, IS(0, AF_UNIX)),
	REFUSE(EAFNOSUPPORT, socketpair),
};

static const struct seccomp_rule no_fallocate = REFUSE(EOPNOTSUPP, fallocate);

struct seccomp_rule *policy_rules(const struct policy *p, size_t *ret_n)
{
	enum { WEAK_MAX = 64 };
	struct seccomp_rule *all = mem_new_array(struct seccomp_rule,
		array_size(rules) + 1 + WEAK_MAX);
	/* First: of several rules for a call the first that fits decides. */
	size_t n = policy_weak_rules(p, all, WEAK_MAX);

	for (size_t i = 0; i < array_size(rules); i++)
		if (!wall_is_off_of("call", rules[i].name))
			all[n++] = rules[i];
	if (p->deny_fallocate)
		all[n++] = no_fallocate;
	*ret_n = n;
	return all;
}

static void print_condition(const struct seccomp_condition *c, struct text *t)
{
	static const char *const tests[] = { "", "equal", "any_bit", "not_null" };

	json_open(t, '{');
	json_put_int(t, "arg", c->arg);
	json_put_string(t, "test", tests[c->test]);
	if (c->test != SECCOMP_NOT_NULL)
		json_put_int(t, "mask", c->mask);
	if (c->test == SECCOMP_EQUAL)
		json_put_int(t, "value", c->value);
	json_close(t, '}');
}

static const char *action_name(uint32_t action)
{
	switch (action) {
	case SECCOMP_ALLOW:
		return "allow";
	case SECCOMP_ERRNO(EPERM):
		return "EPERM";
	case SECCOMP_ERRNO(ENOSYS):
		return "ENOSYS";
	case SECCOMP_ERRNO(EACCES):
		return "EACCES";
	case SECCOMP_ERRNO(EAFNOSUPPORT):
		return "EAFNOSUPPORT";
	case SECCOMP_ERRNO(EPROTONOSUPPORT):
		return "EPROTONOSUPPORT";
	case SECCOMP_ERRNO(EOPNOTSUPP):
		return "EOPNOTSUPP";
	default:
		return "kill";
	}
}

void policy_print(const struct seccomp_rule *all, size_t n, struct text *t)
{
	json_open(t, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(t, '{');
		json_put_string(t, "syscall", all[i].name);
		json_put_int(t, "number", all[i].nr);
		json_put_string(t, "action", action_name(all[i].action));
		json_key(t, "when");
		json_open(t, '[');
		for (int k = 0; k < SECCOMP_CONDITIONS && all[i].when[k].test; k++)
			print_condition(&all[i].when[k], t);
		json_close(t, ']');
		json_close(t, '}');
	}
	json_close(t, ']');
}
