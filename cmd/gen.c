/* What is derived from the command tables: manual sections and the description in JSON.
 * The completions are in shells.c. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/json.h"
#include "cmds.h"
#include "shells.h"

struct exit_code {
	int code; /* the last row has the code -1 */
	const char *text;
};

static const struct exit_code own_exits[] = {
	{ 0, "success" },
#define X(name, code, json, text) { code, text },
#include "base/fault.def"
#undef X
	{ -1, NULL },
};

static const struct exit_code program_exits[] = {
#define X(code, text) { code, text },
#include "exit.def"
#undef X
	{ -1, NULL },
};

static const char *const type_names[OPT_TYPE_MAX] = { "flag", "uint", "size", "time", "cpu", "text",
	"list", "enum" };
static const char *const complete_names[] = { "none", "file", "directory", "program", "session",
	"runtime", "columns" };

/* scdoc reads _ and * in texts. Source: scdoc(5). */
static void put_scdoc(const char *s, bool sentence, FILE *out)
{
	fputc(sentence ? toupper((unsigned char)*s) : *s, out);
	for (s++; *s; s++) {
		if (strchr("_*\\<>#", *s))
			fputc('\\', out);
		fputc(*s, out);
	}
}

static void man_choices(const char *const *choices, FILE *out)
{
	for (size_t i = 0; choices && choices[i]; i++)
		fprintf(out, "%s*%s*%s", i ? ", " : " One of ", choices[i], choices[i + 1] ? "" : ".");
}

static void man_option(const struct cmd *c, const struct opt *o, FILE *out)
{
	if (o->letter)
		fprintf(out, "*-%c*, ", o->letter);
	fprintf(out, "*--%s*", o->name);
	if (o->value)
		fprintf(out, "=_%s_", o->value);
	fputs("\n\t", out);
	put_scdoc(o->help, true, out);
	fputc('.', out);
	man_choices(o->choices, out);
	EACH_OPT(q, c)
		if (o->excl && q != o && q->excl == o->excl)
			fprintf(out, " Excludes *--%s*.", q->name);
	fputs("\n\n", out);
}

static void man_exits(const struct exit_code *e, FILE *out)
{
	for (; e->code >= 0; e++) {
		fprintf(out, "*%d*\n\t", e->code);
		put_scdoc(e->text, true, out);
		fputs(".\n\n", out);
	}
}

/* scdoc(5) sections for the manual of one command. */
static void gen_man(const struct cmd *c, FILE *out)
{
	fputs("# OPTIONS\n\n", out);
	EACH_OPT(o, c)
		man_option(c, o, out);
	fputs("*-h*, *--help*\n\tShow a short help text.\n\n", out);
	if (c->columns)
		fputs("# COLUMNS\n\n", out);
	for (const struct column *k = c->columns; k && k->key; k++) {
		fputc('*', out);
		put_scdoc(k->key, false, out);
		fputs("*\n\t", out);
		put_scdoc(k->help, true, out);
		fputs(k->extra ? ". Shown when it is asked for.\n\n" : ".\n\n", out);
	}
	fputs("# EXIT STATUS\n\n", out);
	if (c->runs_program)
		fputs("The exit status of the program, or:\n\n", out);
	man_exits(c->runs_program ? program_exits : own_exits, out);
}

/* The lists of the manual page of the program itself. */
static void gen_man_overview(FILE *out)
{
	fputs("# COMMANDS\n\n", out);
	EACH_CMD(c) {
		fprintf(out, "*" SBX_PROGRAM "-%s*(1)\n\t", c->name);
		put_scdoc(c->summary, true, out);
		fputs(".\n\n", out);
	}
	fputs("# EXIT STATUS\n\nOf *exec* and *run*: the exit status of the program, or:\n\n", out);
	man_exits(program_exits, out);
	fputs("Of every other command:\n\n", out);
	man_exits(own_exits, out);
}

static void json_choices(struct text *t, const char *const *choices)
{
	if (!choices)
		return;
	json_key(t, "choices");
	json_open(t, '[');
	for (; *choices; choices++)
		json_string(t, *choices);
	json_close(t, ']');
}

static void json_option(struct text *t, const struct cmd *c, const struct opt *o)
{
	json_open(t, '{');
	json_put_string(t, "name", o->name);
	json_key(t, "letter");
	json_string(t, o->letter ? (char[]){ o->letter, 0 } : NULL);
	json_put_string(t, "type", type_names[o->type]);
	json_put_string(t, "value", o->value);
	json_put_string(t, "help", o->help);
	json_put_string(t, "complete", complete_names[o->complete]);
	json_put_bool(t, "repeatable", o->type == OPT_TYPE_LIST);
	json_choices(t, o->choices);
	json_key(t, "excludes");
	json_open(t, '[');
	EACH_OPT(q, c)
		if (o->excl && q != o && q->excl == o->excl)
			json_string(t, q->name);
	json_close(t, ']');
	json_close(t, '}');
}

static void json_operand(struct text *t, const struct operand *a)
{
	json_open(t, '{');
	json_put_string(t, "name", a->name);
	json_put_int(t, "min", a->min);
	json_key(t, "max");
	if (a->max == UINT_MAX)
		json_null(t);
	else
		json_int(t, a->max);
	json_put_string(t, "complete", complete_names[a->complete]);
	json_choices(t, a->choices);
	json_close(t, '}');
}

static void json_command(struct text *t, const struct cmd *c)
{
	json_open(t, '{');
	json_put_string(t, "name", c->name);
	json_put_string(t, "summary", c->summary);
	json_put_bool(t, "runs_program", c->runs_program);
	json_key(t, "options");
	json_open(t, '[');
	EACH_OPT(o, c)
		json_option(t, c, o);
	json_close(t, ']');
	json_key(t, "operands");
	json_open(t, '[');
	EACH_OPERAND(a, c)
		json_operand(t, a);
	json_close(t, ']');
	json_key(t, "columns");
	json_open(t, '[');
	for (const struct column *k = c->columns; k && k->key; k++)
		json_string(t, k->key);
	json_close(t, ']');
	json_close(t, '}');
}

static void gen_json(FILE *out)
{
	auto_text struct text t = { 0 };

	json_open(&t, '{');
	json_put_string(&t, "schema", "sbx.commands/1");
	json_put_string(&t, "name", SBX_PROGRAM);
	json_put_string(&t, "version", SBX_VERSION);
	json_key(&t, "commands");
	json_open(&t, '[');
	EACH_CMD(c)
		json_command(&t, c);
	json_close(&t, ']');
	json_close(&t, '}');
	fprintf(out, "%s\n", t.data);
}

int gen(const char *what, const char *name, FILE *out, struct fault *f)
{
	const struct cmd *c = name ? cmd_find(name) : NULL;

	if (!strcmp(what, "bash"))
		gen_bash(out);
	else if (!strcmp(what, "zsh"))
		gen_zsh(out);
	else if (!strcmp(what, "fish"))
		gen_fish(out);
	else if (!strcmp(what, "json"))
		gen_json(out);
	else if (!strcmp(what, "man") && c)
		gen_man(c, out);
	else if (!strcmp(what, "man") && !name)
		gen_man_overview(out);
	else if (!strcmp(what, "synopsis") && c)
		opt_synopsis(c, out, "*", "_");
	else
		return fault_set(f, FAULT_USAGE, 0, "__gen: bash, zsh, fish, json, man [COMMAND], or "
			"synopsis COMMAND");
	return 0;
}
