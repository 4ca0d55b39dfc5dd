/* Reading state files: what both have in common. Every reader takes NULL for "not there". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"
#include "fmt/fmt.h"

/* Parses name in dir and checks its schema. Faults: NOT_FOUND, SYSTEM, FORMAT, LIMIT. */
int state_open(int dir, const char *name, const char *schema, struct fmt_doc **ret, struct fault *f);

/* False when it is no string or does not fit. */
bool state_text(const struct fmt_value *v, char *buf, size_t room);

/* A time as state_put_time wrote it; null is 0. */
bool state_time(const struct fmt_value *v, int64_t *ret_us);

/* The place in a list that ends with NULL. */
bool state_choice(const struct fmt_value *v, const char *const *choices, unsigned *ret);
bool state_uint(const struct fmt_value *v, uint64_t *ret);

void state_put_time(struct text *t, const char *key, int64_t us);
void state_put_uint(struct text *t, const char *key, uint64_t v);

/* Always negative. */
int state_damaged(struct fault *f, const char *name, const char *key) __attribute__((cold));
