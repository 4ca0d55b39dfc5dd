#include <stdlib.h>
#include <string.h>

#include "fmt/token.h"

void token_start(struct tokens *t, const struct fmt_doc *doc, const unsigned char *p, size_t n)
{
	*t = (struct tokens){ .doc = doc, .p = p, .end = p + n, .at = p, .counted = p, .line = 1,
		.column = 1 };
}

/* Forward only, so that a long line costs no more than many short ones. */
static void count_to(struct tokens *t, const unsigned char *to)
{
	for (; t->counted < to; t->counted++) {
		if (*t->counted == '\n') {
			t->line++;
			t->column = 1;
		} else {
			t->column += (*t->counted & 0xc0) != 0x80;
		}
	}
}

int token_fail(struct tokens *t, const unsigned char *at, const char *what, struct fault *f)
{
	count_to(t, at);
	return doc_fail(t->doc, t->line, t->column, f, "%s", what);
}

static void skip_string(struct tokens *t)
{
	for (t->p++; t->p < t->end && *t->p != '"'; t->p++)
		t->p += *t->p == '\\' && t->p + 1 < t->end;
	t->is_open = t->p == t->end;
	t->p += !t->is_open;
}

unsigned char token_next(struct tokens *t)
{
	while (t->p < t->end && strchr(" \t\r\n", *t->p))
		t->p++;
	count_to(t, t->p);
	t->at = t->p;
	t->n = 0;
	if (t->p == t->end)
		return 0;
	if (*t->p == '"')
		skip_string(t);
	else if (strchr("{[]},:", *t->p))
		t->p++;
	else
		while (t->p < t->end && !strchr(" \t\r\n,:{[]}\"", *t->p))
			t->p++;
	t->n = (size_t)(t->p - t->at);
	return *t->at;
}

static bool has_colon(const struct tokens *t)
{
	const unsigned char *p = t->p;

	while (p < t->end && strchr(" \t\r\n", *p))
		p++;
	return p < t->end && *p == ':';
}

bool token_is_key(const struct tokens *t)
{
	return *t->at == '"' && has_colon(t);
}

long token_code(const unsigned char *p, const unsigned char *end)
{
	char hex[5] = { 0 };

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	memcpy(hex, p + 2, 4);
	return strspn(hex, "0123456789abcdefABCDEF") == 4 ? strtol(hex, NULL, 16) : -1;
}

static int check_string(struct tokens *t, struct fault *f)
{
	if (t->is_open)
		return token_fail(t, t->at, "the string does not end", f);
	for (const unsigned char *p = t->at + 1; p < t->p; p++) {
		if (*p < 0x20)
			return token_fail(t, p,
				"a control character in a string; write it as \\n or \\u000a", f);
		if (*p != '\\')
			continue;
		long code = token_code(p, t->p);
		if (code < 0 && !strchr("\"\\/bfnrt", p[1]))
			return token_fail(t, p, "no such escape", f);
		bool is_pair = code >= 0xd800 && code <= 0xdbff &&
			(token_code(p + 6, t->p) & ~0x3ffL) == 0xdc00;
		if (code >= 0xd800 && code <= 0xdfff && !is_pair)
			return token_fail(t, p, "half of a surrogate pair", f);
		if (!code && (t->doc->strict || token_is_key(t)))
			return token_fail(t, p, "a NUL character", f);
		p += is_pair ? 11 : 1;
	}
	return 0;
}

static int check_word(struct tokens *t, struct fault *f)
{
	const char *s = (const char *)t->at;

	if ((t->n == 4 && (!memcmp(s, "null", 4) || !memcmp(s, "true", 4))) ||
		(t->n == 5 && !memcmp(s, "false", 5)) || doc_is_number(s, t->n))
		return 0;
	return token_fail(t, t->at,
		has_colon(t) ? "a key in double quotes is missing" : "this is no JSON value", f);
}

int token_check(const struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f)
{
	struct tokens t;
	size_t n_values = 0;
	unsigned char c;
	int r;

	token_start(&t, doc, p, n);
	while ((c = token_next(&t))) {
		if (strchr("}],:", c))
			continue;
		n_values += !token_is_key(&t);
		if (n_values > doc->max_nodes)
			return doc_fail_many(doc, t.line, t.column, f);
		r = c == '"' ? check_string(&t, f) : c == '{' || c == '[' ? 0 : check_word(&t, f);
		if (r < 0)
			return r;
	}
	return 0;
}
