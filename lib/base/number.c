#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

struct unit {
	const char *name;
	uint64_t factor;
};

#define KI 1024ull
static const struct unit size_units[] = {
	{ "", 1 }, { "B", 1 },
	{ "K", KI }, { "Ki", KI }, { "KB", KI }, { "KiB", KI }, { "k", KI },
	{ "M", KI * KI }, { "Mi", KI * KI }, { "MB", KI * KI }, { "MiB", KI * KI }, { "m", KI * KI },
	{ "G", KI * KI * KI }, { "Gi", KI * KI * KI }, { "GB", KI * KI * KI }, { "GiB", KI * KI * KI },
	{ "g", KI * KI * KI },
	{ "T", KI * KI * KI * KI }, { "Ti", KI * KI * KI * KI }, { "TiB", KI * KI * KI * KI },
	{ 0 },
};
static const struct unit time_units[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
	{ 0 },
};
static const struct unit cpu_units[] = { { "", 1000 }, { 0 } };
static const struct unit no_units[] = { { "", 1 }, { 0 } };

struct scale {
	const struct unit *units;
	const char *what;  /* "a size" */
	const char *usual; /* what to write: "512Mi or 2G" */
	void (*print)(uint64_t value, char buf[NUMBER_TEXT_MAX]);
};

static void print_plain(uint64_t v, char buf[NUMBER_TEXT_MAX])
{
	snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64, v);
}

static void print_size(uint64_t v, char buf[NUMBER_TEXT_MAX])
{
	number_format_size(v, buf);
}

static void print_time(uint64_t v, char buf[NUMBER_TEXT_MAX])
{
	number_format_time(v, buf);
}

static void print_cpu(uint64_t v, char buf[NUMBER_TEXT_MAX])
{
	number_format_cpu(v, buf);
}

static const struct scale plain = { no_units, "a whole number", "16", print_plain };
static const struct scale sizes = { size_units, "a size", "512Mi or 2G", print_size };
static const struct scale times = { time_units, "a time", "90s, 5m or 2h", print_time };
static const struct scale cpus = { cpu_units, "a number of CPUs", "2 or 1.5", print_cpu };

/* digits [ "." digits ] → value × factor; false when it is not whole or does not fit. */
static bool scaled(const char *s, size_t n, uint64_t factor, uint64_t *ret)
{
	uint64_t whole = 0, part = 0, div = 1;
	size_t i = 0;

	for (; i < n && s[i] != '.'; i++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
			__builtin_add_overflow(whole, (uint64_t)(s[i] - '0'), &whole))
			return false;
	for (i++; i < n; i++) {
		if (div > 100000000)
			return false;
		part = part * 10 + (uint64_t)(s[i] - '0');
		div *= 10;
	}
	/* part < 1e9 and factor <= 2^40: the product fits in 70 bits, so take 128. */
	unsigned __int128 fraction = (unsigned __int128)part * factor;
	/* A thousandth of a CPU and a millisecond are the least there is; of a GiB a part of a
	 * byte may be lost. */
	if (factor <= 1000 && fraction % div)
		return false;
	return !__builtin_mul_overflow(whole, factor, &whole) &&
		!__builtin_add_overflow(whole, (uint64_t)(fraction / div), ret);
}

static int parse(const struct scale *k, const char *s, uint64_t min, uint64_t max, uint64_t *ret,
	struct fault *f)
{
	size_t n = strspn(s, "0123456789"), whole = n;
	char low[NUMBER_TEXT_MAX], high[NUMBER_TEXT_MAX];
	uint64_t v = 0;

	if (whole && s[n] == '.') {
		size_t part = strspn(s + n + 1, "0123456789");
		n = part ? n + 1 + part : 0;
	}
	const struct unit *u = k->units;
	while (u->name && strcmp(u->name, s + n) != 0)
		u++;
	if (!n || !whole || !u->name)
		return fault_set(f, FAULT_USAGE, 0, "'%.40s' is not %s; write it as %s", s, k->what,
			k->usual);
	bool fits = scaled(s, n, u->factor, &v);
	if (fits && v >= min && v <= max) {
		*ret = v;
		return 0;
	}
	k->print(min, low);
	k->print(max, high);
	return fault_set(f, FAULT_USAGE, 0, "'%.40s' is out of range; from %s to %s is possible", s,
		low, high);
}

int number_parse_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f)
{
	return parse(&plain, s, min, max, ret, f);
}

int number_parse_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f)
{
	return parse(&sizes, s, min, max, ret, f);
}

int number_parse_time(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f)
{
	return parse(&times, s, min, max, ret, f);
}

int number_parse_cpu(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f)
{
	return parse(&cpus, s, min, max, ret, f);
}

const char *number_format_cpu(uint64_t thousandths, char buf[NUMBER_TEXT_MAX])
{
	int n = snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 ".%03" PRIu64, thousandths / 1000,
		thousandths % 1000);

	while (buf[n - 1] == '0')
		buf[--n] = 0;
	if (buf[n - 1] == '.')
		buf[--n] = 0;
	return buf;
}

/* The greatest unit that leaves at least 1, with one decimal where it is not whole. */
static const char *format(uint64_t v, const struct unit *units, char buf[NUMBER_TEXT_MAX])
{
	while (units[1].name && v >= units[1].factor)
		units++;
	uint64_t tenths = (uint64_t)(((unsigned __int128)v * 10 + units->factor / 2) / units->factor);
	if (tenths % 10)
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
			units->name);
	else
		snprintf(buf, NUMBER_TEXT_MAX, "%" PRIu64 " %s", tenths / 10, units->name);
	return buf;
}

const char *number_format_size(uint64_t bytes, char buf[NUMBER_TEXT_MAX])
{
	static const struct unit shown[] = {
		{ "B", 1 }, { "KiB", KI }, { "MiB", KI * KI }, { "GiB", KI * KI * KI },
		{ "TiB", KI * KI * KI * KI }, { 0 },
	};

	return format(bytes, shown, buf);
}

const char *number_format_time(uint64_t ms, char buf[NUMBER_TEXT_MAX])
{
	static const struct unit shown[] = {
		{ "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "h", 3600000 }, { "d", 86400000 }, { 0 },
	};

	return format(ms, shown, buf);
}
