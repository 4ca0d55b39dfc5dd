/* Structs from maps, by tables. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/number.h"
#include "fmt/doc.h"

enum { FIELDS_MAX = 64 };

static const char *const kind_names[] = { "null", "true or false", "a number", "a text", "a list",
	"a map" };

static int fail_kind(const struct fmt_doc *doc, const struct fmt_value *v, const char *wanted,
	struct fault *f)
{
	return fmt_fail(doc, v, f, "'%s' must be %s, not %s", v->key ? v->key : "the item", wanted,
		kind_names[v->kind]);
}

static bool is_word(const struct fmt_value *v)
{
	return v->kind == FMT_STRING || v->kind == FMT_NUMBER || v->kind == FMT_BOOL;
}

static int fill_number(const struct fmt_doc *doc, const struct fmt_value *v,
	const struct fmt_field *k, uint64_t *ret, struct fault *f)
{
	static int (*const parsers[])(const char *, uint64_t, uint64_t, uint64_t *, struct fault *) = {
		[FMT_TYPE_UINT] = number_parse_uint, [FMT_TYPE_SIZE] = number_parse_size,
		[FMT_TYPE_TIME] = number_parse_time, [FMT_TYPE_CPU] = number_parse_cpu,
	};
	static const char *const wanted[] = {
		[FMT_TYPE_UINT] = "a number", [FMT_TYPE_SIZE] = "a size such as 512Mi",
		[FMT_TYPE_TIME] = "a time such as 90s", [FMT_TYPE_CPU] = "a number such as 1.5",
	};
	struct fault why;

	if (v->kind != FMT_NUMBER && v->kind != FMT_STRING)
		return fail_kind(doc, v, wanted[k->type], f);
	if (parsers[k->type](v->text, k->min, k->max ? k->max : INT64_MAX, ret, &why) < 0)
		return fmt_fail(doc, v, f, "%s: %s", k->key, why.text);
	return 0;
}

static int fill_enum(const struct fmt_doc *doc, const struct fmt_value *v, const struct fmt_field *k,
	int *ret, struct fault *f)
{
	size_t n = 0;

	if (!is_word(v))
		return fail_kind(doc, v, "a word", f);
	for (; k->choices[n]; n++)
		if (!strcmp(k->choices[n], v->text)) {
			*ret = (int)n;
			return 0;
		}
	const char *near = near_find(v->text, k->choices, n);
	if (!near)
		near = k->choices[0];
	return fmt_fail(doc, v, f, "%s: '%.40s' is not possible; did you mean '%s'?", k->key, v->text,
		near);
}

static int fill_text(const struct fmt_doc *doc, const struct fmt_value *v, const struct fmt_field *k,
	char **ret, struct fault *f)
{
	/* A bare word of YAML may look like a number or a truth value: name: 2024. In JSON
	 * quotes say what is meant, and only the text is right. */
	if (v->kind != FMT_STRING && (doc->json || !is_word(v)))
		return fail_kind(doc, v, "a text", f);
	if (k->max && v->n > k->max)
		return fmt_fail(doc, v, f, "%s: longer than %" PRIu64 " bytes", k->key, k->max);
	free(*ret);
	*ret = mem_string(v->text);
	return 0;
}

static int fill_id(const struct fmt_doc *doc, const struct fmt_value *v, const struct fmt_field *k,
	char ret[ID_TEXT], struct fault *f)
{
	if (!is_word(v))
		return fail_kind(doc, v, "a name", f);
	if (!id_is_valid(v->text))
		return fmt_fail(doc, v, f, "%s: '%.40s' is no name; [a-z0-9][a-z0-9_.-]{0,63} is",
			k->key, v->text);
	strcpy(ret, v->text);
	return 0;
}

static int fill_texts(const struct fmt_doc *doc, const struct fmt_value *v, char ***ret,
	struct fault *f)
{
	size_t n = 0;

	if (v->kind != FMT_LIST)
		return fail_kind(doc, v, "a list", f);
	FMT_EACH(item, v)
		if (!is_word(item))
			return fail_kind(doc, item, "a text", f);
	mem_free_strings(*ret);
	char **list = *ret = mem_new_array(char *, fmt_count(v) + 1);
	FMT_EACH(item, v)
		list[n++] = mem_string(item->text);
	return 0;
}

