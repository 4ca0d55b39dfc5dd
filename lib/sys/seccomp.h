/*
 * System call filters: rules → a BPF program in the shape of a binary tree.
 *
 *	struct seccomp_rule rules[] = {
 *		{ SYS_mount, SECCOMP_ERRNO(EPERM) },
 *		{ SYS_ioctl, SECCOMP_ERRNO(EPERM), { { 1, SECCOMP_EQUAL, ~0u, TIOCSTI } } },
 *	};
 *	struct seccomp_program p = { 0 };
 *	seccomp_build(rules, n, KERNEL_NR_MAX, &p);
 *	seccomp_apply(p.insn, p.n);
 *
 * A tree, because the kernel runs the filter once for every system call number when it
 * is loaded: the length of a path counts, not that of the program (35 µs instead of 154,
 * 9-jail-measured 4). Of several rules for one call the first that fits decides; a call
 * without one is allowed. Calls above the highest known number give ENOSYS, those of
 * another architecture kill.
 *
 * Arguments are compared by their low 32 bits: the kernel takes an int from a register
 * and ignores the rest, so a comparison of all 64 can be evaded (CVE-2019-10063).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sys/kernel.h"

#define SECCOMP_ALLOW    0x7fff0000u
#define SECCOMP_KILL     0x80000000u
#define SECCOMP_ERRNO(e) (0x00050000u | (uint32_t)(e))

enum seccomp_test {
	SECCOMP_NONE,    /* no condition; ends the list */
	SECCOMP_EQUAL,   /* (low & mask) == value */
	SECCOMP_ANY_BIT, /* (low & mask) != 0 */
	SECCOMP_NOT_NULL /* a pointer: any of the 64 bits */
};

struct seccomp_condition {
	uint32_t arg; /* 0 to 5 */
	enum seccomp_test test;
	uint32_t mask, value;
};

enum { SECCOMP_CONDITIONS = 3, SECCOMP_INSN_MAX = 4096 };

/* Which instruction of a program says what becomes of calls of another architecture. */
enum { SECCOMP_FOREIGN_INSN = 2 };

struct seccomp_rule {
	uint32_t nr;
	uint32_t action; /* SECCOMP_… */
	struct seccomp_condition when[SECCOMP_CONDITIONS]; /* all of them */
	const char *name; /* of the call; for people */
};

struct seccomp_program {
	size_t n;
	struct kernel_filter insn[SECCOMP_INSN_MAX];
};

/*
 * seccomp_build - makes a program from rules
 * @rules:   in any order; those of one call in theirs
 * @nr_max:  highest system call number that is known
 *
 * Returns: 0; -E2BIG when the program gets too long.
 */
int seccomp_build(const struct seccomp_rule *rules, size_t n, uint32_t nr_max,
	struct seccomp_program *p);

/* AUDIT_ARCH_… of this machine. Source: linux/audit.h. */
uint32_t seccomp_arch(void);

/* For the calling process from now on; needs no_new_privs. 0, or -errno. */
int seccomp_apply(const struct kernel_filter *insn, size_t n);
