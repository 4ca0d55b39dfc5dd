/* JSON from outside, through json-c. What it reads more kindly than RFC 8259 was refused before, and
 * the places that it does not keep are found again by going through the text beside its tree. */
#include <json-c/json_object.h>
#include <json-c/json_object_iterator.h>
#include <json-c/json_tokener.h>
#include <string.h>

#include "fmt/token.h"

/* The text has more in it than the tree: of two members of one name json-c keeps one. */
enum { JSON_DIFFERS = 1 };

struct reader {
	struct fmt_doc *doc;
	struct tokens t;
	struct fault *f;
};

static int parse_value(struct reader *r, struct json_object *o, unsigned depth,
	struct fmt_value **ret);

/* False where json-c refuses it; *ret is NULL for null, too. */
static bool read_text(const unsigned char *p, size_t n, struct json_object **ret)
{
	/* Its levels are those of scalars, one more than those of brackets. */
	struct json_tokener *tok = json_tokener_new_ex(DEPTH_MAX + 1);

	if (!tok)
		return false;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS |
		JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *o = json_tokener_parse_ex(tok, (const char *)p, (int)n);
	size_t used = json_tokener_get_parse_end(tok);
	/* A number or a word that nothing follows needs to be told that it is whole. */
	if (json_tokener_get_error(tok) == json_tokener_continue)
		o = json_tokener_parse_ex(tok, "", 1);
	bool good = json_tokener_get_error(tok) == json_tokener_success && used == n;
	json_tokener_free(tok);
	if (good)
		*ret = o;
	else
		json_object_put(o);
	return good;
}

/* json-c has seen to the order of these. */
static unsigned char next(struct reader *r)
{
	unsigned char c;

	do
		c = token_next(&r->t);
	while (c == ',' || c == ':');
	return c;
}

static int parse_key(struct reader *r, struct fmt_value *key, const char *name)
{
	size_t n = strlen(name) + 1;

	if (next(r) != '"')
		return JSON_DIFFERS;
	key->key = memcpy(doc_alloc(r->doc, n), name, n);
	key->key_line = r->t.line;
	key->key_column = r->t.column;
	return 0;
}

static int parse_members(struct reader *r, struct json_object *o, unsigned depth,
	struct fmt_value *map)
{
	struct json_object_iterator i = json_object_iter_begin(o), end = json_object_iter_end(o);
	struct fmt_value *last = NULL, *v, key = { 0 };
	int e;

	for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
		if ((e = parse_key(r, &key, json_object_iter_peek_name(&i))) != 0 ||
			(e = parse_value(r, json_object_iter_peek_value(&i), depth + 1, &v)) != 0)
			return e;
		v->key = key.key;
		v->key_line = key.key_line;
		v->key_column = key.key_column;
		doc_add(map, &last, v);
	}
	return next(r) == '}' ? 0 : JSON_DIFFERS;
}

static int parse_items(struct reader *r, struct json_object *o, unsigned depth,
	struct fmt_value *list)
{
	struct fmt_value *last = NULL, *v;

	for (size_t i = 0; i < json_object_array_length(o); i++) {
		int e = parse_value(r, json_object_array_get_idx(o, i), depth + 1, &v);
		if (e)
			return e;
		doc_add(list, &last, v);
	}
	return next(r) == ']' ? 0 : JSON_DIFFERS;
}

static enum fmt_kind kind_of(const struct json_object *o)
{
	static const enum fmt_kind kinds[] = {
		[json_type_null] = FMT_NULL, [json_type_boolean] = FMT_BOOL,
		[json_type_double] = FMT_NUMBER, [json_type_int] = FMT_NUMBER,
		[json_type_object] = FMT_MAP, [json_type_array] = FMT_LIST,
		[json_type_string] = FMT_STRING,
	};

	return kinds[json_object_get_type(o)];
}

static bool is_begin(enum fmt_kind kind, unsigned char c)
{
	switch (kind) {
	case FMT_MAP:
		return c == '{';
	case FMT_LIST:
		return c == '[';
	case FMT_STRING:
		return c == '"';
	default:
		return c && !strchr("{[]}\"", c);
	}
}

/* A value of the tree with the place of the same value in the text. Members are in the order
 * of the text, so the two differ only where a key stands twice. */
static int parse_value(struct reader *r, struct json_object *o, unsigned depth,
	struct fmt_value **ret)
{
	enum fmt_kind kind = kind_of(o);

	if (!is_begin(kind, next(r)))
		return JSON_DIFFERS;
	int e = doc_node(r->doc, kind, r->t.line, r->t.column, ret, r->f);
	if (e < 0)
		return e;
	if ((kind == FMT_MAP || kind == FMT_LIST) && depth > DEPTH_MAX)
		return JSON_DIFFERS;
	if (kind == FMT_MAP)
		return parse_members(r, o, depth, *ret);
	if (kind == FMT_LIST)
		return parse_items(r, o, depth, *ret);
	if (kind == FMT_STRING)
		doc_text(r->doc, *ret, json_object_get_string(o),
			(size_t)json_object_get_string_len(o));
	else /* json-c clamps what is over 64 bits; the text does not */
		doc_text(r->doc, *ret, r->t.at, r->t.n);
	return 0;
}

int doc_parse_outside(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f)
{
	struct reader r = { .doc = doc, .f = f };
	struct json_object *o = NULL;
	int e = token_check(doc, p, n, f);

	if (e < 0)
		return e;
	bool good = read_text(p, n, &o);
	token_start(&r.t, doc, p, n);
	e = good ? parse_value(&r, o, 1, &doc->root) : JSON_DIFFERS;
	if (!e && next(&r))
		e = JSON_DIFFERS;
	json_object_put(o);
	if (e != JSON_DIFFERS)
		return e;
	/* Refused, or a key stands twice: the stricter reader says what and where. */
	doc->n_nodes = 0;
	e = doc_parse_json(doc, p, n, f);
	return e < 0 ? e : doc_fail(doc, 1, 1, f, "json-c does not read it");
}
