/*
 * YAML and JSON from outside: one small tree, every node with its place, and tables that
 * fill structs from it.
 *
 *	auto_doc struct fmt_doc *doc = NULL;
 *	r = fmt_parse("job.yaml", p, n, &doc, &f);          a person's or a model's file
 *	r = fmt_fill(fmt_root(doc), fields, &args, &f);     "job.yaml:3:5: …"
 *
 *	r = fmt_parse_json("status.json", p, n, &doc, &f);  what this program wrote
 *	pid = fmt_int(fmt_get(fmt_root(doc), "pid"), 0);
 *	FMT_EACH(v, fmt_get(fmt_root(doc), "contexts")) …
 *
 * The readers take NULL for "not there". Anchors, aliases, tags, merge keys, duplicate
 * keys, NUL and what is not UTF-8 are refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum fmt_kind { FMT_NULL, FMT_BOOL, FMT_NUMBER, FMT_STRING, FMT_LIST, FMT_MAP };

struct fmt_value {
	enum fmt_kind kind;
	uint32_t line, column;  /* of its first byte, from 1 */
	const char *key;        /* of a member of a map, NUL-terminated; else NULL */
	uint32_t key_line, key_column;
	const char *text;       /* of a scalar: decoded, NUL-terminated */
	size_t n;               /* [bytes] of text; a string of fmt_parse_json may have NUL in it */
	struct fmt_value *first, *next; /* members or items; the next one in the same parent */
};

struct fmt_doc;
#define auto_doc __attribute__((cleanup(fmt_free_at)))

/*
 * fmt_parse - reads YAML, or strict JSON where the first byte that is not space is '{'
 * @name:  how to call it in messages
 * @p:     the text
 * @n:     [bytes] its length
 * @ret:   the document; set on 0 only
 *
 * Returns: 0, or negative.
 * Faults:  FORMAT  with "NAME:LINE:COLUMN: " in front; also deeper than 32.
 *          LIMIT   longer than LIMIT_SPEC_BYTES, or more than 10000 values.
 */
int fmt_parse(const char *name, const void *p, size_t n, struct fmt_doc **ret, struct fault *f);

/* The first byte that is not space is '{'; anything else is read as YAML. */
bool fmt_is_json(const void *p, size_t n);

/* False in a program without libyaml and json-c: there fmt_parse refuses everything. */
extern const bool fmt_has_outside;

/* Strict JSON that this program wrote. Faults: FORMAT; LIMIT over LIMIT_STATE_BYTES or a
 * million values. */
int fmt_parse_json(const char *name, const void *p, size_t n, struct fmt_doc **ret, struct fault *f);

struct fmt_doc *fmt_free(struct fmt_doc *doc);
void fmt_free_at(struct fmt_doc **doc);

const struct fmt_value *fmt_root(const struct fmt_doc *doc);

/* The member of a map, or NULL. */
const struct fmt_value *fmt_get(const struct fmt_value *map, const char *key);

/* A string without NUL in it; else the fallback (which may be NULL). */
const char *fmt_string(const struct fmt_value *v, const char *fallback);

/* A whole number that fits; else the fallback. */
int64_t fmt_int(const struct fmt_value *v, int64_t fallback);
bool fmt_bool(const struct fmt_value *v, bool fallback);

/* Members or items; 0 for a scalar. */
size_t fmt_count(const struct fmt_value *v);

#define FMT_EACH(item, v)                                                                        \
	for (const struct fmt_value *item##_in = (v), *item = item##_in ? item##_in->first : NULL; \
		item; item = item->next)

enum fmt_type {
	FMT_TYPE_TEXT,  /* char *, owned */
	FMT_TYPE_ID,    /* char [ID_TEXT] */
	FMT_TYPE_UINT,  /* uint64_t */
	FMT_TYPE_SIZE,  /* uint64_t [bytes] */
	FMT_TYPE_TIME,  /* uint64_t [ms]; a bare number is seconds */
	FMT_TYPE_CPU,   /* uint64_t, thousandths of a CPU */
	FMT_TYPE_BOOL,  /* bool */
	FMT_TYPE_ENUM,  /* int, index into choices */
	FMT_TYPE_TEXTS, /* char **, owned, NULL-terminated */
	FMT_TYPE_ENV,   /* char **, owned: a map K: V as K=V, or a list of K=V */
	FMT_TYPE_TABLE, /* a map with keys of its own; at is added to theirs */
	FMT_TYPE_ANY,   /* const struct fmt_value *, lives as long as the document */
};

struct fmt_field {
	const char *key; /* NULL ends the table */
	enum fmt_type type;
	size_t at;
	uint64_t min, max; /* of a number; max 0: any. Of a text: max [bytes] */
	const char *const *choices;     /* FMT_TYPE_ENUM: NULL-terminated */
	const struct fmt_field *fields; /* FMT_TYPE_TABLE */
};

/*
 * fmt_fill - stores the members of a map in a struct
 * @doc:     for its name in messages; its root must be a map
 * @fields:  the only keys allowed; two keys of one field exclude each other
 * @ret:     fields whose keys are missing, or null, stay as they are; what was owned
 *           before must be NULL. Filled in part on failure.
 *
 * Returns: 0, or negative; fmt_drop in both cases, unless the struct has its own end.
 * Faults:  FORMAT  a key is not known, or a value is wrong; with its place.
 */
int fmt_fill(const struct fmt_doc *doc, const struct fmt_field *fields, void *ret, struct fault *f);

/* Frees what fmt_fill made. */
void fmt_drop(const struct fmt_field *fields, void *p);

/* A fault with the place of v in front. Always negative. */
int fmt_fail(const struct fmt_doc *doc, const struct fmt_value *v, struct fault *f, const char *format,
	...) __attribute__((format(printf, 4, 5), cold));
