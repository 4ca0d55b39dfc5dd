#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

/* A comma is needed unless the value before is an opening bracket or a colon. */
static void separate(struct text *t)
{
	if (!t->n)
		return;
	char last = t->data[t->n - 1];
	if (last != '{' && last != '[' && last != ':' && last != '\n')
		text_put_char(t, ',');
}

void json_open(struct text *t, char bracket)
{
	separate(t);
	text_put_char(t, bracket);
}

void json_close(struct text *t, char bracket)
{
	text_put_char(t, bracket);
}

static void put_escaped(struct text *t, unsigned char c)
{
	static const char *const short_form[] = {
		['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t",
		['"'] = "\\\"", ['\\'] = "\\\\",
	};

	if (c < sizeof short_form / sizeof *short_form && short_form[c])
		text_put(t, short_form[c]);
	else
		text_format(t, "\\u%04x", c);
}

static void put_quoted(struct text *t, const unsigned char *p, size_t n)
{
	size_t from = 0, i = 0;

	text_put_char(t, '"');
	while (i < n) {
		size_t len = p[i] < 0x80 ? 1 : utf8_sequence(p + i, n - i);
		bool plain = p[i] >= 0x20 && p[i] != '"' && p[i] != '\\' && p[i] != 0x7f && len;
		if (plain) {
			i += len;
			continue;
		}
		text_put_bytes(t, p + from, i - from);
		if (p[i] < 0x80)
			put_escaped(t, p[i]);
		else
			text_put(t, "\xef\xbf\xbd");
		from = ++i;
	}
	text_put_bytes(t, p + from, i - from);
	text_put_char(t, '"');
}

void json_key(struct text *t, const char *key)
{
	separate(t);
	put_quoted(t, (const unsigned char *)key, strlen(key));
	text_put_char(t, ':');
}

void json_bytes(struct text *t, const void *p, size_t n)
{
	separate(t);
	put_quoted(t, p, n);
}

void json_string(struct text *t, const char *s)
{
	if (s)
		json_bytes(t, s, strlen(s));
	else
		json_null(t);
}

void json_base64(struct text *t, const void *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *b = p;

	separate(t);
	text_put_char(t, '"');
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)b[i] << 16;
		if (i + 1 < n)
			v |= (uint32_t)b[i + 1] << 8;
		if (i + 2 < n)
			v |= b[i + 2];
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63],
			i + 1 < n ? digits[v >> 6 & 63] : '=', i + 2 < n ? digits[v & 63] : '=' };
		text_put_bytes(t, four, 4);
	}
	text_put_char(t, '"');
}

void json_int(struct text *t, int64_t v)
{
	separate(t);
	text_format(t, "%" PRId64, v);
}

void json_bool(struct text *t, bool v)
{
	separate(t);
	text_put(t, v ? "true" : "false");
}

void json_null(struct text *t)
{
	separate(t);
	text_put(t, "null");
}

void json_raw(struct text *t, const char *json, size_t n)
{
	separate(t);
	text_put_bytes(t, json, n);
}

void json_put_string(struct text *t, const char *key, const char *s)
{
	json_key(t, key);
	json_string(t, s);
}

void json_put_int(struct text *t, const char *key, int64_t v)
{
	json_key(t, key);
	json_int(t, v);
}

void json_put_bool(struct text *t, const char *key, bool v)
{
	json_key(t, key);
	json_bool(t, v);
}

void json_put_name(struct text *t, const char *key, const void *p, size_t n)
{
	char other[80];

	json_key(t, key);
	json_bytes(t, p, n);
	if (utf8_is_valid(p, n))
		return;
	snprintf(other, sizeof other, "%.60s_base64", key);
	json_key(t, other);
	json_base64(t, p, n);
}
