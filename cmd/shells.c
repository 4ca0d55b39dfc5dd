#include <limits.h>
#include <string.h>

#include "cmds.h"
#include "shells.h"

#define P SBX_PROGRAM

/* Writes s as part of a '...' word, which is the same in the three shells but for the
 * quote itself; bytes of special get a backslash in front. */
static void put_quoted(const char *s, const char *special, FILE *out)
{
	for (; *s; s++) {
		if (*s == '\'') {
			fputs("'\\''", out);
			continue;
		}
		if (strchr(special, *s))
			fputc('\\', out);
		fputc(*s, out);
	}
}

static void put_words(const char *const *words, FILE *out)
{
	for (size_t i = 0; words[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", words[i]);
}

/* --- bash ----------------------------------------------------------------------------- */

static const char bash_begin[] =
	"# bash completion for " P "; written by '" P " __gen bash'\n"
	"_" P "() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]}\n"
	"\tlocal valued='' ended='' n=0 i\n"
	"\tCOMPREPLY=()\n"
	"\t# bash takes --a=b for three words.\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur=''\n"
	"\telif [[ $prev == = ]]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tfi\n"
	"\tif [[ $COMP_CWORD -eq 1 ]]; then\n";

static const char bash_count[] =
	"\tesac\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t--) ended=1 ;;\n"
	"\t\t-?*)\n"
	"\t\t\t[[ $valued == *\" ${COMP_WORDS[i]} \"* ]] && i=$((i + 1))\n"
	"\t\t\t[[ ${COMP_WORDS[i]} == = ]] && i=$((i + 1))\n"
	"\t\t\t;;\n"
	"\t\t*) n=$((n + 1)) ;;\n"
	"\t\tesac\n"
	"\tdone\n";

static void bash_offer(enum complete kind, const char *const *choices, const char *name, FILE *out)
{
	static const char offer[] = "mapfile -t COMPREPLY < <(compgen ";

	if (choices) {
		fprintf(out, "%s-W '", offer);
		put_words(choices, out);
		fputs("' -- \"$cur\")", out);
	} else if (kind == COMP_SESSION || kind == COMP_RUNTIME) {
		fprintf(out, "%s-W \"$(" P " __complete %s 2>/dev/null)\" -- \"$cur\")", offer,
			kind == COMP_SESSION ? "session" : "runtime");
	} else if (kind == COMP_COLUMNS) {
		fprintf(out, "%s-W \"$(" P " __complete columns %s)\" -- \"$cur\")", offer, name);
	} else {
		fprintf(out, "%s-%c -- \"$cur\")", offer,
			kind == COMP_DIR ? 'd' : kind == COMP_FILE ? 'f' : 'c');
	}
}

static void bash_valued(FILE *out)
{
	fputs("\tcase $cmd in\n", out);
	EACH_CMD(c) {
		fprintf(out, "\t%s) valued=' ", c->name);
		EACH_OPT(o, c) {
			if (o->type == OPT_TYPE_FLAG)
				continue;
			fprintf(out, "--%s ", o->name);
			if (o->letter)
				fprintf(out, "-%c ", o->letter);
		}
		fputs("' ;;\n", out);
	}
}

static void bash_pattern(const struct cmd *c, const struct opt *o, const char *before, FILE *out)
{
	fprintf(out, "%s%s,--%s", before, c->name, o->name);
	if (o->letter)
		fprintf(out, "|%s,-%c", c->name, o->letter);
}

/* Nothing can be offered for these; what follows them is no operand either. */
static void bash_free_values(const struct cmd *c, FILE *out)
{
	const char *before = "\t";

	EACH_OPT(o, c) {
		if (o->type == OPT_TYPE_FLAG || o->choices || o->complete != COMP_NONE)
			continue;
		bash_pattern(c, o, before, out);
		before = "|";
	}
	if (*before == '|')
		fputs(") return ;;\n", out);
}

static void bash_values(FILE *out)
{
	fputs("\tcase $cmd,$prev in\n", out);
	EACH_CMD(c) {
		EACH_OPT(o, c) {
			if (!o->choices && o->complete == COMP_NONE)
				continue;
			bash_pattern(c, o, "\t", out);
			fputs(") ", out);
			bash_offer(o->complete, o->choices, c->name, out);
			fputs("; return ;;\n", out);
		}
		bash_free_values(c, out);
	}
	fputs("\tesac\n", out);
}

static void bash_options(FILE *out)
{
	fputs("\tif [[ $cur == -* && ! $ended ]]; then\n\t\tcase $cmd in\n", out);
	EACH_CMD(c) {
		fprintf(out, "\t\t%s) mapfile -t COMPREPLY < <(compgen -W '", c->name);
		EACH_OPT(o, c)
			fprintf(out, "--%s ", o->name);
		fputs("--help' -- \"$cur\") ;;\n", out);
	}
	fputs("\t\tesac\n\t\treturn\n\tfi\n", out);
}

static void bash_operand(const struct cmd *c, const struct operand *a, unsigned at, FILE *out)
{
	bool many = a->max == UINT_MAX, program = a->complete == COMP_PROGRAM;

	if (!a->choices && a->complete == COMP_NONE)
		return;
	if (many && !program)
		fprintf(out, "\t%s,*) ", c->name);
	else
		fprintf(out, "\t%s,%u) ", c->name, at);
	bash_offer(a->complete, a->choices, c->name, out);
	fputs(" ;;\n", out);
	if (!many || !program)
		return;
	fprintf(out, "\t%s,*) ", c->name);
	bash_offer(COMP_FILE, NULL, c->name, out);
	fputs(" ;;\n", out);
}

static void bash_operands(FILE *out)
{
	fputs("\tcase $cmd,$n in\n", out);
	EACH_CMD(c) {
		unsigned at = 0;
		EACH_OPERAND(a, c)
			bash_operand(c, a, at++, out);
	}
	fputs("\tesac\n}\ncomplete -F _" P " " P "\n", out);
}

void gen_bash(FILE *out)
{
	fputs(bash_begin, out);
	fputs("\t\tmapfile -t COMPREPLY < <(compgen -W 'help", out);
	EACH_CMD(c)
		fprintf(out, " %s", c->name);
	fputs("' -- \"$cur\")\n\t\treturn\n\tfi\n", out);
	bash_valued(out);
	fputs(bash_count, out);
	bash_values(out);
	bash_options(out);
	bash_operands(out);
}

/* --- zsh ------------------------------------------------------------------------------ */

static void zsh_action(enum complete kind, const char *const *choices, const char *name, FILE *out)
{
	static const char *const actions[] = {
		[COMP_NONE] = " ", [COMP_FILE] = "_files", [COMP_DIR] = "_files -/",
		[COMP_PROGRAM] = "_command_names -e", [COMP_SESSION] = "_" P "_words session",
		[COMP_RUNTIME] = "_" P "_words runtime", [COMP_COLUMNS] = "_" P "_words columns ",
	};

	if (!choices) {
		fprintf(out, "%s%s", actions[kind], kind == COMP_COLUMNS ? name : "");
		return;
	}
	fputc('(', out);
	put_words(choices, out);
	fputc(')', out);
}

static void zsh_option(const struct cmd *c, const struct opt *o, FILE *out)
{
	fputs("\t\t", out);
	if (o->type == OPT_TYPE_LIST)
		fputs("'*'", out);
	if (o->letter)
		fprintf(out, "{-%c%s,--%s%s}", o->letter, o->value ? "+" : "", o->name,
			o->value ? "=" : "");
	else
		fprintf(out, "--%s%s", o->name, o->value ? "=" : "");
	fputs("'[", out);
	put_quoted(o->help, "[]:\\", out);
	fputc(']', out);
	if (o->value) {
		fprintf(out, ":%s:", o->value);
		zsh_action(o->complete, o->choices, c->name, out);
	}
	fputs("' \\\n", out);
}

/* "(-)": from here on no option is ours. */
static void zsh_operands(const struct cmd *c, FILE *out)
{
	unsigned n = 1;

	EACH_OPERAND(a, c) {
		bool program = c->runs_program && a->complete == COMP_PROGRAM;
		fputs(" \\\n\t\t'", out);
		if (program)
			fprintf(out, "(-)%u:%s:_command_names -e' \\\n\t\t'(-)*::%s:_normal", n++, a->name,
				a->name);
		else if (a->max > 1)
			fprintf(out, "*:%s:", a->name);
		else
			fprintf(out, "%u:%s%s:", n++, a->min ? "" : ":", a->name);
		if (!program)
			zsh_action(a->complete, a->choices, c->name, out);
		fputc('\'', out);
	}
}

void gen_zsh(FILE *out)
{
	fputs("#compdef " P "\n# written by '" P " __gen zsh'\n"
	      "_" P "_words() {\n"
	      "\tlocal -a words\n"
	      "\twords=(${(f)\"$(" P " __complete $1 ${2-} 2>/dev/null)\"})\n"
	      "\tcompadd -a words\n}\n"
	      "_" P "() {\n"
	      "\tlocal -a commands\n\tcommands=(\n", out);
	EACH_CMD(c) {
		fprintf(out, "\t\t'%s:", c->name);
		put_quoted(c->summary, ":\\", out);
		fputs("'\n", out);
	}
	fputs("\t\t'help:Show the help of a command'\n\t)\n"
	      "\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	      "\tlocal cmd=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $cmd in\n", out);
	EACH_CMD(c) {
		fprintf(out, "\t%s) _arguments -s -S \\\n", c->name);
		EACH_OPT(o, c)
			zsh_option(c, o, out);
		fputs("\t\t{-h,--help}'[show this text]'", out);
		zsh_operands(c, out);
		fputs(" ;;\n", out);
	}
	fputs("\tesac\n}\nif [ \"$funcstack[1]\" = _" P " ]; then\n\t_" P " \"$@\"\n"
	      "else\n\tcompdef _" P " " P "\nfi\n", out);
}

/* --- fish ----------------------------------------------------------------------------- */

static void fish_words(enum complete kind, const char *const *choices, const char *name, FILE *out)
{
	fputs(" -a '", out);
	if (choices)
		put_words(choices, out);
	else if (kind == COMP_DIR)
		fputs("(__fish_complete_directories)", out);
	else if (kind == COMP_PROGRAM)
		fputs("(__fish_complete_command)", out);
	else if (kind == COMP_COLUMNS)
		fprintf(out, "(" P " __complete columns %s)", name);
	else
		fprintf(out, "(" P " __complete %s 2>/dev/null)",
			kind == COMP_SESSION ? "session" : "runtime");
	fputc('\'', out);
}

static void fish_option(const struct cmd *c, const struct opt *o, FILE *out)
{
	fprintf(out, "complete -c " P " -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	if (o->complete == COMP_FILE) {
		fputs(" -r -F", out);
	} else if (o->value) {
		fputs(" -x", out);
		if (o->choices || o->complete != COMP_NONE)
			fish_words(o->complete, o->choices, c->name, out);
	}
	fputs(" -d '", out);
	put_quoted(o->help, "\\", out);
	fputs("'\n", out);
}

static void fish_operand(const struct cmd *c, const struct operand *a, FILE *out)
{
	fprintf(out, "complete -c " P " -n '__fish_seen_subcommand_from %s'", c->name);
	if (a->complete == COMP_FILE || (!a->choices && a->complete == COMP_NONE)) {
		fputs(a->complete == COMP_FILE ? " -F\n" : " -f\n", out);
		return;
	}
	fputs(" -f", out);
	fish_words(a->complete, a->choices, c->name, out);
	fputc('\n', out);
}

void gen_fish(FILE *out)
{
	fputs("# fish completion for " P "; written by '" P " __gen fish'\ncomplete -c " P " -f\n", out);
	EACH_CMD(c) {
		fprintf(out, "complete -c " P " -n __fish_use_subcommand -a %s -d '", c->name);
		put_quoted(c->summary, "\\", out);
		fputs("'\n", out);
		EACH_OPT(o, c)
			fish_option(c, o, out);
		fprintf(out, "complete -c " P " -n '__fish_seen_subcommand_from %s' -l help -s h"
			     " -d 'show this text'\n", c->name);
		EACH_OPERAND(a, c)
			fish_operand(c, a, out);
	}
}
