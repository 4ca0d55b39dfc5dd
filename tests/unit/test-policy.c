/*
 * The list of refusals against a second one, written by hand from the design, and each rule by
 * itself: without it an answer must change. Of calls that the kernel refuses to everybody
 * inside anyway (swapon, acct, syslog, …) no test in a jail can tell whether the rule is there.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/mem.h"
#include "jail/policy.h"
#include "sys/seccomp.h"

#define HIGH (1ull << 32)

struct question {
	const char *name;
	uint32_t nr;
	uint64_t args[3];
	int sysno; /* 0: allowed */
};

#define Q(e, call, ...) { #call, SYS_##call, { __VA_ARGS__ }, e }

static const struct question questions[] = {
	Q(ENOSYS, clone3), Q(ENOSYS, open_tree), Q(ENOSYS, move_mount), Q(ENOSYS, fsopen),
	Q(ENOSYS, fsconfig), Q(ENOSYS, fsmount), Q(ENOSYS, fspick), Q(ENOSYS, mount_setattr),
	Q(ENOSYS, open_tree_attr), Q(ENOSYS, statmount), Q(ENOSYS, listmount),
	Q(ENOSYS, file_setattr), Q(ENOSYS, io_uring_setup), Q(ENOSYS, io_uring_enter),
	Q(ENOSYS, io_uring_register), Q(ENOSYS, userfaultfd), Q(ENOSYS, bpf),
	Q(ENOSYS, perf_event_open), Q(ENOSYS, fanotify_init), Q(ENOSYS, memfd_secret),
	Q(ENOSYS, pidfd_getfd), Q(ENOSYS, process_madvise), Q(ENOSYS, kexec_load),
	Q(ENOSYS, kexec_file_load), Q(ENOSYS, nfsservctl), Q(ENOSYS, lookup_dcookie),
	Q(ENOSYS, quotactl), Q(ENOSYS, quotactl_fd),
	Q(EPERM, mount), Q(EPERM, umount2), Q(EPERM, pivot_root), Q(EPERM, chroot), Q(EPERM, setns),
	Q(EPERM, unshare, 0x200), Q(EPERM, ptrace), Q(EPERM, process_vm_readv),
	Q(EPERM, process_vm_writev), Q(EPERM, kcmp), Q(EPERM, keyctl), Q(EPERM, add_key),
	Q(EPERM, request_key), Q(EPERM, open_by_handle_at), Q(EPERM, name_to_handle_at),
	Q(EPERM, swapon), Q(EPERM, swapoff), Q(EPERM, reboot), Q(EPERM, init_module),
	Q(EPERM, finit_module), Q(EPERM, delete_module), Q(EPERM, acct), Q(EPERM, syslog, 10),
	Q(EPERM, settimeofday), Q(EPERM, clock_settime), Q(EPERM, clock_adjtime), Q(EPERM, adjtimex),
	Q(EPERM, sethostname), Q(EPERM, setdomainname), Q(EPERM, vhangup), Q(EPERM, mbind),
	Q(EPERM, set_mempolicy), Q(EPERM, migrate_pages), Q(EPERM, move_pages),
	/* Each kind of namespace by itself; threads and plain children are no matter. */
	Q(EPERM, clone, 0x00020011), Q(EPERM, clone, 0x02000011), Q(EPERM, clone, 0x04000011),
	Q(EPERM, clone, 0x08000011), Q(EPERM, clone, 0x10000011), Q(EPERM, clone, 0x20000011),
	Q(EPERM, clone, 0x40000011), Q(EPERM, clone, HIGH | 0x10000011), Q(0, clone, 0x3d0f00),
	Q(0, clone, 0x11), Q(0, clone, 0x1200011),
	Q(EPERM, mknodat, 0, 0, 0020666), Q(EPERM, mknodat, 0, 0, 0060666),
	Q(EPERM, mknodat, 0, 0, HIGH | 0020000), Q(EPERM, mknodat, 0, 0, HIGH | 0060000),
	Q(0, mknodat, 0, 0, 0010666), Q(0, mknodat, 0, 0, 0140666), Q(0, mknodat, 0, 0, 0100666),
	Q(EPERM, personality, 8), Q(EPERM, personality, 0x0400000), Q(EPERM, personality, HIGH | 8),
	Q(0, personality, 0), Q(0, personality, 0xffffffff), Q(0, personality, 0x0040000),
	Q(EPERM, ioctl, 0, 0x5412), Q(EPERM, ioctl, 0, 0x541c), Q(EPERM, ioctl, 0, 0x5423),
	Q(EPERM, ioctl, 0, HIGH | 0x5412), Q(EPERM, ioctl, 0, HIGH | 0x541c),
	Q(EPERM, ioctl, 0, HIGH | 0x5423), Q(0, ioctl, 0, 0x5413),
	Q(EPERM, prlimit64, 0, 4, 1), Q(EPERM, prlimit64, 0, HIGH | 4, 1), Q(0, prlimit64, 0, 4),
	Q(0, prlimit64, 0, 7, 1), Q(EPERM, prlimit64, 1, 7, 1), Q(EPERM, prlimit64, HIGH | 1, 7, 1),
	Q(0, prlimit64, 1, 7), Q(EPERM, setrlimit, 4), Q(EPERM, setrlimit, HIGH | 4),
	Q(0, setrlimit, 7),
	/* unix; IPv4 and IPv6 with 0, ICMP, TCP, UDP, MPTCP; the routes of netlink. */
	Q(0, socket, 1, 1), Q(0, socket, 1, 2), Q(0, socket, 1, 5),
	Q(0, socket, 2, 1), Q(0, socket, 2, 2, 1), Q(0, socket, 2, 1, 6), Q(0, socket, 2, 2, 17),
	Q(0, socket, 2, 1, 262), Q(0, socket, 10, 1), Q(0, socket, 10, 2, 58), Q(0, socket, 10, 1, 6),
	Q(0, socket, 10, 2, 17), Q(0, socket, 10, 1, 262), Q(0, socket, 16, 3), Q(0, socket, 16, 2),
	Q(EPERM, socket, 2, 3), Q(EPERM, socket, 2, 3, 1), Q(EPERM, socket, 2, 02000003, 1),
	Q(EPERM, socket, 2, 10), Q(EPERM, socket, 2, 10, 1), Q(EPERM, socket, 10, 3),
	Q(EPERM, socket, 10, 3, 58), Q(EPERM, socket, HIGH | 2, HIGH | 3, 1),
	Q(EPROTONOSUPPORT, socket, 2, 1, 132), Q(EPROTONOSUPPORT, socket, 2, 2, 136),
	Q(EPROTONOSUPPORT, socket, 10, 1, 132), Q(EPROTONOSUPPORT, socket, 10, 2, 136),
	Q(EAFNOSUPPORT, socket, 16, 3, 9), Q(EAFNOSUPPORT, socket, 16, 3, 12),
	Q(EAFNOSUPPORT, socket, 16, 3, 15), Q(EAFNOSUPPORT, socket, 17, 3),
	Q(EAFNOSUPPORT, socket, 38, 5), Q(EAFNOSUPPORT, socket, 40, 1),
	Q(EAFNOSUPPORT, socket, HIGH | 40, 1), Q(EAFNOSUPPORT, socket, 44, 3),
	Q(EAFNOSUPPORT, socket, 30, 2), Q(EAFNOSUPPORT, socket, 29, 3, 1),
	Q(0, socketpair, 1, 1), Q(EAFNOSUPPORT, socketpair, 30, 1), Q(EAFNOSUPPORT, socketpair, 40, 1),
	Q(EOPNOTSUPP, fallocate),
#ifdef __x86_64__
	Q(ENOSYS, uselib), Q(ENOSYS, _sysctl), Q(ENOSYS, sysfs), Q(ENOSYS, ustat),
	Q(ENOSYS, modify_ldt), Q(EPERM, iopl, 3), Q(EPERM, ioperm, 0x80, 1, 1),
	Q(EPERM, mknod, 0, 0020666), Q(EPERM, mknod, 0, 0060666), Q(EPERM, mknod, 0, HIGH | 0020000),
	Q(0, mknod, 0, 0010666),
#endif
	/* What every program needs. */
	Q(0, read), Q(0, write), Q(0, openat), Q(0, execve), Q(0, execveat), Q(0, mmap), Q(0, futex),
	Q(0, prctl), Q(0, capset), Q(0, pidfd_open), Q(0, memfd_create), Q(0, kill), Q(0, seccomp),
	Q(0, landlock_restrict_self), Q(0, setresuid), Q(0, setgroups), Q(0, shmget), Q(0, mq_open),
};

