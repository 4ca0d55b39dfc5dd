/* JSON as RFC 8259 has it, nothing more, with the place of every value. */
#include <string.h>

#include "base/text.h"
#include "fmt/doc.h"

struct reader {
	struct fmt_doc *doc;
	const unsigned char *p;   /* the next byte */
	const unsigned char *end;
	const unsigned char *bol; /* where this line began */
	const unsigned char *counted; /* up to here columns were counted: lines may be long */
	uint32_t line, n_counted;
	struct fault *f;
};

static int parse_value(struct reader *r, unsigned depth, struct fmt_value **ret);

/* From 1, in characters. */
static uint32_t column_of(struct reader *r, const unsigned char *at)
{
	if (r->counted < r->bol || r->counted > at) {
		r->counted = r->bol;
		r->n_counted = 1;
	}
	for (; r->counted < at; r->counted++)
		r->n_counted += (*r->counted & 0xc0) != 0x80;
	return r->n_counted;
}

static int fail(struct reader *r, const unsigned char *at, const char *what)
{
	return doc_fail(r->doc, r->line, column_of(r, at), r->f, "%s", what);
}

/* The next byte that is no space, not taken; 0 at the end. */
static unsigned char peek(struct reader *r)
{
	for (; r->p < r->end; r->p++) {
		if (*r->p == '\n') {
			r->line++;
			r->bol = r->p + 1;
		} else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
			return *r->p;
		}
	}
	return 0;
}

static int hex4(struct reader *r, uint32_t *ret)
{
	uint32_t v = 0;

	if (r->end - r->p < 4)
		return fail(r, r->p, "four hex digits are missing");
	for (int i = 0; i < 4; i++, r->p++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *d = *r->p ? strchr(digits, *r->p) : NULL;
		if (!d)
			return fail(r, r->p, "not a hex digit");
		v = v << 4 | ((uint32_t)(d - digits) & 15);
	}
	*ret = v;
	return 0;
}

