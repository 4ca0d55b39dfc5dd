/* Numbers, times, names and near misses, as people write them. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/near.h"
#include "base/number.h"
#include "fuzz.h"

typedef int parse_fn(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f);

static void check_number(parse_fn *parse, const char *s, uint64_t max)
{
	enum { UNTOUCHED = 77, MIN = 3 };
	uint64_t v = UNTOUCHED;
	struct fault f;
	int r = parse(s, MIN, max, &v, &f);

	if (r < 0) {
		fuzz_check_fault(r, &f);
		fuzz_check(v == UNTOUCHED);
	} else {
		fuzz_check(r == 0 && v >= MIN && v <= max);
	}
}

/* What is written is read again, exactly. */
static void check_cpu(const char *s)
{
	char buf[NUMBER_TEXT_MAX];
	uint64_t v, again;
	struct fault f;

	if (number_parse_cpu(s, 0, UINT64_MAX, &v, &f) == 0)
		fuzz_check(number_parse_cpu(number_format_cpu(v, buf), 0, UINT64_MAX, &again, &f) == 0 &&
			again == v);
}

static void check_time(const char *s)
{
	char buf[CLOCK_TEXT_MAX];
	int64_t us = clock_parse(s);

	fuzz_check(us >= -1);
	if (us >= 0)
		fuzz_check(!strcmp(clock_format(us, buf), s));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static parse_fn *const parsers[] = { number_parse_uint, number_parse_size, number_parse_time,
		number_parse_cpu };
	static const char *const words[] = { "memory", "cpu", "disk", "" };
	char *s = fuzz_string(p, n), buf[NUMBER_TEXT_MAX];
	uint64_t v;
	struct fault f;

	for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++) {
		check_number(parsers[i], s, UINT64_MAX);
		check_number(parsers[i], s, INT64_MAX);
		if (parsers[i](s, 0, UINT64_MAX, &v, &f) == 0) {
			number_format_size(v, buf);
			number_format_time(v, buf);
		}
	}
	check_cpu(s);
	check_time(s);
	if (id_is_valid(s))
		fuzz_check(strlen(s) <= ID_MAX && !strpbrk(s, "/ \n") && s[0] != '.' && s[0] != '-');
	near_find(s, words, sizeof words / sizeof *words);
	free(s);
	return 0;
}
