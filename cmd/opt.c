#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "base/number.h"
#include "opt.h"

enum { OPTS_MAX = 64 };

struct parser {
	const struct cmd *cmd;
	void *args;
	char **argv;
	int at;                      /* the next word */
	bool ended;                  /* "--" was seen */
	const struct opt *seen[256]; /* by exclusion group */
	struct opt_words *words;
	struct fault *f;
};

static int store_enum(const struct opt *o, const char *s, int *ret, struct fault *f)
{
	char list[160] = "";
	size_t n = 0;

	for (; o->choices[n]; n++) {
		if (!strcmp(o->choices[n], s)) {
			*ret = (int)n;
			return 0;
		}
		size_t end = strlen(list);
		snprintf(list + end, sizeof list - end, "%s%s", n ? ", " : "", o->choices[n]);
	}
	const char *near = near_find(s, o->choices, n);
	return fault_set(f, FAULT_USAGE, 0, "'%.40s' is none of %s%s%s%s", s, list,
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static void store_list(char ***list, char *s)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	*list = mem_resized(*list, n + 2, sizeof **list);
	(*list)[n] = s;
	(*list)[n + 1] = NULL;
}

static int store_value(const struct opt *o, char *s, void *args, struct fault *f)
{
	void *p = (char *)args + o->at;
	/* What is written as JSON must stay a signed number. */
	uint64_t max = o->max ? o->max : INT64_MAX;

	switch (o->type) {
	case OPT_TYPE_FLAG:
		*(bool *)p = true;
		return 0;
	case OPT_TYPE_UINT:
		return number_parse_uint(s, o->min, max, p, f);
	case OPT_TYPE_SIZE:
		return number_parse_size(s, o->min, max, p, f);
	case OPT_TYPE_TIME:
		return number_parse_time(s, o->min, max, p, f);
	case OPT_TYPE_CPU:
		return number_parse_cpu(s, o->min, max, p, f);
	case OPT_TYPE_TEXT:
		*(const char **)p = s;
		return 0;
	case OPT_TYPE_LIST:
		store_list(p, s);
		return 0;
	case OPT_TYPE_ENUM:
		return store_enum(o, s, p, f);
	case OPT_TYPE_MAX:
		break;
	}
	abort();
}

static int take_option(struct parser *p, const struct opt *o, char *value)
{
	const struct opt *other = p->seen[o->excl];

	if (o->excl && other && other != o)
		return fault_set(p->f, FAULT_USAGE, 0, "--%s and --%s exclude each other", other->name,
			o->name);
	p->seen[o->excl] = o;
	if (store_value(o, value, p->args, p->f) < 0)
		return fault_wrap(p->f, "--%s", o->name);
	return 0;
}

static int fail_unknown(struct parser *p, const char *word, size_t n)
{
	const char *names[OPTS_MAX + 1] = { "help" };
	size_t n_names = 1;
	char name[64];

	snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), word + 2);
	EACH_OPT(o, p->cmd)
		if (n_names <= OPTS_MAX)
			names[n_names++] = o->name;
	const char *near = near_find(name, names, n_names);
	return fault_set(p->f, FAULT_USAGE, 0, "--%s: no such option%s%s%s", name,
		near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

/* --name, --name=value or --name value. Only whole names are taken: an abbreviation would
 * change its meaning with the next option that begins so. */
static int parse_long(struct parser *p, char *word)
{
	size_t n = strcspn(word + 2, "=");
	char *value = word[2 + n] ? word + 2 + n + 1 : NULL;
	const struct opt *o = p->cmd->opts;

	while (o && o->name && (strlen(o->name) != n || strncmp(o->name, word + 2, n) != 0))
		o++;
	if (!o || !o->name) {
		if (n == 4 && !value && !strncmp(word, "--help", 6))
			return OPT_HELP;
		return fail_unknown(p, word, n);
	}
	if (o->type == OPT_TYPE_FLAG && value)
		return fault_set(p->f, FAULT_USAGE, 0, "--%s takes no value", o->name);
	if (o->type != OPT_TYPE_FLAG && !value && !(value = p->argv[p->at]))
		return fault_set(p->f, FAULT_USAGE, 0, "--%s: a value is missing: %s", o->name,
			o->value);
	if (o->type != OPT_TYPE_FLAG && !word[2 + n])
		p->at++;
	return take_option(p, o, value);
}

/* -a, -ab, -aVALUE or -a VALUE. */
static int parse_letters(struct parser *p, char *word)
{
	for (char *s = word + 1; *s; s++) {
		const struct opt *o = p->cmd->opts;
		while (o && o->name && o->letter != *s)
			o++;
		if (!o || !o->name) {
			if (*s == 'h')
				return OPT_HELP;
			return fault_set(p->f, FAULT_USAGE, 0, "-%c: no such option", *s);
		}
		if (o->type != OPT_TYPE_FLAG) {
			char *value = s[1] ? s + 1 : p->argv[p->at];
			if (!value)
				return fault_set(p->f, FAULT_USAGE, 0, "-%c: a value is missing: %s",
					*s, o->value);
			if (!s[1])
				p->at++;
			return take_option(p, o, value);
		}
		int r = take_option(p, o, NULL);
		if (r)
			return r;
	}
	return 0;
}

/* How many operands may stand in front of a program; UINT_MAX without one. */
static unsigned operands_before_program(const struct cmd *c)
{
	unsigned n = 0;

	if (!c->runs_program)
		return UINT_MAX;
	EACH_OPERAND(a, c) {
		if (a->complete == COMP_PROGRAM)
			break;
		n += a->max;
	}
	return n;
}

static int parse_words(struct parser *p)
{
	unsigned room = operands_before_program(p->cmd);
	char *word;

	while ((word = p->argv[p->at++])) {
		if (!p->ended && !strcmp(word, "--")) {
			p->ended = true;
		} else if (!p->ended && word[0] == '-' && word[1]) {
			int r = word[1] == '-' ? parse_long(p, word) : parse_letters(p, word);
			if (r)
				return r;
		} else if (p->words->n == room) {
			p->words->program = p->argv + p->at - 1;
			p->words->dashes = p->ended;
			return 0;
		} else {
			p->words->operands[p->words->n++] = word;
		}
	}
	return 0;
}

static int check_choice(const struct operand *a, const char *word, struct fault *f)
{
	size_t n = 0;

	for (; a->choices && a->choices[n]; n++)
		if (!strcmp(a->choices[n], word))
			return 0;
	if (!a->choices)
		return 0;
	const char *near = near_find(word, a->choices, n);
	return fault_set(f, FAULT_USAGE, 0, "'%.40s' is none of %s%s%s%s", word, a->name,
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int check_operands(const struct cmd *c, const struct opt_words *w, struct fault *f)
{
	unsigned at = 0, n = w->n;

	while (w->program && w->program[n - w->n])
		n++;
	EACH_OPERAND(a, c) {
		if (n - at < a->min)
			return fault_set(f, FAULT_USAGE, 0, "%s is missing", a->name);
		if (at < w->n && check_choice(a, w->operands[at], f) < 0)
			return -(int)f->kind;
		at += n - at < a->max ? n - at : a->max;
	}
	if (at < n)
		return fault_set(f, FAULT_USAGE, 0, "'%.60s' is one operand too many",
			at < w->n ? w->operands[at] : w->program[at - w->n]);
	return 0;
}

int opt_parse(const struct cmd *c, char **argv, void *args, struct opt_words *ret, struct fault *f)
{
	struct parser p = { .cmd = c, .args = args, .argv = argv, .at = 1, .words = ret, .f = f };
	size_t n_words = 1;

	while (argv[n_words - 1])
		n_words++;
	*ret = (struct opt_words){ .operands = mem_new_array(char *, n_words) };
	if (c->defaults)
		memcpy(args, c->defaults, c->args_size);
	int r = parse_words(&p);
	return r ? r : check_operands(c, ret, f);
}

void opt_done(const struct cmd *c, void *args, struct opt_words *w)
{
	EACH_OPT(o, c) {
		if (o->type != OPT_TYPE_LIST)
			continue;
		char ***list = (char ***)((char *)args + o->at);
		free(*list);
		*list = NULL;
	}
	free(w->operands);
	*w = (struct opt_words){ 0 };
}

int opt_session_operand(const struct cmd *c)
{
	int i = 0;

	EACH_OPERAND(a, c) {
		if (a->complete == COMP_SESSION)
			return i;
		i++;
	}
	return -1;
}

void opt_synopsis(const struct cmd *c, FILE *out, const char *bold, const char *italic)
{
	fprintf(out, "%s" SBX_PROGRAM " %s%s", bold, c->name, bold);
	fprintf(out, " [%sOPTION%s...]", italic, italic);
	EACH_OPERAND(a, c)
		fprintf(out, a->min ? " %s%s%s%s" : " [%s%s%s%s]", italic, a->name, italic,
			a->max > 1 ? "..." : "");
}

/* Columns of the help: 80 less the left part, as the rules of the tables keep it. */
enum { HELP_LEFT = 26 };

static void help_option(const struct opt *o, FILE *out)
{
	char left[96];
	char letter[5] = "    ";

	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	int w = snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name, o->value ? "=" : "",
		o->value ? o->value : "");
	if (w >= HELP_LEFT)
		fprintf(out, "%s\n%*s%s\n", left, HELP_LEFT, "", o->help);
	else
		fprintf(out, "%-*s%s\n", HELP_LEFT, left, o->help);
	if (!o->choices)
		return;
	fprintf(out, "%*s(", HELP_LEFT, "");
	for (int i = 0; o->choices[i]; i++)
		fprintf(out, "%s%s", i ? ", " : "", o->choices[i]);
	fputs(")\n", out);
}

void opt_help(const struct cmd *c, FILE *out)
{
	fputs("Usage: ", out);
	opt_synopsis(c, out, "", "");
	fprintf(out, "\n%s.\n\n", c->summary);
	EACH_OPT(o, c)
		help_option(o, out);
	fprintf(out, "%-*s%s\n", HELP_LEFT, "  -h, --help", "show this text");
	fprintf(out, "\nThe manual page " SBX_PROGRAM "-%s(1) has the details.\n", c->name);
}
