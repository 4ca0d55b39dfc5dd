/*
 * Writing JSON, in one pass, into a text.
 *
 *	json_open(&t, '{');
 *	json_key(&t, "id");     json_string(&t, id);
 *	json_key(&t, "pids");   json_open(&t, '['); json_int(&t, 1); json_close(&t, ']');
 *	json_close(&t, '}');
 *
 * Commas come by themselves. Strings that are not UTF-8 are written with U+FFFD in place
 * of each wrong byte; whoever must keep the bytes adds them as base64.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

void json_open(struct text *t, char bracket);
void json_close(struct text *t, char bracket);
void json_key(struct text *t, const char *key);
void json_string(struct text *t, const char *s); /* NULL writes null */
void json_bytes(struct text *t, const void *p, size_t n);
void json_base64(struct text *t, const void *p, size_t n);
void json_int(struct text *t, int64_t v);
void json_bool(struct text *t, bool v);
void json_null(struct text *t);

/* A value that is JSON already. */
void json_raw(struct text *t, const char *json, size_t n);

/* Key and value at once. */
void json_put_string(struct text *t, const char *key, const char *s);
void json_put_int(struct text *t, const char *key, int64_t v);
void json_put_bool(struct text *t, const char *key, bool v);

/* key: the bytes, and key_base64 beside it when they are not UTF-8. */
void json_put_name(struct text *t, const char *key, const void *p, size_t n);