static int fill_env(const struct fmt_doc *doc, const struct fmt_value *v, char ***ret, struct fault *f)
{
	size_t n = 0;

	if (v->kind != FMT_MAP && v->kind != FMT_LIST)
		return fail_kind(doc, v, "a map of names and values", f);
	FMT_EACH(item, v) {
		const char *name = item->key ? item->key : item->text;
		if (!is_word(item))
			return fail_kind(doc, item, "a text", f);
		size_t n_name = item->key ? strlen(name) : strcspn(name, "=");
		if (!n_name || memchr(name, '=', n_name) || (!item->key && !name[n_name]))
			return doc_fail(doc, item->key ? item->key_line : item->line,
				item->key ? item->key_column : item->column, f,
				"'%.40s' is no NAME%s", name, item->key ? "" : "=VALUE");
	}
	mem_free_strings(*ret);
	char **list = *ret = mem_new_array(char *, fmt_count(v) + 1);
	FMT_EACH(item, v)
		list[n++] = item->key ? mem_format("%s=%s", item->key, item->text) :
					mem_string(item->text);
	return 0;
}

static int fill_map(const struct fmt_doc *doc, const struct fmt_value *map,
	const struct fmt_field *fields, char *base, struct fault *f);

static int fill_value(const struct fmt_doc *doc, const struct fmt_value *v, const struct fmt_field *k,
	void *p, struct fault *f)
{
	switch (k->type) {
	case FMT_TYPE_TEXT:
		return fill_text(doc, v, k, p, f);
	case FMT_TYPE_ID:
		return fill_id(doc, v, k, p, f);
	case FMT_TYPE_UINT:
	case FMT_TYPE_SIZE:
	case FMT_TYPE_TIME:
	case FMT_TYPE_CPU:
		return fill_number(doc, v, k, p, f);
	case FMT_TYPE_BOOL:
		if (v->kind != FMT_BOOL)
			return fail_kind(doc, v, "true or false", f);
		*(bool *)p = fmt_bool(v, false);
		return 0;
	case FMT_TYPE_ENUM:
		return fill_enum(doc, v, k, p, f);
	case FMT_TYPE_TEXTS:
		return fill_texts(doc, v, p, f);
	case FMT_TYPE_ENV:
		return fill_env(doc, v, p, f);
	case FMT_TYPE_TABLE:
		return v->kind == FMT_MAP ? fill_map(doc, v, k->fields, p, f) :
					    fail_kind(doc, v, "a map", f);
	case FMT_TYPE_ANY:
		*(const struct fmt_value **)p = v;
		return 0;
	}
	abort();
}

static int fail_unknown(const struct fmt_doc *doc, const struct fmt_value *v,
	const struct fmt_field *fields, struct fault *f)
{
	const char *names[FIELDS_MAX];
	size_t n = 0;

	for (; n < FIELDS_MAX && fields[n].key; n++)
		names[n] = fields[n].key;
	const char *near = near_find(v->key, names, n);
	return doc_fail(doc, v->key_line, v->key_column, f, "'%.40s' is no key here%s%s%s", v->key,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int fill_map(const struct fmt_doc *doc, const struct fmt_value *map,
	const struct fmt_field *fields, char *base, struct fault *f)
{
	const struct fmt_value *given[FIELDS_MAX] = { 0 };

	FMT_EACH(v, map) {
		size_t i = 0;
		while (fields[i].key && strcmp(fields[i].key, v->key) != 0)
			i++;
		if (!fields[i].key)
			return fail_unknown(doc, v, fields, f);
		if (v->kind == FMT_NULL)
			continue;
		for (size_t j = 0; j < FIELDS_MAX && fields[j].key; j++)
			if (given[j] && fields[j].at == fields[i].at &&
				fields[j].type != FMT_TYPE_TABLE && fields[i].type != FMT_TYPE_TABLE)
				return doc_fail(doc, v->key_line, v->key_column, f,
					"'%s' and '%s' say the same; give one", fields[j].key,
					v->key);
		if (i < FIELDS_MAX)
			given[i] = v;
		int r = fill_value(doc, v, &fields[i], base + fields[i].at, f);
		if (r < 0)
			return r;
	}
	return 0;
}

int fmt_fill(const struct fmt_doc *doc, const struct fmt_field *fields, void *ret, struct fault *f)
{
	if (doc->root->kind != FMT_MAP)
		return fmt_fail(doc, doc->root, f, "keys and values are expected, not %s",
			kind_names[doc->root->kind]);
	return fill_map(doc, doc->root, fields, ret, f);
}

void fmt_drop(const struct fmt_field *fields, void *p)
{
	for (; fields->key; fields++) {
		void *at = (char *)p + fields->at;
		if (fields->type == FMT_TYPE_TEXT) {
			free(*(char **)at);
			*(char **)at = NULL;
		} else if (fields->type == FMT_TYPE_TEXTS || fields->type == FMT_TYPE_ENV) {
			mem_free_strings(*(char ***)at);
			*(char ***)at = NULL;
		} else if (fields->type == FMT_TYPE_TABLE) {
			fmt_drop(fields->fields, at);
		}
	}
}