/* The first rule that fits, as the filter has it: test-seccomp shows that the two agree. */
static uint32_t answer(const struct seccomp_rule *rules, size_t n, size_t without,
	const struct question *q)
{
	for (size_t i = 0; i < n; i++) {
		bool fits = i != without && rules[i].nr == q->nr;
		for (int k = 0; k < SECCOMP_CONDITIONS && fits; k++) {
			const struct seccomp_condition *c = &rules[i].when[k];
			uint64_t arg = c->arg < 3 ? q->args[c->arg] : 0;
			if (c->test == SECCOMP_EQUAL)
				fits = ((uint32_t)arg & c->mask) == c->value;
			else if (c->test == SECCOMP_ANY_BIT)
				fits = (uint32_t)arg & c->mask;
			else if (c->test == SECCOMP_NOT_NULL)
				fits = arg;
		}
		if (fits)
			return rules[i].action;
	}
	return SECCOMP_ALLOW;
}

static uint32_t wanted(const struct question *q)
{
	return q->sysno ? SECCOMP_ERRNO(q->sysno) : SECCOMP_ALLOW;
}

static bool all_as_wanted(const struct seccomp_rule *rules, size_t n, size_t without)
{
	for (size_t i = 0; i < array_size(questions); i++)
		if (answer(rules, n, without, &questions[i]) != wanted(&questions[i]))
			return false;
	return true;
}

static void test_every_call_has_the_answer_of_the_design(void **state)
{
	size_t n;
	auto_free struct seccomp_rule *rules = policy_rules(&(struct policy){ true }, &n);

	(void)state;
	for (size_t i = 0; i < array_size(questions); i++) {
		const struct question *q = &questions[i];
		if (answer(rules, n, n, q) != wanted(q))
			fail_msg("%s(%#llx, %#llx, %#llx): %#x", q->name, (unsigned long long)q->args[0],
				(unsigned long long)q->args[1], (unsigned long long)q->args[2],
				answer(rules, n, n, q));
	}
}

static void test_without_any_one_rule_an_answer_changes(void **state)
{
	size_t n;
	auto_free struct seccomp_rule *rules = policy_rules(&(struct policy){ true }, &n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		if (all_as_wanted(rules, n, i))
			fail_msg("rule %zu, %s, could be left out and no answer would change", i,
				rules[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_call_has_the_answer_of_the_design),
		cmocka_unit_test(test_without_any_one_rule_an_answer_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
