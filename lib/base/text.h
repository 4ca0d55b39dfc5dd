/*
 * A text that grows.
 *
 *	auto_text struct text t = { 0 };
 *	text_put(&t, "a");
 *	text_format(&t, "%d", 1);
 *	write(1, t.data, t.n);
 */
#pragma once

#include <stddef.h>

struct text {
	char *data; /* NUL-terminated once something was put; NULL before */
	size_t n;   /* [bytes] without the NUL */
	size_t room;
};

#define auto_text __attribute__((cleanup(text_done)))

void text_put(struct text *t, const char *s);
void text_put_bytes(struct text *t, const void *p, size_t n);
void text_put_char(struct text *t, char c);
void text_format(struct text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull));

/* Room for n more bytes behind the end; returns where they go. text_grew() adds them. */
char *text_reserve(struct text *t, size_t n);
void text_grew(struct text *t, size_t n);

/* Empties, keeps the memory. */
void text_clear(struct text *t);
void text_done(struct text *t);

/* The content, never NULL. */
const char *text_string(const struct text *t);
