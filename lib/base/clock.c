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

/* The day of the Gregorian calendar that is so many days after 1970-01-01. gmtime_r(3) would
 * read the time zone from a file first. Years begin in March here, so that the odd day is
 * the last, and 400 of them (an era) have 146097 days. */
static void civil(int64_t day, int *ret_year, int *ret_month, int *ret_date)
{
	int64_t z = day + 719468, era = z / 146097, in_era = z % 146097;
	int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * in_year + 2) / 153;

	*ret_date = (int)(in_year - (153 * month + 2) / 5 + 1);
	*ret_month = (int)(month < 10 ? month + 3 : month - 9);
	*ret_year = (int)(year + era * 400 + (*ret_month <= 2));
}

const char *clock_format(int64_t wall_us, char buf[CLOCK_TEXT_MAX])
{
	int64_t s = wall_us / 1000000, day = s / 86400;
	int year, month, date;

	civil(day, &year, &month, &date);
	s -= day * 86400;
	/* Unsigned remainders: the compiler sees that the text fits. */
	unsigned second = (unsigned)s % 86400, us = (unsigned)(wall_us % 1000000) % 1000000;
	snprintf(buf, CLOCK_TEXT_MAX, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", (unsigned)year % 10000,
		(unsigned)month % 100, (unsigned)date % 100, second / 3600, second / 60 % 60,
		second % 60, us);
	return buf;
}

/* The other way round. */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
	int64_t y = year - (month <= 2), m = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 - 719468;
}

int64_t clock_parse(const char *s)
{
	char again[CLOCK_TEXT_MAX];
	struct tm tm = { 0 };
	int us = 0;

	if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &us) != 7)
		return -1;
	int64_t wall_us = days(tm.tm_year, tm.tm_mon, tm.tm_mday) * 86400000000 +
		((int64_t)tm.tm_hour * 3600 + (int64_t)tm.tm_min * 60 + tm.tm_sec) * 1000000 + us;
	/* Blanks, signs, a 13th month: that is no time that was written here. */
	return wall_us >= 0 && !strcmp(clock_format(wall_us, again), s) ? wall_us : -1;
}
