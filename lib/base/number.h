/*
 * Numbers from people: strict, with unit and range in the message.
 *
 * Accepted: digits, one decimal point where the unit makes the value whole, and one unit.
 * Sizes: K M G T and Ki Mi Gi Ti (all powers of 1024, as in docker), optional B.
 * Times: ms s m h d; a bare number is seconds. CPUs: at most three decimals.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"

/*
 * number_parse_* - read one number
 * @s:    the text; all of it must be used up
 * @min:  smallest value allowed, in the unit of the result
 * @max:  greatest value allowed
 * @ret:  [bytes], [ms] or thousandths of a CPU; set on 0 only
 *
 * Returns: 0, or negative.
 * Faults:  USAGE  not a number, a wrong unit, or out of range.
 */
int number_parse_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f);
int number_parse_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f);
int number_parse_time(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f);
int number_parse_cpu(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct fault *f);

enum { NUMBER_TEXT_MAX = 32 };

/* Thousandths as "2" or "1.5", exact: a number of JSON, too. */
const char *number_format_cpu(uint64_t thousandths, char buf[NUMBER_TEXT_MAX]);

/* "256 MiB", "1.5 GiB"; "90 s", "5 min": for people, never for machines. */
const char *number_format_size(uint64_t bytes, char buf[NUMBER_TEXT_MAX]);
const char *number_format_time(uint64_t ms, char buf[NUMBER_TEXT_MAX]);
