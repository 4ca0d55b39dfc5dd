/*
 * Option tables: one table a command drives parsing, --help, the manual and the shell
 * completions.
 *
 *	struct rm_args { bool force; uint64_t grace_ms; char **labels; };
 *	#define S struct rm_args
 *	static const struct opt opts[] = {
 *		OPT_FLAG(S, force, 'f', "force", "kill what still runs"),
 *		OPT_TIME(S, grace_ms, 0, "grace", "TIME", "wait this long before killing"),
 *		OPT_LIST(S, labels, 'l', "label", "K=V", COMP_NONE, "only with this label; repeatable"),
 *		{ 0 },
 *	};
 *	#undef S
 *
 * The struct begins as the command's .defaults, or zeroed. A row that names a field of
 * another type does not compile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

enum opt_type {
	OPT_TYPE_FLAG, /* bool */
	OPT_TYPE_UINT, /* uint64_t */
	OPT_TYPE_SIZE, /* uint64_t [bytes] */
	OPT_TYPE_TIME, /* uint64_t [ms] */
	OPT_TYPE_CPU,  /* uint64_t, thousandths of a CPU */
	OPT_TYPE_TEXT, /* const char * */
	OPT_TYPE_LIST, /* char **, NULL-terminated; NULL when it was not given */
	OPT_TYPE_ENUM, /* int, index into choices */
	OPT_TYPE_MAX,
};

/* For .defaults: a number that was not given. No option accepts it as a value. */
#define OPT_UNSET UINT64_MAX

/* What a shell offers for a value or an operand. */
enum complete {
	COMP_NONE, COMP_FILE, COMP_DIR, COMP_PROGRAM, COMP_SESSION, COMP_RUNTIME, COMP_COLUMNS,
};

struct opt {
	const char *name;  /* long name, without dashes; NULL ends the table */
	char letter;       /* short name, or 0 */
	uint8_t excl;      /* options with the same number exclude each other; 0: none */
	enum opt_type type;
	enum complete complete;
	size_t at;         /* offset of the field in the command's args struct */
	uint64_t min, max; /* of a number, in the unit of the field; max 0: any */
	const char *value; /* name of the value in help and manual, NULL for flags */
	const char *help;  /* lower case, no full stop, at most 52 bytes */
	const char *const *choices; /* OPT_TYPE_ENUM only, NULL-terminated */
};

struct operand {
	const char *name; /* NULL ends the table; the row with COMP_PROGRAM begins the program; with
	                     choices they are the name: "list|rm" */
	unsigned min, max; /* UINT_MAX: any number */
	enum complete complete;
	const char *const *choices; /* the only words allowed, or NULL */
};

struct column;
struct cmd_env;

enum { NEED_STORE = 1, NEED_SESSION = 2, NEED_FOUND_SESSION = 4 };

struct cmd {
	const char *name;
	const char *summary;
	const struct opt *opts;         /* NULL: none */
	const struct operand *operands; /* NULL: none */
	const struct column *columns;   /* what --columns chooses from, or NULL */
	const void *defaults;           /* of the args struct, or NULL */
	size_t args_size;
	unsigned needs;    /* NEED_STORE: env->store is open; NEED_SESSION: and env->session,
	                      named by the operand with COMP_SESSION, where that was given;
	                      NEED_FOUND_SESSION: the same with its files not read yet */
	bool runs_program; /* options end at the program; its exit status is passed on */
	int (*run)(struct cmd_env *env, const void *args, struct fault *f); /* exit code ≥ 0 */
};

/* The offset of field f of struct S, refused at compile time if f is not a T. */
#define OPT_AT(S, f, T)                                                                          \
	(offsetof(S, f) +                                                                        \
		0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((S *)0)->f), T) ? 1 : -1]))

/* Rows. l: letter or 0; n: name; v: name of the value; c: what completes it; h: help.
 * Further members go behind it: OPT_ROW(FLAG, S, json, bool, 'j', "json", "…", .excl = 1). */
#define OPT_ROW(K, S, f, T, l, n, h, ...)                                                        \
	{ .name = n, .letter = l, .type = OPT_TYPE_##K, .at = OPT_AT(S, f, T), .help = h, __VA_ARGS__ }
#define OPT_FLAG(S, f, l, n, h)       OPT_ROW(FLAG, S, f, bool, l, n, h, )
#define OPT_UINT(S, f, l, n, v, h)    OPT_ROW(UINT, S, f, uint64_t, l, n, h, .value = v)
#define OPT_SIZE(S, f, l, n, v, h)    OPT_ROW(SIZE, S, f, uint64_t, l, n, h, .value = v)
#define OPT_TIME(S, f, l, n, v, h)    OPT_ROW(TIME, S, f, uint64_t, l, n, h, .value = v)
#define OPT_CPU(S, f, l, n, v, h)     OPT_ROW(CPU, S, f, uint64_t, l, n, h, .value = v)
#define OPT_TEXT(S, f, l, n, v, c, h) \
	OPT_ROW(TEXT, S, f, const char *, l, n, h, .value = v, .complete = c)
#define OPT_LIST(S, f, l, n, v, c, h) OPT_ROW(LIST, S, f, char **, l, n, h, .value = v, .complete = c)
#define OPT_ENUM(S, f, l, n, v, c, h) OPT_ROW(ENUM, S, f, int, l, n, h, .value = v, .choices = c)

/* What stood on the command line beside options. Points into argv. */
struct opt_words {
	char **operands;  /* without the program; NULL-terminated */
	unsigned n;
	char **program;   /* .runs_program: the program and its arguments; NULL: none */
	bool dashes;      /* "--" stood in front of the program */
};

enum { OPT_HELP = 1 };

/*
 * opt_parse - reads a command line by its table
 * @argv:  argv[0] is the command's name; NULL-terminated
 * @args:  the command's struct, zeroed; gets its defaults, then the values
 * @ret:   the other words; opt_done frees them
 *
 * Returns: 0, OPT_HELP when --help stood there, or negative; opt_done in every case.
 * Faults:  USAGE  no such option, a wrong value, or the wrong number of operands.
 */
int opt_parse(const struct cmd *c, char **argv, void *args, struct opt_words *ret, struct fault *f);
void opt_done(const struct cmd *c, void *args, struct opt_words *w);

/* At most 80 columns. */
void opt_help(const struct cmd *c, FILE *out);
/* One line; bold and italic are put around what a manual page shows so. */
void opt_synopsis(const struct cmd *c, FILE *out, const char *bold, const char *italic);

/* The index of the operand row that names the session, or -1. */
int opt_session_operand(const struct cmd *c);

#define EACH_OPT(o, c) for (const struct opt *o = (c)->opts; o && o->name; o++)
#define EACH_OPERAND(a, c) for (const struct operand *a = (c)->operands; a && a->name; a++)
