/* JSON that this program wrote, as RFC 8259 has it: first each token by itself (token.c), then their order. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fmt/token.h"

struct reader {
	struct fmt_doc *doc;
	struct tokens t;
	unsigned char c; /* the first byte of the token; 0 at the end */
	struct fault *f;
};

static int parse_value(struct reader *r, unsigned depth, struct fmt_value **ret);

static void next(struct reader *r)
{
	r->c = token_next(&r->t);
}

static int fail(struct reader *r, const char *what)
{
	return token_fail(&r->t, r->t.at, r->c ? what : "the text ends before the value does", r->f);
}

/* One escape, which was checked; returns how many bytes it has. */
static size_t decode_escape(const unsigned char *p, const unsigned char *end, char *to, size_t *n)
{
	static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	long code = token_code(p, end);

	if (code < 0) {
		to[(*n)++] = plain[strchr(from, p[1]) - from];
		return 2;
	}
	if (code < 0xd800 || code > 0xdbff) {
		*n += utf8_write((uint32_t)code, to + *n);
		return 6;
	}
	code = 0x10000 + ((code & 0x3ff) << 10) + (token_code(p + 6, end) & 0x3ff);
	*n += utf8_write((uint32_t)code, to + *n);
	return 12;
}

/* The string that is the token: an escape is never shorter than what it stands for. */
static const char *decode(struct reader *r, size_t *ret_n)
{
	const unsigned char *p = r->t.at + 1, *end = r->t.at + r->t.n - 1;
	char *to = doc_alloc(r->doc, r->t.n);
	size_t n = 0;

	while (p < end) {
		const unsigned char *escape = memchr(p, '\\', (size_t)(end - p));
		size_t plain = (size_t)((escape ? escape : end) - p);
		memcpy(to + n, p, plain);
		n += plain;
		p += plain;
		if (escape)
			p += decode_escape(p, end, to, &n);
	}
	to[n] = 0;
	*ret_n = n;
	return to;
}

static int parse_member(struct reader *r, struct fmt_value *map, unsigned depth,
	struct fmt_value **last)
{
	uint32_t line = r->t.line, column = r->t.column;
	struct fmt_value *v;
	size_t n;

	if (r->c != '"')
		return fail(r, "a key in double quotes is missing");
	const char *key = decode(r, &n);
	next(r);
	if (r->c != ':')
		return fail(r, "':' is missing behind the key");
	next(r);
	int e = parse_value(r, depth + 1, &v);
	if (e < 0)
		return e;
	v->key = key;
	v->key_line = line;
	v->key_column = column;
	doc_add(map, last, v);
	return 0;
}

static int parse_item(struct reader *r, struct fmt_value *list, unsigned depth,
	struct fmt_value **last)
{
	struct fmt_value *v;
	int e = parse_value(r, depth + 1, &v);

	if (e < 0)
		return e;
	doc_add(list, last, v);
	return 0;
}

/* From behind the first bracket to behind the last. */
static int parse_inside(struct reader *r, struct fmt_value *v, unsigned depth, unsigned char close)
{
	struct fmt_value *last = NULL;

	while (r->c != close || last) {
		int e = v->kind == FMT_MAP ? parse_member(r, v, depth, &last) :
					     parse_item(r, v, depth, &last);
		if (e < 0)
			return e;
		if (r->c == close)
			break;
		if (r->c != ',')
			return fail(r, close == '}' ? "',' or '}' is missing" : "',' or ']' is missing");
		next(r);
		if (r->c == close)
			return fail(r, "a value is missing, or a ',' is too many");
	}
	next(r);
	return v->kind == FMT_MAP ? doc_check_keys(r->doc, v, r->f) : 0;
}

static enum fmt_kind kind_of(unsigned char c)
{
	switch (c) {
	case '{':
		return FMT_MAP;
	case '[':
		return FMT_LIST;
	case '"':
		return FMT_STRING;
	case 'n':
		return FMT_NULL;
	case 't':
	case 'f':
		return FMT_BOOL;
	default:
		return FMT_NUMBER;
	}
}

/* The value that begins with the token; then the token is what follows it. */
static int parse_value(struct reader *r, unsigned depth, struct fmt_value **ret)
{
	enum fmt_kind kind = kind_of(r->c);
	size_t n;

	if (!r->c || strchr("}],:", r->c))
		return fail(r, "a value is missing, or a ',' is too many");
	int e = doc_node(r->doc, kind, r->t.line, r->t.column, ret, r->f);
	if (e < 0)
		return e;
	if (kind == FMT_MAP || kind == FMT_LIST) {
		unsigned char close = r->c == '{' ? '}' : ']';
		if (depth > DEPTH_MAX)
			return fail(r, "nested too deeply; 32 levels are possible");
		next(r);
		return parse_inside(r, *ret, depth, close);
	}
	if (kind == FMT_STRING) {
		(*ret)->text = decode(r, &n);
		(*ret)->n = n;
	} else {
		doc_text(r->doc, *ret, r->t.at, r->t.n);
	}
	next(r);
	return 0;
}

int doc_parse_json(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f)
{
	struct reader r = { .doc = doc, .f = f };
	int e = token_check(doc, p, n, f);

	if (e < 0)
		return e;
	token_start(&r.t, doc, p, n);
	next(&r);
	e = parse_value(&r, 1, &doc->root);
	return !e && r.c ? fail(&r, "there is more behind the value") : e;
}
