/* The filter as the kernel would run it, against the rules read one by one. */
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

/* The few instructions that there are; anything else fails. Returns the steps taken. */
static size_t run(const struct seccomp_program *p, const struct kernel_seccomp_data *d,
	uint32_t *ret_action)
{
	uint32_t a = 0;
	size_t steps = 0;

	for (size_t at = 0;; at++) {
		assert_true(at < p->n && ++steps < 4096);
		const struct kernel_filter *i = &p->insn[at];
		switch (i->code) {
		case 0x20:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof *d);
			memcpy(&a, (const char *)d + i->k, 4);
			break;
		case 0x54:
			a &= i->k;
			break;
		case 0x05:
			at += i->k;
			break;
		case 0x15:
			at += a == i->k ? i->jt : i->jf;
			break;
		case 0x35:
			at += a >= i->k ? i->jt : i->jf;
			break;
		case 0x45:
			at += a & i->k ? i->jt : i->jf;
			break;
		case 0x06:
			*ret_action = i->k;
			return steps;
		default:
			fail_msg("instruction %#x", i->code);
		}
	}
}

static bool holds(const struct seccomp_condition *c, const uint64_t *args)
{
	uint32_t low = (uint32_t)args[c->arg];

	switch (c->test) {
	case SECCOMP_EQUAL:
		return (low & c->mask) == c->value;
	case SECCOMP_ANY_BIT:
		return low & c->mask;
	case SECCOMP_NOT_NULL:
		return args[c->arg];
	default:
		return true;
	}
}

static uint32_t expected(const struct seccomp_rule *rules, size_t n, uint32_t nr, const uint64_t *args)
{
	if (nr > KERNEL_NR_MAX)
		return SECCOMP_ERRNO(ENOSYS);
	for (size_t i = 0; i < n; i++) {
		bool fits = rules[i].nr == nr;
		for (int k = 0; k < SECCOMP_CONDITIONS && fits; k++)
			fits = holds(&rules[i].when[k], args);
		if (fits)
			return rules[i].action;
	}
	return SECCOMP_ALLOW;
}

struct fixture {
	struct seccomp_rule *rules;
	size_t n;
	struct seccomp_program program;
};

static void check(const struct fixture *x, uint32_t nr, const uint64_t *args)
{
	struct kernel_seccomp_data d = { .nr = (int32_t)nr, .arch = seccomp_arch() };
	uint32_t action;

	memcpy(d.args, args, sizeof d.args);
	run(&x->program, &d, &action);
	if (action != expected(x->rules, x->n, nr, args))
		fail_msg("call %u (%#llx, %#llx, %#llx): %#x", nr, (unsigned long long)args[0],
			(unsigned long long)args[1], (unsigned long long)args[2], action);
}

/* All arguments alike, then each argument by itself; with and without high bits. */
static void check_value(const struct fixture *x, uint32_t nr, uint32_t value)
{
	for (int high = 0; high < 2; high++) {
		uint64_t v = value | (uint64_t)high << 32, args[6];
		for (int i = 0; i < 6; i++)
			args[i] = v;
		check(x, nr, args);
		for (int i = 0; i < 6; i++) {
			memset(args, 0, sizeof args);
			args[i] = v;
			check(x, nr, args);
		}
	}
}

static int open_policy(void **state, bool deny_fallocate)
{
	struct fixture *x = mem_new(struct fixture);

	x->rules = policy_rules(&(struct policy){ deny_fallocate }, &x->n);
	*state = x;
	return seccomp_build(x->rules, x->n, KERNEL_NR_MAX, &x->program);
}

static int setup(void **state)
{
	return open_policy(state, true);
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	free(x->rules);
	free(x);
	return 0;
}

/* Every value that a rule asks for, and its neighbours, at every call. */
static void test_filter_equals_its_rules(void **state)
{
	struct fixture *x = *state;
	uint32_t values[512];
	size_t n = 0;

	values[n++] = 0;
	values[n++] = ~0u;
	for (size_t i = 0; i < x->n; i++)
		for (int k = 0; k < SECCOMP_CONDITIONS && x->rules[i].when[k].test; k++) {
			values[n++] = x->rules[i].when[k].value;
			values[n++] = x->rules[i].when[k].value + 1;
			values[n++] = x->rules[i].when[k].mask;
			assert_true(n < array_size(values) - 3);
		}
	for (uint32_t nr = 0; nr <= 600; nr++)
		for (size_t i = 0; i < n; i++)
			check_value(x, nr, values[i]);
}

static void test_pairs_of_arguments(void **state)
{
	static const uint32_t families[] = { 0, 1, 2, 10, 16, 17, 38, 40, 44 }, types[] = { 1, 2, 3, 5, 10 },
		protocols[] = { 0, 1, 9, 12, 15 };
	static const uint64_t highs[] = { 0, 1ull << 32, 1ull << 63 };
	uint64_t args[6] = { 0 };

	for (size_t f = 0; f < array_size(families); f++)
		for (size_t t = 0; t < array_size(types); t++)
			for (size_t p = 0; p < array_size(protocols); p++)
				for (size_t h = 0; h < array_size(highs); h++) {
					args[0] = families[f] | highs[h];
					args[1] = types[t] | 02000000 | highs[h];
					args[2] = protocols[p] | highs[h];
					check(*state, SYS_socket, args);
					check(*state, SYS_socketpair, args);
				}
}