static void put_utf8(struct text *t, uint32_t c)
{
	if (c < 0x80) {
		text_put_char(t, (char)c);
	} else if (c < 0x800) {
		text_put_char(t, (char)(0xc0 | c >> 6));
		text_put_char(t, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		text_put_char(t, (char)(0xe0 | c >> 12));
		text_put_char(t, (char)(0x80 | (c >> 6 & 63)));
		text_put_char(t, (char)(0x80 | (c & 63)));
	} else {
		text_put_char(t, (char)(0xf0 | c >> 18));
		text_put_char(t, (char)(0x80 | (c >> 12 & 63)));
		text_put_char(t, (char)(0x80 | (c >> 6 & 63)));
		text_put_char(t, (char)(0x80 | (c & 63)));
	}
}

/* \uXXXX, behind the u; a surrogate must come with its other half. */
static int parse_unicode(struct reader *r, struct text *t)
{
	const unsigned char *at = r->p - 2;
	uint32_t c = 0, low = 0;
	int e = hex4(r, &c);

	if (e < 0)
		return e;
	if (c >= 0xdc00 && c <= 0xdfff)
		return fail(r, at, "half of a surrogate pair");
	if (c >= 0xd800 && c <= 0xdbff) {
		if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
			return fail(r, at, "half of a surrogate pair");
		r->p += 2;
		if ((e = hex4(r, &low)) < 0)
			return e;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(r, at, "half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (!c && r->doc->strict)
		return fail(r, at, "a NUL character");
	put_utf8(t, c);
	return 0;
}

static int parse_escape(struct reader *r, struct text *t)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	unsigned char c = r->p < r->end ? *r->p : 0;
	const char *at = c ? strchr(names, c) : NULL;

	r->p++;
	if (c == 'u')
		return parse_unicode(r, t);
	if (!at)
		return fail(r, r->p - 2, "no such escape");
	text_put_char(t, values[at - names]);
	return 0;
}

/* Behind the opening quote. */
static int parse_string(struct reader *r, struct text *t)
{
	const unsigned char *start = r->p - 1;

	for (;;) {
		const unsigned char *from = r->p;
		while (r->p < r->end && *r->p != '"' && *r->p != '\\' && *r->p >= 0x20)
			r->p++;
		text_put_bytes(t, from, (size_t)(r->p - from));
		if (r->p == r->end)
			return fail(r, start, "the string does not end");
		if (*r->p < 0x20)
			return fail(r, r->p, "a control character in a string; write it as \\n or \\u000a");
		if (*r->p++ == '"')
			return 0;
		int e = parse_escape(r, t);
		if (e < 0)
			return e;
	}
}

bool doc_is_number(const char *s, size_t n)
{
	const char *end = s + n;

	s += n && *s == '-';
	if (s == end || *s < '0' || *s > '9')
		return false;
	if (*s == '0' && s + 1 < end && s[1] >= '0' && s[1] <= '9')
		return false;
	while (s < end && *s >= '0' && *s <= '9')
		s++;
	if (s < end && *s == '.') {
		const char *from = ++s;
		while (s < end && *s >= '0' && *s <= '9')
			s++;
		if (s == from)
			return false;
	}
	if (s < end && (*s == 'e' || *s == 'E')) {
		s++;
		s += s < end && (*s == '+' || *s == '-');
		const char *from = s;
		while (s < end && *s >= '0' && *s <= '9')
			s++;
		if (s == from)
			return false;
	}
	return s == end;
}

static int parse_word(struct reader *r, struct fmt_value *v)
{
	const unsigned char *from = r->p;

	while (r->p < r->end && (*r->p >= 0x80 || !strchr(" \t\r\n,:[]{}\"", *r->p)))
		r->p++;
	size_t n = (size_t)(r->p - from);
	const char *s = (const char *)from;
	if (n == 4 && !memcmp(s, "null", 4))
		v->kind = FMT_NULL;
	else if ((n == 4 && !memcmp(s, "true", 4)) || (n == 5 && !memcmp(s, "false", 5)))
		v->kind = FMT_BOOL;
	else if (doc_is_number(s, n))
		v->kind = FMT_NUMBER;
	else
		return fail(r, from, n ? "this is no JSON value" : "a value is missing");
	doc_text(r->doc, v, s, n);
	return 0;
}

static int parse_key(struct reader *r, struct fmt_value *v)
{
	auto_text struct text t = { 0 };

	if (peek(r) != '"')
		return fail(r, r->p, "a key in quotes is missing");
	v->key_line = r->line;
	v->key_column = column_of(r, r->p);
	r->p++;
	int e = parse_string(r, &t);
	if (e < 0)
		return e;
	char *key = doc_alloc(r->doc, t.n + 1);
	memcpy(key, text_string(&t), t.n + 1);
	v->key = key;
	if (peek(r) != ':')
		return fail(r, r->p, "':' is missing behind the key");
	r->p++;
	return 0;
}

/* Behind the opening bracket. */
static int parse_members(struct reader *r, struct fmt_value *parent, unsigned depth)
{
	char close = parent->kind == FMT_MAP ? '}' : ']';
	struct fmt_value *last = NULL, *v, key = { 0 };
	int e;

	if (peek(r) == close) {
		r->p++;
		return 0;
	}
	for (;;) {
		if (close == '}' && (e = parse_key(r, &key)) < 0)
			return e;
		if ((e = parse_value(r, depth + 1, &v)) < 0)
			return e;
		v->key = key.key;
		v->key_line = key.key_line;
		v->key_column = key.key_column;
		if ((e = doc_add(r->doc, parent, &last, v, r->f)) < 0)
			return e;
		unsigned char c = peek(r);
		if (c != ',' && c != close)
			return fail(r, r->p, close == '}' ? "',' or '}' is missing" :
							    "',' or ']' is missing");
		r->p++;
		if (c == close)
			return 0;
	}
}

static int parse_value(struct reader *r, unsigned depth, struct fmt_value **ret)
{
	unsigned char c = peek(r);
	enum fmt_kind kind = c == '{' ? FMT_MAP : c == '[' ? FMT_LIST : FMT_STRING;
	int e = doc_node(r->doc, kind, r->line, column_of(r, r->p), ret, r->f);

	if (e < 0)
		return e;
	if (c != '{' && c != '[' && c != '"')
		return parse_word(r, *ret);
	if (depth > DEPTH_MAX)
		return fail(r, r->p, "nested too deeply; 32 levels are possible");
	r->p++;
	if (c != '"')
		return parse_members(r, *ret, depth);
	auto_text struct text t = { 0 };
	e = parse_string(r, &t);
	if (!e)
		doc_text(r->doc, *ret, text_string(&t), t.n);
	return e;
}

int doc_parse_json(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f)
{
	struct reader r = { .doc = doc, .p = p, .end = p + n, .bol = p, .counted = p,
		.line = 1, .n_counted = 1, .f = f };
	int e = parse_value(&r, 1, &doc->root);

	if (!e && (peek(&r) || r.p != r.end))
		return fail(&r, r.p, "there is more behind the value");
	return e;
}
