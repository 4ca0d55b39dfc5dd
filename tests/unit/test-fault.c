#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/fault.h"

static void set_says_kind_place_and_cause(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(fault_set(&f, FAULT_DENIED, EPERM, "mount %s", "/proc"), -FAULT_DENIED);
	assert_string_equal(f.text, "mount /proc: Operation not permitted");
	assert_int_equal(f.sysno, EPERM);
	assert_non_null(strstr(f.file, "test-fault.c"));
	assert_true(f.line > 0);
}

static void set_may_use_its_own_text(void **state)
{
	struct fault f;

	(void)state;
	fault_set(&f, FAULT_SYSTEM, 0, "inner");
	fault_set(&f, FAULT_FORMAT, 0, "outer: %s", f.text);
	assert_string_equal(f.text, "outer: inner");
}

static void wrap_cuts_the_context_not_the_cause(void **state)
{
	struct fault f;
	char longer[400];

	(void)state;
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	fault_set(&f, FAULT_BUSY, 0, "cause");
	assert_int_equal(fault_wrap(&f, "session '%s'", "s1"), -FAULT_BUSY);
	assert_string_equal(f.text, "session 's1': cause");
	fault_wrap(&f, "%s", longer);
	assert_int_equal(strlen(f.text), sizeof f.text - 1);
	assert_string_equal(f.text + sizeof f.text - 1 - strlen("session 's1': cause"),
		"session 's1': cause");
	fault_set(&f, FAULT_BUSY, EIO, "%s", longer);
	assert_int_equal(strlen(f.text), sizeof f.text - 1);
	fault_wrap(&f, "context");
	assert_int_equal(strlen(f.text), sizeof f.text - 1);
}

/* Arguments come from people and from inside. */
static void an_argument_with_a_newline_makes_no_second_line(void **state)
{
	struct fault f;

	(void)state;
	fault_set(&f, FAULT_USAGE, 0, "'%s' is not a number", "5\nsbx: all is well\033[2K\x7f");
	assert_string_equal(f.text, "'5?sbx: all is well?[2K?' is not a number");
	fault_wrap(&f, "line %s", "\r\n\xc3\xa9");
	assert_string_equal(f.text, "line ??\xc3\xa9: '5?sbx: all is well?[2K?' is not a number");
}

static void import_trusts_nothing(void **state)
{
	struct fault f = { .kind = FAULT_LIMIT, .file = (const char *)1, .line = 7 };

	(void)state;
	memset(f.text, 'a', sizeof f.text);
	memcpy(f.text, "x\n\x1b[31m\xff", 8);
	assert_int_equal(fault_import(&f), -FAULT_LIMIT);
	assert_null(f.file);
	assert_int_equal(f.line, 0);
	assert_int_equal(strlen(f.text), sizeof f.text - 1);
	assert_memory_equal(f.text, "x??[31m?aa", 10);
	f.kind = FAULT_MAX;
	assert_int_equal(fault_import(&f), -FAULT_BUG);
	f.kind = (enum fault_kind)-5;
	assert_int_equal(fault_import(&f), -FAULT_BUG);
	f.kind = FAULT_NONE;
	assert_int_equal(fault_import(&f), -FAULT_BUG);
}

static void codes_and_names_are_unique(void **state)
{
	(void)state;
	assert_int_equal(fault_exit_code(FAULT_USAGE), 2);
	assert_int_equal(fault_exit_code(FAULT_NOT_FOUND), 3);
	assert_int_equal(fault_exit_code(FAULT_BUG), 70);
	for (int a = 0; a < FAULT_MAX; a++)
		for (int b = 0; b < a; b++) {
			assert_int_not_equal(fault_exit_code(a), fault_exit_code(b));
			assert_string_not_equal(fault_kind_name(a), fault_kind_name(b));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_says_kind_place_and_cause),
		cmocka_unit_test(set_may_use_its_own_text),
		cmocka_unit_test(wrap_cuts_the_context_not_the_cause),
		cmocka_unit_test(an_argument_with_a_newline_makes_no_second_line),
		cmocka_unit_test(import_trusts_nothing),
		cmocka_unit_test(codes_and_names_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
