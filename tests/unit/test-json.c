#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"

static void commas_come_by_themselves(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	json_open(&t, '{');
	json_put_string(&t, "a", "b");
	json_put_int(&t, "n", INT64_MIN);
	json_key(&t, "list");
	json_open(&t, '[');
	json_bool(&t, true);
	json_null(&t);
	json_open(&t, '[');
	json_close(&t, ']');
	json_open(&t, '{');
	json_close(&t, '}');
	json_raw(&t, "1.5", 3);
	json_close(&t, ']');
	json_put_bool(&t, "z", false);
	json_put_string(&t, "none", NULL);
	json_close(&t, '}');
	assert_string_equal(t.data, "{\"a\":\"b\",\"n\":-9223372036854775808,\"list\":[true,null,[],{},1.5],"
				    "\"z\":false,\"none\":null}");
}

/* A string that ends like an opening must not swallow the comma behind it. */
static void strings_that_look_like_brackets(void **state)
{
	static const char *const ends[] = { "{", "[", ":", "\n", "\\", "\"", "," };

	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		auto_text struct text t = { 0 };
		json_open(&t, '[');
		json_string(&t, ends[i]);
		json_int(&t, 1);
		json_close(&t, ']');
		assert_non_null(strstr(t.data, "\",1]"));
	}
}

static void every_control_character_is_escaped(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		auto_text struct text t = { 0 };
		char byte = (char)c;
		json_bytes(&t, &byte, 1);
		for (size_t i = 0; i < t.n; i++)
			assert_true((unsigned char)t.data[i] >= 0x20 && t.data[i] != 0x7f);
		if (c >= 0x80)
			assert_string_equal(t.data, "\"\xef\xbf\xbd\"");
	}
}

static void wrong_utf8_costs_one_replacement_a_byte(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	json_bytes(&t, "a\xc3\xa9\xff\xe2\x82", 6);
	assert_string_equal(t.data, "\"a\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void base64_pads(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = { { "", "\"\"" }, { "f", "\"Zg==\"" }, { "fo", "\"Zm8=\"" }, { "foo", "\"Zm9v\"" },
		{ "foob", "\"Zm9vYg==\"" }, { "\xff\xfe\xfd", "\"//79\"" } }; /* RFC 4648, 10 */

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_text struct text t = { 0 };
		json_base64(&t, rows[i].in, strlen(rows[i].in));
		assert_string_equal(t.data, rows[i].out);
	}
}

static void a_name_that_is_no_utf8_keeps_its_bytes(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	json_open(&t, '{');
	json_put_name(&t, "path", "a", 1);
	json_put_name(&t, "old", "\xff", 1);
	json_close(&t, '}');
	assert_string_equal(t.data,
		"{\"path\":\"a\",\"old\":\"\xef\xbf\xbd\",\"old_base64\":\"/w==\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_come_by_themselves),
		cmocka_unit_test(strings_that_look_like_brackets),
		cmocka_unit_test(every_control_character_is_escaped),
		cmocka_unit_test(wrong_utf8_costs_one_replacement_a_byte),
		cmocka_unit_test(base64_pads),
		cmocka_unit_test(a_name_that_is_no_utf8_keeps_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
