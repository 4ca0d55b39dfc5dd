/* The tokens of a JSON text: where things are, which json-c does not say. */
#pragma once

#include "fmt/doc.h"

struct tokens {
	const struct fmt_doc *doc;
	const unsigned char *p, *end; /* what is left */
	const unsigned char *at;      /* the token: a bracket, a string with its quotes, a word */
	size_t n;                     /* [bytes] of it */
	bool is_open;                 /* a string without end */
	const unsigned char *counted; /* up to here line and column are counted */
	uint32_t line, column;        /* of the token */
};

void token_start(struct tokens *t, const struct fmt_doc *doc, const unsigned char *p, size_t n);

/* The first byte of the next token, or 0 at the end. */
unsigned char token_next(struct tokens *t);

/* In a text that json-c took: a string with a colon behind. */
bool token_is_key(const struct tokens *t);

/* Always negative; the place is that byte's, which is not before the token. */
int token_fail(struct tokens *t, const unsigned char *at, const char *what, struct fault *f);

/* Refuses what json-c reads more kindly than RFC 8259, and too many values before they take
 * memory: json-c needs up to 1 KB for the two bytes of {}. */
int token_check(const struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f);
