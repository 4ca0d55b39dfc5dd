#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/utf8.h"

static size_t encode(uint32_t c, unsigned char b[4])
{
	if (c < 0x80) {
		b[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		b[0] = (unsigned char)(0xc0 | c >> 6);
		b[1] = (unsigned char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		b[0] = (unsigned char)(0xe0 | c >> 12);
		b[1] = (unsigned char)(0x80 | (c >> 6 & 63));
		b[2] = (unsigned char)(0x80 | (c & 63));
		return 3;
	}
	b[0] = (unsigned char)(0xf0 | c >> 18);
	b[1] = (unsigned char)(0x80 | (c >> 12 & 63));
	b[2] = (unsigned char)(0x80 | (c >> 6 & 63));
	b[3] = (unsigned char)(0x80 | (c & 63));
	return 4;
}

static void every_code_point(void **state)
{
	(void)state;
	for (uint32_t c = 0; c < 0x110000; c++) {
		unsigned char b[4];
		size_t n = encode(c, b);
		bool surrogate = c >= 0xd800 && c <= 0xdfff;
		assert_int_equal(utf8_sequence(b, n), surrogate ? 0 : n);
		for (size_t cut = 1; cut < n; cut++)
			assert_int_equal(utf8_sequence(b, n - cut), 0);
	}
}

static void refuses_long_forms_and_what_is_too_high(void **state)
{
	static const char *const bad[] = { "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
		"\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
		"\xff", "\x80", "\xc3(", "\xe2\x82(" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(utf8_sequence((const unsigned char *)bad[i], strlen(bad[i])), 0);
		assert_false(utf8_is_valid(bad[i], strlen(bad[i])));
	}
	assert_true(utf8_is_valid("", 0));
	assert_true(utf8_is_valid("a\0\xf0\x9f\x98\x80", 6));
}

static void what_is_written_is_well_formed(void **state)
{
	char buf[4];

	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		if (c == 0xd800)
			c = 0xe000;
		size_t n = utf8_write(c, buf);
		assert_int_equal(utf8_sequence((unsigned char *)buf, n), n);
	}
	assert_int_equal(utf8_write(0x20ac, buf), 3);
	assert_memory_equal(buf, "\xe2\x82\xac", 3);
	assert_int_equal(utf8_write(0x1f600, buf), 4);
	assert_memory_equal(buf, "\xf0\x9f\x98\x80", 4);
}

/* However a text is cut in two, tail and head add up to a whole sequence or nothing. */
static void cut_in_two_at_every_byte(void **state)
{
	static const char s[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
	size_t n = sizeof s - 1;

	(void)state;
	for (size_t at = 0; at <= n; at++) {
		size_t tail = utf8_cut_tail(s, at), head = utf8_cut_head(s + at, n - at);
		assert_true(utf8_is_valid(s, at - tail));
		assert_true(utf8_is_valid(s + at + head, n - at - head));
		assert_int_equal(!tail, !head);
	}
}

/* Also what turns the direction: "\u202e" makes a line read as another one. */
static void made_visible(void **state)
{
	auto_text struct text t = { 0 };
	static const char s[] = "a\tb\x7f\xc2\x9b\xc2\xa0\xff\xf0\x9f\x98\x80\xe2\x80\xae";

	(void)state;
	utf8_put_visible(&t, s, sizeof s - 1);
	assert_string_equal(t.data, "a\\x09b\\x7f\\xc2\\x9b\xc2\xa0\\xff\xf0\x9f\x98\x80\\xe2\\x80\\xae");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point),
		cmocka_unit_test(refuses_long_forms_and_what_is_too_high),
		cmocka_unit_test(what_is_written_is_well_formed),
		cmocka_unit_test(cut_in_two_at_every_byte),
		cmocka_unit_test(made_visible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
