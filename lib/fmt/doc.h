/* Inside of fmt/: documents while they are built. */
#pragma once

#include "fmt/fmt.h"

struct chunk;

struct fmt_doc {
	char *name;
	struct fmt_value *root;
	struct chunk *chunks;
	size_t n_nodes, max_nodes;
	bool strict; /* from outside: NUL is refused */
	bool json;   /* quotes tell a text from a number */
};

enum { DEPTH_MAX = 32 };

struct fmt_doc *doc_new(const char *name, size_t max_nodes, bool strict);

/* n bytes that live as long as the document, aligned for anything. */
void *doc_alloc(struct fmt_doc *doc, size_t n);

/* A node. Faults: LIMIT too many. */
int doc_node(struct fmt_doc *doc, enum fmt_kind kind, uint32_t line, uint32_t column,
	struct fmt_value **ret, struct fault *f);

/* A copy of n bytes with a NUL behind. */
void doc_text(struct fmt_doc *doc, struct fmt_value *v, const void *p, size_t n);

/* Puts v behind *last in parent. */
void doc_add(struct fmt_value *parent, struct fmt_value **last, struct fmt_value *v);

/* Faults: FORMAT two members of a map have the same key. */
int doc_check_keys(const struct fmt_doc *doc, const struct fmt_value *map, struct fault *f);

/* Faults: FORMAT, with the place. Always negative. */
int doc_fail(const struct fmt_doc *doc, uint32_t line, uint32_t column, struct fault *f,
	const char *format, ...) __attribute__((format(printf, 5, 6), cold));

/* Faults: LIMIT more values than max_nodes. Always negative. */
int doc_fail_many(const struct fmt_doc *doc, uint32_t line, uint32_t column, struct fault *f);

/* number = [ "-" ] int [ frac ] [ exp ], all of it. Source: RFC 8259 section 6. */
bool doc_is_number(const char *s, size_t n);

/* The readers: fill doc->root. JSON of our own; JSON and YAML of others, through json-c and libyaml.
 * Faults: FORMAT, LIMIT. */
int doc_parse_outside(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f);
int doc_parse_json(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f);
int doc_parse_yaml(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f);
