#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

static void known_times_are_written_and_read(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} known[] = {
		{ 0, "1970-01-01T00:00:00.000000Z" },
		{ 951782400000001, "2000-02-29T00:00:00.000001Z" },
		{ 1709251199999999, "2024-02-29T23:59:59.999999Z" },
		{ 4107542400000000, "2100-03-01T00:00:00.000000Z" },
	};
	char buf[CLOCK_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		assert_string_equal(clock_format(known[i].us, buf), known[i].text);
		assert_int_equal(clock_parse(known[i].text), known[i].us);
	}
}

/* Against the C library, a day and a bit more at a time over 400 years. */
static void every_day_is_as_the_library_has_it(void **state)
{
	char buf[CLOCK_TEXT_MAX], want[CLOCK_TEXT_MAX];

	(void)state;
	for (int64_t s = 0; s < 400ll * 366 * 86400; s += 86400 + 3607) {
		time_t t = (time_t)s;
		struct tm tm;
		gmtime_r(&t, &tm);
		strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S.000000Z", &tm);
		assert_string_equal(clock_format(s * 1000000, buf), want);
		assert_int_equal(clock_parse(buf), s * 1000000);
	}
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const wrong[] = { "", "2026", "2026-11-29T19:15:12Z",
		"2026-11-29T19:15:12.123456Zx", "2026-11-29 19:15:12.123456Z",
		"2026-13-29T19:15:12.123456Z", "2026-02-29T19:15:12.123456Z", "2026-11-29T25:15:12.123456Z",
		"2026-11- 9T19:15:12.123456Z", "+026-11-29T19:15:12.123456Z", "2026-11-29T19:15:12.-23456Z",
		"1969-12-31T23:59:59.000000Z" };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(clock_parse(wrong[i]), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_times_are_written_and_read),
		cmocka_unit_test(every_day_is_as_the_library_has_it),
		cmocka_unit_test(what_is_no_time_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
