/* JSON through json-c; what it reads more kindly than RFC 8259 is refused before, and the
 * places that it does not keep are found again by going through the text beside its tree. */
#include <errno.h>
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

static const char *describe(enum json_tokener_error e)
{
	switch (e) {
	case json_tokener_success:
		return "there is more behind the value";
	case json_tokener_continue:
	case json_tokener_error_parse_eof:
		return "the text ends before the value does";
	case json_tokener_error_depth:
		return "nested too deeply; 32 levels are possible";
	case json_tokener_error_parse_unexpected:
		return "a value is missing, or a ',' is too many";
	case json_tokener_error_parse_array:
		return "',' or ']' is missing";
	case json_tokener_error_parse_object_key_name:
		return "a key in double quotes is missing";
	case json_tokener_error_parse_object_key_sep:
		return "':' is missing behind the key";
	case json_tokener_error_parse_object_value_sep:
		return "',' or '}' is missing";
	case json_tokener_error_parse_string:
		return "no such escape";
	default:
		return json_tokener_error_desc(e);
	}
}

/* Sets *ret to NULL for null, too. */
static int parse_text(struct reader *r, const unsigned char *p, size_t n, struct json_object **ret)
{
	/* Its levels are those of scalars, one more than those of brackets. */
	struct json_tokener *tok = json_tokener_new_ex(DEPTH_MAX + 1);

	if (!tok)
		return fault_set(r->f, FAULT_SYSTEM, ENOMEM, "json-c");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS |
		JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *o = json_tokener_parse_ex(tok, (const char *)p, (int)n);
	size_t used = json_tokener_get_parse_end(tok);
	/* A number or a word that nothing follows needs to be told that it is whole. */
	if (json_tokener_get_error(tok) == json_tokener_continue)
		o = json_tokener_parse_ex(tok, "", 1);
	enum json_tokener_error e = json_tokener_get_error(tok);
	json_tokener_free(tok);
	if (e == json_tokener_success && used == n) {
		*ret = o;
		return 0;
	}
	json_object_put(o);
	token_start(&r->t, r->doc, p, n);
	return token_fail(&r->t, p + used, describe(e), r->f);
}

static int parse_key(struct reader *r, struct fmt_value *key, const char *name)
{
	size_t n = strlen(name) + 1;

	if (token_next(&r->t) != '"')
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
		if ((e = doc_add(r->doc, map, &last, v, r->f)) < 0)
			return e;
	}
	return token_next(&r->t) == '}' ? 0 : JSON_DIFFERS;
}

static int parse_items(struct reader *r, struct json_object *o, unsigned depth,
	struct fmt_value *list)
{
	struct fmt_value *last = NULL, *v;
	int e;

	for (size_t i = 0; i < json_object_array_length(o); i++)
		if ((e = parse_value(r, json_object_array_get_idx(o, i), depth + 1, &v)) != 0 ||
			(e = doc_add(r->doc, list, &last, v, r->f)) < 0)
			return e;
	return token_next(&r->t) == ']' ? 0 : JSON_DIFFERS;
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

	if (!is_begin(kind, token_next(&r->t)))
		return JSON_DIFFERS;
	int e = doc_node(r->doc, kind, r->t.line, r->t.column, ret, r->f);
	if (e < 0)
		return e;
	if ((kind == FMT_MAP || kind == FMT_LIST) && depth > DEPTH_MAX)
		return token_fail(&r->t, r->t.at, describe(json_tokener_error_depth), r->f);
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

/* Puts the key, with its line, in seen. Faults: FORMAT it is there. */
static int add_key(struct reader *r, struct json_object *seen)
{
	struct json_object *key = NULL, *old;
	struct tokens *t = &r->t;
	struct reader part = { .doc = r->doc, .f = r->f };
	int e = parse_text(&part, t->at, t->n, &key);

	if (e < 0)
		return e;
	const char *name = json_object_get_string(key);
	if (json_object_object_get_ex(seen, name, &old))
		e = doc_fail(r->doc, t->line, t->column, r->f,
			"'%.40s' is here twice, first in line %d", name, json_object_get_int(old));
	else
		json_object_object_add(seen, name, json_object_new_int((int)t->line));
	json_object_put(key);
	return e;
}

/* Names the first key that stands twice. Always negative. */
static int fail_twice(struct reader *r, const unsigned char *p, size_t n)
{
	struct json_object *seen[DEPTH_MAX + 2] = { NULL };
	unsigned depth = 0;
	int e = 0;

	token_start(&r->t, r->doc, p, n);
	for (unsigned char c; !e && (c = token_next(&r->t));) {
		if (c == '{' || c == '[')
			seen[++depth] = json_object_new_object();
		else if (c == '}' || c == ']')
			json_object_put(seen[depth--]);
		else if (token_is_key(&r->t))
			e = add_key(r, seen[depth]);
	}
	while (depth)
		json_object_put(seen[depth--]);
	/* Or json-c had no memory for a part. */
	return e ? e : fault_set(r->f, FAULT_SYSTEM, ENOMEM, "json-c");
}

int doc_parse_json(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f)
{
	struct reader r = { .doc = doc, .f = f };
	struct json_object *o = NULL;
	int e = token_check(doc, p, n, f);

	if (e < 0 || (e = parse_text(&r, p, n, &o)) < 0)
		return e;
	token_start(&r.t, doc, p, n);
	e = parse_value(&r, o, 1, &doc->root);
	if (e == JSON_DIFFERS || (!e && token_next(&r.t)))
		e = fail_twice(&r, p, n);
	json_object_put(o);
	return e;
}
