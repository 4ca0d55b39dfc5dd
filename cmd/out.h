/*
 * Tables: one list of columns makes aligned text or one JSON object a row.
 *
 *	struct row { const char *id; uint64_t memory_bytes; };
 *	static const struct column columns[] = {
 *		COLUMN(struct row, id, TEXT, "id", "ID", 0, "id of the session"),
 *		COLUMN(struct row, memory_bytes, SIZE, "memory_bytes", "MEMORY", 0, "limit"),
 *		{ 0 },
 *	};
 *
 *	struct out o = { 0 };
 *	r = out_init(&o, columns, a->columns, a->json ? "sbx.session/1" : NULL, f);
 *	out_row(&o, &row); …
 *	out_done(&o);                  prints the text; also after a failure
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"

#include "opt.h"

enum column_kind {
	COLUMN_TEXT, /* const char *; NULL: "-", null */
	COLUMN_UINT, /* uint64_t */
	COLUMN_SIZE, /* uint64_t [bytes]: "256 MiB"; 0: "-", null */
	COLUMN_TIME, /* uint64_t [ms]: "90 s"; 0: "-", null */
	COLUMN_CPU,  /* uint64_t, thousandths: "1.5"; 0: "-", null */
	COLUMN_WHEN, /* int64_t [µs] wall clock: RFC 3339; 0: "-", null */
	COLUMN_BOOL, /* bool: "yes", "no" */
};

struct column {
	const char *key;  /* in JSON and --columns, with its unit; NULL ends the table */
	const char *head; /* upper case */
	enum column_kind kind;
	size_t at;        /* offset of the field in the row */
	unsigned width;   /* [cells] it may be cut down to on a narrow terminal; 0: never cut */
	bool extra;       /* shown only where --columns names it, and in JSON */
	const char *help;
};

/* As OPT_AT: a row whose field has another type than its kind does not compile. */
#define COLUMN_TYPE_TEXT const char *
#define COLUMN_TYPE_UINT uint64_t
#define COLUMN_TYPE_SIZE uint64_t
#define COLUMN_TYPE_TIME uint64_t
#define COLUMN_TYPE_CPU  uint64_t
#define COLUMN_TYPE_WHEN int64_t
#define COLUMN_TYPE_BOOL bool
#define COLUMN(S, f, K, k, h, w, t)                                                              \
	{ .key = k, .head = h, .kind = COLUMN_##K, .at = OPT_AT(S, f, COLUMN_TYPE_##K), .width = w, \
		.help = t }

enum { COLUMNS_MAX = 32 };

struct out {
	const struct column *shown[COLUMNS_MAX];
	size_t n;           /* columns */
	const char *schema; /* NULL: text */
	struct text cells;  /* text: all cells, each with its NUL, row after row */
	size_t n_rows;
};

/*
 * out_init - begins a table on standard output
 * @columns:  the table of the command
 * @names:    "id,name", or NULL: those that are not extra (in JSON: all)
 * @schema:   of a JSON row; NULL for text
 *
 * Returns: 0, or negative.
 * Faults:  USAGE  a name is none of the table.
 */
int out_init(struct out *o, const struct column *columns, const char *names, const char *schema,
	struct fault *f);
void out_row(struct out *o, const void *row);
void out_done(struct out *o);
