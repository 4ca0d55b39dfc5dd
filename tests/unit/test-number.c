#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/limits.h"
#include "base/number.h"

typedef int parser(const char *, uint64_t, uint64_t, uint64_t *, struct fault *);

static const struct good {
	parser *parse;
	const char *s;
	uint64_t value;
} goods[] = {
	{ number_parse_uint, "0", 0 },
	{ number_parse_uint, "9223372036854775807", INT64_MAX },
	{ number_parse_uint, "007", 7 },
	{ number_parse_size, "512", 512 },
	{ number_parse_size, "2Gi", 2 * GIB },
	{ number_parse_size, "2G", 2 * GIB },
	{ number_parse_size, "1.5Gi", 3 * GIB / 2 },
	{ number_parse_size, "512MiB", 512 * MIB },
	{ number_parse_size, "10g", 10 * GIB },
	{ number_parse_size, "0.5K", 512 },
	{ number_parse_time, "600", 600000 },
	{ number_parse_time, "1.5", 1500 },
	{ number_parse_time, "250ms", 250 },
	{ number_parse_time, "90s", 90000 },
	{ number_parse_time, "5m", 300000 },
	{ number_parse_time, "2h", 7200000 },
	{ number_parse_time, "7d", 604800000 },
	{ number_parse_cpu, "2", 2000 },
	{ number_parse_cpu, "0.25", 250 },
	{ number_parse_cpu, "1.5", 1500 },
};

static const struct bad {
	parser *parse;
	const char *s;
} bads[] = {
	{ number_parse_uint, "" }, { number_parse_uint, "-1" }, { number_parse_uint, "+1" },
	{ number_parse_uint, " 1" }, { number_parse_uint, "1 " }, { number_parse_uint, "0x10" },
	{ number_parse_uint, "1e3" }, { number_parse_uint, "1.5" }, { number_parse_uint, "1k" },
	{ number_parse_uint, "18446744073709551616" }, { number_parse_uint, "9223372036854775808" },
	{ number_parse_size, "2 G" }, { number_parse_size, "2Gb" }, { number_parse_size, "G" },
	{ number_parse_size, "2Pi" }, { number_parse_size, ".5G" }, { number_parse_size, "1.G" },
	{ number_parse_size, "1.5" }, { number_parse_size, "99999999999999999999T" },
	{ number_parse_size, "1.2.3G" }, { number_parse_size, "inf" }, { number_parse_size, "2GiBB" },
	{ number_parse_time, "5min" }, { number_parse_time, "1h30m" }, { number_parse_time, "s" },
	{ number_parse_time, "0.5ms" }, { number_parse_time, "-5s" }, { number_parse_time, "5S" },
	{ number_parse_cpu, "1.5.5" }, { number_parse_cpu, "50%" }, { number_parse_cpu, "nan" },
};

static void parses_what_people_write(void **state)
{
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
		uint64_t v = 12345;
		int r = goods[i].parse(goods[i].s, 0, INT64_MAX, &v, &f);
		if (r || v != goods[i].value)
			fail_msg("'%s' gave %llu (%d)", goods[i].s, (unsigned long long)v, r);
	}
}

static void refuses_the_rest_and_leaves_the_result_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
		struct fault f = { 0 };
		uint64_t v = 12345;
		int r = bads[i].parse(bads[i].s, 0, INT64_MAX, &v, &f);
		if (r != -FAULT_USAGE || v != 12345 || !strstr(f.text, bads[i].s))
			fail_msg("'%s' gave %d, %llu, '%s'", bads[i].s, r, (unsigned long long)v, f.text);
	}
}

static void range_is_part_of_the_message(void **state)
{
	struct fault f;
	uint64_t v;

	(void)state;
	assert_int_equal(number_parse_size("1Ki", 16 * MIB, 4 * GIB, &v, &f), -FAULT_USAGE);
	assert_string_equal(f.text, "'1Ki' is out of range; from 16 MiB to 4 GiB is possible");
	assert_int_equal(number_parse_time("3h", 1000, 7200000, &v, &f), -FAULT_USAGE);
	assert_string_equal(f.text, "'3h' is out of range; from 1 s to 2 h is possible");
	assert_int_equal(number_parse_cpu("0.001", 10, 64000, &v, &f), -FAULT_USAGE);
	assert_string_equal(f.text, "'0.001' is out of range; from 0.01 to 64 is possible");
	assert_int_equal(number_parse_uint("7", 8, 9, &v, &f), -FAULT_USAGE);
	assert_int_equal(number_parse_uint("8", 8, 9, &v, &f), 0);
	assert_int_equal(number_parse_uint("9", 8, 9, &v, &f), 0);
	assert_int_equal(number_parse_uint("10", 8, 9, &v, &f), -FAULT_USAGE);
}

static void cpu_has_at_most_three_decimals(void **state)
{
	struct fault f;
	uint64_t v;

	(void)state;
	assert_int_equal(number_parse_cpu("0.001", 0, 5000, &v, &f), 0);
	assert_int_equal(v, 1);
	assert_int_equal(number_parse_cpu("0.0001", 0, 5000, &v, &f), -FAULT_USAGE);
}

static void formats_for_people(void **state)
{
	char b[NUMBER_TEXT_MAX];

	(void)state;
	assert_string_equal(number_format_size(0, b), "0 B");
	assert_string_equal(number_format_size(1023, b), "1023 B");
	assert_string_equal(number_format_size(1024, b), "1 KiB");
	assert_string_equal(number_format_size(3 * GIB / 2, b), "1.5 GiB");
	assert_string_equal(number_format_size(UINT64_MAX, b), "16777216 TiB");
	assert_string_equal(number_format_cpu(2000, b), "2");
	assert_string_equal(number_format_cpu(1500, b), "1.5");
	assert_string_equal(number_format_cpu(10, b), "0.01");
	assert_string_equal(number_format_cpu(0, b), "0");
	assert_string_equal(number_format_time(999, b), "999 ms");
	assert_string_equal(number_format_time(90000, b), "1.5 min");
	assert_string_equal(number_format_time(604800000, b), "7 d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_what_people_write),
		cmocka_unit_test(refuses_the_rest_and_leaves_the_result_alone),
		cmocka_unit_test(range_is_part_of_the_message),
		cmocka_unit_test(cpu_has_at_most_three_decimals),
		cmocka_unit_test(formats_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
