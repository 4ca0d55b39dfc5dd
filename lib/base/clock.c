#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static int64_t read_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t clock_now_ms(void)
{
	return clock_now_us() / 1000;
}

int64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}

const char *clock_format(int64_t wall_us, char buf[CLOCK_TEXT_MAX])
{
	time_t s = (time_t)(wall_us / 1000000);
	struct tm tm;

	gmtime_r(&s, &tm);
	size_t n = strftime(buf, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, CLOCK_TEXT_MAX - n, ".%06dZ", (int)(wall_us % 1000000));
	return buf;
}

/* Days since 1970 of a day of the Gregorian calendar. timegm(3) would read the time zone from
 * a file first. Years begin in March here, so that the odd day is the last. */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
	int64_t y = year - (month <= 2), m = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 - 719468;
}

int64_t clock_parse(const char *s)
{
	struct tm tm = { 0 };
	int n = 0, us = 0;

	if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &us, &n) != 7 || s[n])
		return -1;
	return days(tm.tm_year, tm.tm_mon, tm.tm_mday) * 86400000000 +
		((int64_t)tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * 1000000 + us;
}