static uint32_t ask(const struct fixture *x, uint32_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	struct kernel_seccomp_data d = { .nr = (int32_t)nr, .arch = seccomp_arch(), .args = { a, b, c } };
	uint32_t action;

	run(&x->program, &d, &action);
	return action;
}

/* Written down by hand, so that an error in the table shows. */
static void test_known_answers(void **state)
{
	struct fixture *x = *state;
	uint64_t high = 1ull << 32;

	assert_int_equal(ask(x, SYS_read, 0, 0, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_execve, 0, 0, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_mount, 0, 0, 0), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_clone3, 0, 0, 0), SECCOMP_ERRNO(ENOSYS));
	assert_int_equal(ask(x, SYS_clone, 0x01200011, 0, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_clone, 0x10000011, 0, 0), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_clone, 0x10000011 | high, 0, 0), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_ioctl, 0, 0x5401, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_ioctl, 0, 0x5412 | high, 0), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_socket, 1, 1, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_socket, 2, 3 | 02000000, 0), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_socket, 2, 10, 0x300), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_socket, 2, 1, 6), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_socket, 16, 3, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_socket, 16, 3, 9), SECCOMP_ERRNO(EAFNOSUPPORT));
	assert_int_equal(ask(x, SYS_socket, 40 | high, 1, 0), SECCOMP_ERRNO(EAFNOSUPPORT));
	assert_int_equal(ask(x, SYS_prlimit64, 0, 4, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_prlimit64, 0, 4, high), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_prlimit64, 0, 7, 1), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_prlimit64, 1 | high, 0, 1), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_prlimit64, 1, 0, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_prlimit64, 2, 0, 1), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_mknodat, 0, 0, 0010644), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_mknodat, 0, 0, 0020644 | high), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_personality, 0xffffffff, 0, 0), SECCOMP_ALLOW);
	assert_int_equal(ask(x, SYS_personality, 0x0400000, 0, 0), SECCOMP_ERRNO(EPERM));
	assert_int_equal(ask(x, SYS_fallocate, 0, 0, 0), SECCOMP_ERRNO(EOPNOTSUPP));
	assert_int_equal(ask(x, KERNEL_NR_MAX + 1, 0, 0, 0), SECCOMP_ERRNO(ENOSYS));
	assert_int_equal(ask(x, 0x40000000 | 39, 0, 0, 0), SECCOMP_ERRNO(ENOSYS));
	assert_int_equal(ask(x, ~0u, 0, 0, 0), SECCOMP_ERRNO(ENOSYS));
}

static void test_fallocate_is_allowed_without_polling(void **state)
{
	void *x;

	(void)state;
	assert_int_equal(open_policy(&x, false), 0);
	assert_int_equal(ask(x, SYS_fallocate, 0, 0, 0), SECCOMP_ALLOW);
	teardown(&x);
}

static void test_another_architecture_is_killed(void **state)
{
	struct fixture *x = *state;
	static const uint32_t others[] = { 0x40000003 /* i386 */, 0x40000028 /* arm */, 0 };

	for (size_t i = 0; i < array_size(others); i++) {
		struct kernel_seccomp_data d = { .nr = SYS_read, .arch = others[i] };
		uint32_t action;
		run(&x->program, &d, &action);
		assert_int_equal(action, SECCOMP_KILL);
	}
}

/* The kernel runs it for every call when it is loaded. */
static void test_paths_are_short(void **state)
{
	struct fixture *x = *state;
	size_t total = 0;

	for (uint32_t nr = 0; nr <= KERNEL_NR_MAX; nr++) {
		struct kernel_seccomp_data d = { .nr = (int32_t)nr, .arch = seccomp_arch() };
		uint32_t action;
		total += run(&x->program, &d, &action);
	}
	assert_true(total / (KERNEL_NR_MAX + 1) <= 12);
}

/* More than 255 instructions on one side: the jump has to go by way of another. */
static void test_far_jumps(void **state)
{
	struct fixture x = { .n = 400 };

	(void)state;
	x.rules = mem_new_array(struct seccomp_rule, x.n);
	for (uint32_t i = 0; i < x.n; i++)
		x.rules[i] = (struct seccomp_rule){ .nr = i, .action = SECCOMP_ERRNO(i % 100 + 1),
			.when = { { 0, SECCOMP_EQUAL, 0xff, i % 7 }, { 1, SECCOMP_NOT_NULL, 0, 0 } } };
	assert_int_equal(seccomp_build(x.rules, x.n, KERNEL_NR_MAX, &x.program), 0);
	assert_true(x.program.n > 1024);
	for (uint32_t nr = 0; nr < 420; nr++)
		for (uint32_t v = 0; v < 8; v++)
			check_value(&x, nr, v);
	free(x.rules);
}

static void test_too_many_rules_are_refused(void **state)
{
	size_t n = 2000;
	struct seccomp_rule *rules = mem_new_array(struct seccomp_rule, n);
	struct seccomp_program *p = mem_new(struct seccomp_program);

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		rules[i] = (struct seccomp_rule){ .nr = i, .action = SECCOMP_KILL,
			.when = { { 0, SECCOMP_EQUAL, 1, 1 } } };
	assert_int_equal(seccomp_build(rules, n, 5000, p), -E2BIG);
	free(p);
	free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_filter_equals_its_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pairs_of_arguments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_known_answers, setup, teardown),
		cmocka_unit_test(test_fallocate_is_allowed_without_polling),
		cmocka_unit_test_setup_teardown(test_another_architecture_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paths_are_short, setup, teardown),
		cmocka_unit_test(test_far_jumps),
		cmocka_unit_test(test_too_many_rules_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
