#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/near.h"

static const char *const words[] = { "memory", "name", "pids", "timeout", "network", "cpu" };

static const char *find(const char *word)
{
	const char *near = near_find(word, words, sizeof words / sizeof *words);

	return near ? near : "";
}

static void one_slip_is_found(void **state)
{
	(void)state;
	assert_string_equal(find("memroy"), "memory");
	assert_string_equal(find("memor"), "memory");
	assert_string_equal(find("memoryy"), "memory");
	assert_string_equal(find("mamory"), "memory");
	assert_string_equal(find("tiemout"), "timeout");
	assert_string_equal(find("pid"), "pids");
	assert_string_equal(find("networks"), "network");
	assert_string_equal(find("memory"), "memory");
}

static void strangers_are_not(void **state)
{
	(void)state;
	assert_string_equal(find("xyzzy"), "");
	assert_string_equal(find("directory"), "");
	assert_null(near_find("memory", words, 0));
	assert_null(near_find("", (const char *const[]){ "abc" }, 1));
}

static void words_of_any_length(void **state)
{
	char word[5000];

	(void)state;
	memset(word, 'm', sizeof word - 1);
	word[sizeof word - 1] = 0;
	find(word);
	const char *const longs[] = { word };
	assert_null(near_find("memory", longs, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slip_is_found),
		cmocka_unit_test(strangers_are_not),
		cmocka_unit_test(words_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
