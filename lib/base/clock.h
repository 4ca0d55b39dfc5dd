/* Time: limits use the monotonic clock, records the wall clock in UTC. */
#pragma once

#include <stdint.h>

/* [ms] and [µs] since some fixed point; never jumps. Source: clock_gettime(2) CLOCK_MONOTONIC. */
int64_t clock_now_ms(void);
int64_t clock_now_us(void);

/* [µs] since 1970 in UTC. */
int64_t clock_wall_us(void);

enum { CLOCK_TEXT_MAX = 32 };

/* "2026-11-29T19:15:12.123456Z" (RFC 3339). */
const char *clock_format(int64_t wall_us, char buf[CLOCK_TEXT_MAX]);

/* Reads what clock_format wrote; -1 when it is no such time. */
int64_t clock_parse(const char *s);
