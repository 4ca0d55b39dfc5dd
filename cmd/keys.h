/* Keys that leave a terminal: a sequence that is looked for in what is typed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

enum { KEYS_MAX = 16 };

struct keys {
	char sequence[KEYS_MAX];
	size_t n;       /* 0: none, nothing is held back */
	size_t matched; /* of it, typed and held back */
};

/* Reads "ctrl-p,ctrl-q", "a,b": characters, and ctrl- with a letter or one of @ [ \ ] ^ _, between
 * commas. Source: docker-attach(1). Faults: USAGE it is no such list, or too long. */
int keys_parse(const char *s, struct keys *ret, struct fault *f);

/*
 * keys_filter - takes the sequence out of what is typed
 * @in:     n bytes
 * @out:    room for n + KEYS_MAX bytes: what goes on; what may be the beginning of the sequence
 *          is held back for the next call
 * @ret_n:  [bytes] written to out
 *
 * Returns: whether the sequence was typed; what came behind it is dropped.
 */
bool keys_filter(struct keys *k, const char *in, size_t n, char *out, size_t *ret_n);
