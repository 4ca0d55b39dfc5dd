/* YAML through the events of libyaml; what makes YAML dangerous or surprising is refused. */
#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "fmt/doc.h"

const bool fmt_has_outside = true;

struct reader {
	struct fmt_doc *doc;
	yaml_parser_t parser;
	yaml_event_t event;
	struct fault *f;
};

static int parse_node(struct reader *r, unsigned depth, struct fmt_value **ret);

static uint32_t line_of(const yaml_mark_t *m)
{
	return (uint32_t)m->line + 1;
}

static uint32_t column_of(const yaml_mark_t *m)
{
	return (uint32_t)m->column + 1;
}

static int fail(struct reader *r, const char *what)
{
	const yaml_mark_t *m = &r->event.start_mark;

	return doc_fail(r->doc, line_of(m), column_of(m), r->f, "%s", what);
}

/* Takes the next event; the one before is let go. */
static int next(struct reader *r)
{
	yaml_event_delete(&r->event);
	if (yaml_parser_parse(&r->parser, &r->event))
		return 0;
	const yaml_mark_t *m = &r->parser.problem_mark;
	return doc_fail(r->doc, line_of(m), column_of(m), r->f, "%s",
		r->parser.problem ? r->parser.problem : "this is no YAML");
}

/* Plain scalars as the JSON schema of YAML 1.2 has them: yes, no, on and off stay text,
 * and 0o17 or 1:30 are no numbers. Source: YAML 1.2.2, 10.2 and 10.3. */
static enum fmt_kind kind_of_plain(const char *s, size_t n)
{
	if (!n || !strcmp(s, "~") || !strcmp(s, "null"))
		return FMT_NULL;
	if (!strcmp(s, "true") || !strcmp(s, "false"))
		return FMT_BOOL;
	return doc_is_number(s, n) ? FMT_NUMBER : FMT_STRING;
}

static int parse_scalar(struct reader *r, struct fmt_value *v)
{
	const char *s = (const char *)r->event.data.scalar.value;
	size_t n = r->event.data.scalar.length;

	if (memchr(s, 0, n))
		return fail(r, "a NUL character");
	if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		v->kind = kind_of_plain(s, n);
	doc_text(r->doc, v, s, n);
	return 0;
}

static int parse_items(struct reader *r, struct fmt_value *list, unsigned depth)
{
	struct fmt_value *last = NULL, *v;

	for (;;) {
		int e = next(r);
		if (e < 0 || r->event.type == YAML_SEQUENCE_END_EVENT)
			return e;
		if ((e = parse_node(r, depth + 1, &v)) < 0)
			return e;
		doc_add(list, &last, v);
	}
}

static int parse_key(struct reader *r, struct fmt_value **ret)
{
	if (r->event.type != YAML_SCALAR_EVENT)
		return fail(r, "a key must be a plain word");
	if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		!strcmp((const char *)r->event.data.scalar.value, "<<"))
		return fail(r, "merge keys are refused");
	return parse_node(r, 1, ret);
}

static int parse_members(struct reader *r, struct fmt_value *map, unsigned depth)
{
	struct fmt_value *last = NULL, *key, *v;

	for (;;) {
		int e = next(r);
		if (e < 0 || r->event.type == YAML_MAPPING_END_EVENT)
			return e < 0 ? e : doc_check_keys(r->doc, map, r->f);
		if ((e = parse_key(r, &key)) < 0 || (e = next(r)) < 0 ||
			(e = parse_node(r, depth + 1, &v)) < 0)
			return e;
		v->key = key->text;
		v->key_line = key->line;
		v->key_column = key->column;
		doc_add(map, &last, v);
	}
}

static bool has_name(const yaml_char_t *anchor, const yaml_char_t *tag)
{
	return anchor || tag;
}

/* Anchors are refused even when no alias uses them: together they are a bomb. */
static bool is_marked(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return has_name(e->data.scalar.anchor, e->data.scalar.tag);
	case YAML_SEQUENCE_START_EVENT:
		return has_name(e->data.sequence_start.anchor, e->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return has_name(e->data.mapping_start.anchor, e->data.mapping_start.tag);
	default:
		return false;
	}
}

static int parse_node(struct reader *r, unsigned depth, struct fmt_value **ret)
{
	const yaml_mark_t *m = &r->event.start_mark;
	enum fmt_kind kind = r->event.type == YAML_MAPPING_START_EVENT ? FMT_MAP :
		r->event.type == YAML_SEQUENCE_START_EVENT	       ? FMT_LIST :
									 FMT_STRING;

	if (r->event.type == YAML_ALIAS_EVENT)
		return fail(r, "aliases are refused; write the value again");
	if (is_marked(&r->event))
		return fail(r, "anchors and tags are refused");
	int e = doc_node(r->doc, kind, line_of(m), column_of(m), ret, r->f);
	if (e < 0 || r->event.type == YAML_SCALAR_EVENT)
		return e < 0 ? e : parse_scalar(r, *ret);
	if (kind == FMT_STRING)
		return fail(r, "a value is missing");
	if (depth > DEPTH_MAX)
		return fail(r, "nested too deeply; 32 levels are possible");
	return kind == FMT_MAP ? parse_members(r, *ret, depth) : parse_items(r, *ret, depth);
}

static int parse_stream(struct reader *r)
{
	int e;

	if ((e = next(r)) < 0 || (e = next(r)) < 0) /* begin of the stream, of the document */
		return e;
	if (r->event.type == YAML_STREAM_END_EVENT)
		return fail(r, "the file is empty");
	if (r->event.data.document_start.version_directive ||
		r->event.data.document_start.tag_directives.start !=
			r->event.data.document_start.tag_directives.end)
		return fail(r, "directives are refused");
	if ((e = next(r)) < 0 || (e = parse_node(r, 1, &r->doc->root)) < 0)
		return e;
	if ((e = next(r)) < 0 || (e = next(r)) < 0) /* end of the document, of the stream */
		return e;
	return r->event.type == YAML_STREAM_END_EVENT ? 0 : fail(r, "a second document is refused");
}

int doc_parse_yaml(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f)
{
	struct reader r = { .doc = doc, .f = f };

	if (!yaml_parser_initialize(&r.parser))
		return fault_set(f, FAULT_SYSTEM, ENOMEM, "libyaml");
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, p, n);
	int e = parse_stream(&r);
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return e;
}
