#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "fmt/doc.h"

enum { CHUNK_BYTES = 16 * 1024, SPEC_NODES = 10000, STATE_NODES = 1000000 };

struct chunk {
	struct chunk *next;
	size_t used, room;
	_Alignas(16) char data[];
};

struct fmt_doc *doc_new(const char *name, size_t max_nodes, bool strict)
{
	struct fmt_doc *doc = mem_new(struct fmt_doc);

	doc->name = mem_string(name);
	doc->max_nodes = max_nodes;
	doc->strict = strict;
	return doc;
}

struct fmt_doc *fmt_free(struct fmt_doc *doc)
{
	if (!doc)
		return NULL;
	while (doc->chunks) {
		struct chunk *next = doc->chunks->next;
		free(doc->chunks);
		doc->chunks = next;
	}
	free(doc->name);
	free(doc);
	return NULL;
}

void fmt_free_at(struct fmt_doc **doc)
{
	*doc = fmt_free(*doc);
}

void *doc_alloc(struct fmt_doc *doc, size_t n)
{
	struct chunk *c = doc->chunks;

	n = (n + 15) & ~(size_t)15;
	if (!c || c->room - c->used < n) {
		size_t room = n > CHUNK_BYTES ? n : CHUNK_BYTES;
		c = mem_zeroed(1, sizeof *c + room);
		c->room = room;
		c->next = doc->chunks;
		doc->chunks = c;
	}
	c->used += n;
	return c->data + c->used - n;
}

int doc_fail_many(const struct fmt_doc *doc, uint32_t line, uint32_t column, struct fault *f)
{
	return fault_set(f, FAULT_LIMIT, 0, "%.100s:%" PRIu32 ":%" PRIu32 ": more than %zu values",
		doc->name, line, column, doc->max_nodes);
}

int doc_node(struct fmt_doc *doc, enum fmt_kind kind, uint32_t line, uint32_t column,
	struct fmt_value **ret, struct fault *f)
{
	if (++doc->n_nodes > doc->max_nodes)
		return doc_fail_many(doc, line, column, f);
	struct fmt_value *v = doc_alloc(doc, sizeof *v);
	*v = (struct fmt_value){ .kind = kind, .line = line, .column = column };
	*ret = v;
	return 0;
}

void doc_text(struct fmt_doc *doc, struct fmt_value *v, const void *p, size_t n)
{
	char *copy = doc_alloc(doc, n + 1);

	if (n)
		memcpy(copy, p, n);
	copy[n] = 0;
	v->text = copy;
	v->n = n;
}

void doc_add(struct fmt_value *parent, struct fmt_value **last, struct fmt_value *v)
{
	if (*last)
		(*last)->next = v;
	else
		parent->first = v;
	*last = v;
}

static int compare_places(const struct fmt_value *a, const struct fmt_value *b)
{
	if (a->key_line != b->key_line)
		return a->key_line < b->key_line ? -1 : 1;
	return a->key_column < b->key_column ? -1 : a->key_column > b->key_column;
}

static int compare_members(const void *p, const void *q)
{
	const struct fmt_value *const *a = p, *const *b = q;
	int r = strcmp((*a)->key, (*b)->key);

	return r ? r : compare_places(*a, *b);
}

/* Sorted, not each beside each: a document may be one map. Names the first that is too many. */
int doc_check_keys(const struct fmt_doc *doc, const struct fmt_value *map, struct fault *f)
{
	size_t n = 0;
	auto_free const struct fmt_value **list = mem_zeroed(fmt_count(map) + 1, sizeof *list);
	const struct fmt_value *old = NULL, *twice = NULL;

	FMT_EACH(v, map)
		list[n++] = v;
	qsort(list, n, sizeof *list, compare_members);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(list[i - 1]->key, list[i]->key) &&
			(!twice || compare_places(list[i], twice) < 0)) {
			old = list[i - 1];
			twice = list[i];
		}
	return !twice ? 0 : doc_fail(doc, twice->key_line, twice->key_column, f,
		"'%.40s' is here twice, first in line %" PRIu32, twice->key, old->key_line);
}

static __attribute__((format(printf, 5, 0))) int fail_at(const struct fmt_doc *doc, uint32_t line,
	uint32_t column, struct fault *f, const char *format, va_list ap)
{
	char text[sizeof f->text];

	vsnprintf(text, sizeof text, format, ap);
	return fault_set(f, FAULT_FORMAT, 0, "%.100s:%" PRIu32 ":%" PRIu32 ": %s", doc->name, line,
		column, text);
}

int doc_fail(const struct fmt_doc *doc, uint32_t line, uint32_t column, struct fault *f,
	const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int r = fail_at(doc, line, column, f, format, ap);
	va_end(ap);
	return r;
}

int fmt_fail(const struct fmt_doc *doc, const struct fmt_value *v, struct fault *f, const char *format,
	...)
{
	va_list ap;

	va_start(ap, format);
	int r = fail_at(doc, v->line, v->column, f, format, ap);
	va_end(ap);
	return r;
}

/* The place of the first byte that is NUL or not UTF-8; false when all are fine. */
static bool find_bad_byte(const unsigned char *p, size_t n, uint32_t *ret_line, uint32_t *ret_column)
{
	uint32_t line = 1, column = 1;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_sequence(p + i, n - i);
		if (!len || !p[i]) {
			*ret_line = line;
			*ret_column = column;
			return true;
		}
		column++;
		if (p[i] == '\n') {
			line++;
			column = 1;
		}
		i += len;
	}
	return false;
}

static size_t mark_bytes(const unsigned char *p, size_t n)
{
	return n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? 3 : 0;
}

bool fmt_is_json(const void *p, size_t n)
{
	const unsigned char *b = p;
	size_t i = mark_bytes(b, n);

	while (i < n && b[i] && strchr(" \t\r\n", b[i]))
		i++;
	return i < n && b[i] == '{';
}

static int parse(struct fmt_doc *doc, const unsigned char *p, size_t n, bool json, struct fmt_doc **ret,
	struct fault *f)
{
	size_t mark = mark_bytes(p, n);
	uint32_t line, column;
	int r;

	doc->json = json || fmt_is_json(p, n);
	p += mark;
	n -= mark;
	if (find_bad_byte(p, n, &line, &column))
		r = doc_fail(doc, line, column, f, "a byte that is NUL or not UTF-8");
	else
		r = !doc->json ? doc_parse_yaml(doc, p, n, f) :
			json ? doc_parse_json(doc, p, n, f) : doc_parse_outside(doc, p, n, f);
	if (r < 0)
		doc = fmt_free(doc);
	else
		*ret = doc;
	return r;
}

int fmt_parse(const char *name, const void *p, size_t n, struct fmt_doc **ret, struct fault *f)
{
	if (n > LIMIT_SPEC_BYTES)
		return fault_set(f, FAULT_LIMIT, 0, "%.100s is longer than %llu bytes", name,
			LIMIT_SPEC_BYTES);
	return parse(doc_new(name, SPEC_NODES, true), p, n, false, ret, f);
}

int fmt_parse_json(const char *name, const void *p, size_t n, struct fmt_doc **ret, struct fault *f)
{
	if (n > LIMIT_STATE_BYTES)
		return fault_set(f, FAULT_LIMIT, 0, "%.100s is longer than %llu bytes", name,
			LIMIT_STATE_BYTES);
	return parse(doc_new(name, STATE_NODES, false), p, n, true, ret, f);
}
