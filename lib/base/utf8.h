/* UTF-8 as RFC 3629 has it: no surrogates, nothing over U+10FFFF, shortest form. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* [bytes] length of the well-formed sequence at p (1 to 4), or 0 when there is none. */
size_t utf8_sequence(const unsigned char *p, size_t n);

/* Writes a code point, which is none of a surrogate; returns its [bytes]: 1 to 4. */
size_t utf8_write(uint32_t code, char *to);

bool utf8_is_valid(const void *p, size_t n);

/* How many bytes at the end are the begin of a sequence that n cuts off (0 to 3). */
size_t utf8_cut_tail(const void *p, size_t n);

/* How many bytes at the start are the rest of a sequence that began before (0 to 3). */
size_t utf8_cut_head(const void *p, size_t n);

/* Appends text for a terminal: control characters, what turns the direction of writing, and what
 * is not UTF-8 are written as \xNN. */
void utf8_put_visible(struct text *t, const void *p, size_t n);
