/* The tokens of a JSON text, each with its place. */
#pragma once

#include "fmt/doc.h"

struct tokens {
	const struct fmt_doc *doc;
	const unsigned char *p, *end; /* what is left */
	const unsigned char *at;      /* the token: a bracket, a comma, a colon, a string with its
	                                 quotes, a word */
	size_t n;                     /* [bytes] of it */
	bool is_open;                 /* a string without end */
	const unsigned char *counted; /* up to here line and column are counted */
	uint32_t line, column;        /* of the token */
};

void token_start(struct tokens *t, const struct fmt_doc *doc, const unsigned char *p, size_t n);

/* The first byte of the next token, or 0 at the end. */
unsigned char token_next(struct tokens *t);

/* A string with a colon behind. */
bool token_is_key(const struct tokens *t);

/* The number of the \uXXXX at p, or -1 where there is none. */
long token_code(const unsigned char *p, const unsigned char *end);

/* Always negative; the place is that byte's, which is not before the token. */
int token_fail(struct tokens *t, const unsigned char *at, const char *what, struct fault *f);

/* Each token by itself: strings and their escapes, numbers, words; and that there are not too
 * many values. Source: RFC 8259 sections 3, 6, 7. */
int token_check(const struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f);
