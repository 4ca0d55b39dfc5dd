/*
 * Fields in a message, one after the other: little-endian numbers, and bytes with their
 * length in front. The reader never reads past the end: what is missing reads as 0 or
 * empty and sets .bad, which the caller looks at once, at the end.
 *
 *	frame_put_u32(&t, 7); frame_put_string(&t, "abc");
 *
 *	struct frame r = { p, n };
 *	uint32_t v = frame_get_u32(&r);
 *	const char *s = frame_get_string(&r);
 *	if (!frame_is_done(&r)) …
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"

struct frame {
	const unsigned char *p;
	size_t n; /* [bytes] left */
	bool bad;
};

void frame_put_u32(struct text *t, uint32_t v);
void frame_put_u64(struct text *t, uint64_t v);
void frame_put_bytes(struct text *t, const void *p, size_t n);
void frame_put_string(struct text *t, const char *s); /* with its NUL; NULL is written as "" */
void frame_put_strings(struct text *t, char *const *list); /* NULL-terminated; NULL: none */
void frame_put_fault(struct text *t, const struct fault *f); /* kind, errno, text */

uint32_t frame_get_u32(struct frame *r);
uint64_t frame_get_u64(struct frame *r);
const void *frame_get_bytes(struct frame *r, size_t *ret_n);

/* A string in place: has exactly one NUL, at its end. "" when bad. */
const char *frame_get_string(struct frame *r);

/* A new array of pointers into the message, NULL-terminated; the caller frees the array.
 * At most max strings, else bad (and an empty array). */
char **frame_get_strings(struct frame *r, size_t max);

/* What frame_put_fault wrote, through fault_import. A BUG when bad. */
struct fault frame_get_fault(struct frame *r);

/* Everything was read and nothing was missing. */
bool frame_is_done(const struct frame *r);
