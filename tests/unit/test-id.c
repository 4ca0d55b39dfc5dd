#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/id.h"

static void grammar(void **state)
{
	static const char *const good[] = { "a", "0", "a.b", "a_b-c.d", "sess_abc", "x..y",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	static const char *const bad[] = { "", ".", "..", "-a", "_a", ".a", "A", "aB", "a/b", "a b",
		"a\n", "\xc3\xa9", "a\x7f", "a:b", "../a", "a\\",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!id_is_valid(good[i]))
			fail_msg("'%s' is refused", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (id_is_valid(bad[i]))
			fail_msg("'%s' is taken", bad[i]);
}

static void made_ids_are_valid_and_differ(void **state)
{
	char ids[1000][ID_TEXT];

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		id_make("sess_", ids[i]);
		assert_true(id_is_valid(ids[i]));
		assert_int_equal(strlen(ids[i]), 5 + 26);
		assert_memory_equal(ids[i], "sess_", 5);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
	}
}

/* Each of the 26 digits takes each of its 32 values: no bit is stuck. */
static void all_bits_are_random(void **state)
{
	uint32_t seen[26] = { 0 };
	char id[ID_TEXT];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		id_make("", id);
		for (size_t k = 0; k < 26; k++)
			seen[k] |= 1u << (id[k] >= 'a' ? id[k] - 'a' : id[k] - '2' + 26);
	}
	for (size_t k = 0; k < 26; k++)
		assert_int_equal(seen[k], UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grammar),
		cmocka_unit_test(made_ids_are_valid_and_differ),
		cmocka_unit_test(all_bits_are_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
