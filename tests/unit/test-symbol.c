#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <limits.h>
#include <signal.h>

#include "base/symbol.h"

static void names_are_those_of_glibc(void **state)
{
	(void)state;
	for (int i = -2; i < 4100; i++) {
		const char *ours = symbol_errno(i), *theirs = i ? strerrorname_np(i) : NULL;
		if (!ours != !theirs || (ours && strcmp(ours, theirs)))
			fail_msg("errno %d: %s, %s", i, ours, theirs);
	}
	for (int i = -2; i < SIGRTMIN; i++) {
		const char *ours = symbol_signal(i), *theirs = sigabbrev_np(i);
		if (!ours != !theirs || (ours && strcmp(ours, theirs)))
			fail_msg("signal %d: %s, %s", i, ours, theirs);
	}
	assert_null(symbol_errno(INT_MIN));
	assert_null(symbol_signal(INT_MAX));
	assert_null(symbol_signal(SIGRTMIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_glibc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
