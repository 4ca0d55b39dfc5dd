#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

static void an_empty_text_is_a_string(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	assert_string_equal(text_string(&t), "");
	text_put(&t, "");
	assert_int_equal(t.n, 0);
	assert_string_equal(text_string(&t), "");
	text_clear(&t);
	assert_string_equal(text_string(&t), "");
}

static void grows_over_many_sizes(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		text_put_char(&t, (char)('a' + i % 26));
	assert_int_equal(t.n, 100000);
	assert_int_equal(t.data[t.n], 0);
	assert_int_equal(strlen(t.data), 100000);
	assert_int_equal(t.data[99999], 'a' + 99999 % 26);
}

static void keeps_bytes_with_nul(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	text_put_bytes(&t, "a\0b", 3);
	text_put(&t, "c");
	assert_int_equal(t.n, 4);
	assert_memory_equal(t.data, "a\0bc", 5);
}

static void format_takes_any_length(void **state)
{
	(void)state;
	for (int n = 0; n < 400; n++) {
		auto_text struct text t = { 0 };
		text_put(&t, ">");
		text_format(&t, "%*s|", n, "");
		assert_int_equal(t.n, n + 2);
		assert_int_equal(t.data[t.n - 1], '|');
		assert_int_equal(t.data[t.n], 0);
	}
}

static void reserve_gives_room_behind_the_end(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	text_put(&t, "abc");
	char *to = text_reserve(&t, 5000);
	assert_ptr_equal(to, t.data + 3);
	memset(to, 'x', 5000);
	text_grew(&t, 5000);
	assert_int_equal(t.n, 5003);
	assert_int_equal(t.data[5003], 0);
	text_clear(&t);
	assert_int_equal(t.n, 0);
	assert_string_equal(t.data, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_text_is_a_string),
		cmocka_unit_test(grows_over_many_sizes),
		cmocka_unit_test(keeps_bytes_with_nul),
		cmocka_unit_test(format_takes_any_length),
		cmocka_unit_test(reserve_gives_room_behind_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
