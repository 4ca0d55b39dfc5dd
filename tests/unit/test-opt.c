#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <limits.h>
#include <stdlib.h>

#include "opt.h"

struct args {
	bool flag, other, json;
	uint64_t n, bytes, ms, cpu;
	const char *text;
	char **list;
	int color;
};

static const char *const colors[] = { "red", "green", NULL };

#define S struct args
static const struct opt opts[] = {
	OPT_FLAG(S, flag, 'f', "flag", "a flag"),
	OPT_ROW(FLAG, S, other, bool, 'o', "other", "excludes json", .excl = 1),
	OPT_ROW(FLAG, S, json, bool, 'j', "json", "excludes other", .excl = 1),
	OPT_ROW(UINT, S, n, uint64_t, 'n', "number", "a number", .value = "N", .min = 1, .max = 9),
	OPT_SIZE(S, bytes, 'm', "memory", "SIZE", "a size"),
	OPT_TIME(S, ms, 't', "timeout", "TIME", "a time"),
	OPT_CPU(S, cpu, 0, "cpu", "N", "CPUs"),
	OPT_TEXT(S, text, 'x', "text", "TEXT", COMP_NONE, "a text"),
	OPT_LIST(S, list, 'e', "env", "K=V", COMP_NONE, "a list"),
	OPT_ENUM(S, color, 'c', "color", "COLOR", colors, "a choice"),
	{ 0 },
};
#undef S

static const struct args defaults = { .n = OPT_UNSET, .color = -1, .text = "as before" };
static const char *const actions[] = { "list", "rm", NULL };

static const struct operand two[] = {
	{ .name = "ONE", .min = 1, .max = 1 }, { .name = "MORE", .min = 0, .max = 2 }, { 0 },
};
static const struct operand action[] = {
	{ .name = "list|rm", .min = 1, .max = 1, .choices = actions },
	{ .name = "SESSION", .min = 0, .max = 1, .complete = COMP_SESSION }, { 0 },
};
static const struct operand exec_operands[] = {
	{ .name = "SESSION", .min = 0, .max = 1, .complete = COMP_SESSION },
	{ .name = "COMMAND", .min = 0, .max = UINT_MAX, .complete = COMP_PROGRAM }, { 0 },
};
static const struct operand run_operands[] = {
	{ .name = "COMMAND", .min = 1, .max = UINT_MAX, .complete = COMP_PROGRAM }, { 0 },
};

#define CMD(n, ...)                                                                              \
	{ .name = n, .summary = "Test", .opts = opts, .defaults = &defaults,                     \
		.args_size = sizeof(struct args), __VA_ARGS__ }
static const struct cmd plain = CMD("plain", .operands = two);
static const struct cmd acting = CMD("act", .operands = action);
static const struct cmd exec = CMD("exec", .operands = exec_operands, .runs_program = true);
static const struct cmd running = CMD("run", .operands = run_operands, .runs_program = true);

/* One command line, split at spaces; "_" is an empty word. */
struct line {
	char text[400];
	char *argv[40];
	struct args args;
	struct opt_words words;
	struct fault f;
	const struct cmd *cmd;
	int r;
};

static void parse(struct line *l, const struct cmd *c, const char *text)
{
	size_t n = 0;

	*l = (struct line){ .cmd = c };
	l->argv[n++] = (char *)c->name;
	strcpy(l->text, text);
	for (char *w = strtok(l->text, " "); w; w = strtok(NULL, " ")) {
		assert_true(n < 39);
		if (!strcmp(w, "_"))
			*w = 0;
		l->argv[n++] = w;
	}
	l->r = opt_parse(c, l->argv, &l->args, &l->words, &l->f);
}

static void end(struct line *l)
{
	opt_done(l->cmd, &l->args, &l->words);
	assert_null(l->args.list);
}

static void every_kind_in_every_form(void **state)
{
	static const char *const forms[] = {
		"-f -n 3 -m 2Gi -t 90s --cpu 1.5 -x a=b -e A=1 -e B -c green one",
		"-fn3 -m2Gi -t90s --cpu=1.5 -xa=b -eA=1 -eB -cgreen one",
		"--flag --number=3 --memory=2Gi --timeout=90s --cpu=1.5 --text=a=b --env=A=1 --env=B "
		"--color=green one",
		"one --flag --number 3 --memory 2Gi --timeout 90s --cpu 1.5 --text a=b --env A=1 "
		"--env B --color green",
		"--color green --color red -c green -n 9 -n 3 -f -f -m 2Gi -t 90s --cpu 1.5 -x a=b "
		"-e A=1 -e B -- one",
	};

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct line l;
		parse(&l, &plain, forms[i]);
		if (l.r)
			fail_msg("%s", l.f.text);
		const struct args *a = &l.args;
		assert_true(a->flag && !a->json && a->n == 3 && a->bytes == 2ull << 30);
		assert_true(a->ms == 90000 && a->cpu == 1500 && a->color == 1);
		assert_string_equal(a->text, "a=b");
		assert_string_equal(a->list[0], "A=1");
		assert_string_equal(a->list[1], "B");
		assert_null(a->list[2]);
		assert_int_equal(l.words.n, 1);
		assert_string_equal(l.words.operands[0], "one");
		assert_null(l.words.operands[1]);
		end(&l);
	}
}

static void defaults_stay_where_nothing_is_given(void **state)
{
	struct line l;

	(void)state;
	parse(&l, &plain, "one");
	assert_int_equal(l.r, 0);
	assert_true(l.args.n == OPT_UNSET && l.args.color == -1 && !l.args.list);
	assert_string_equal(l.args.text, "as before");
	end(&l);
}

static void values_may_begin_with_a_dash_or_be_empty(void **state)
{
	struct line l;

	(void)state;
	parse(&l, &plain, "-x -n --env=-f -x --text -e _ - _");
	assert_int_equal(l.r, 0);
	assert_string_equal(l.args.text, "--text");
	assert_string_equal(l.args.list[0], "-f");
	assert_string_equal(l.args.list[1], "");
	assert_string_equal(l.words.operands[0], "-");
	assert_string_equal(l.words.operands[1], "");
	end(&l);
	parse(&l, &plain, "--text= one");
	assert_string_equal(l.args.text, "");
	end(&l);
}

static void wrong_lines_say_what_is_wrong(void **state)
{
	static const struct {
		const struct cmd *cmd;
		const char *line, *text;
	} rows[] = {
		{ &plain, "--memroy 1 one", "--memroy: no such option; did you mean --memory?" },
		{ &plain, "--memor=1 one", "--memor: no such option; did you mean --memory?" },
		{ &plain, "--xyzzy one", "--xyzzy: no such option" },
		{ &plain, "--hepl", "--hepl: no such option; did you mean --help?" },
		{ &plain, "--help=1", "--help: no such option; did you mean --help?" },
		{ &plain, "-fz one", "-z: no such option" },
		{ &plain, "--=x", "--: no such option" },
		{ &plain, "--flag=yes one", "--flag takes no value" },
		{ &plain, "one --text", "--text: a value is missing: TEXT" },
		{ &plain, "one -fx", "-x: a value is missing: TEXT" },
		{ &plain, "--number 10 one", "--number: '10' is out of range; from 1 to 9 is possible" },
		{ &plain, "-n0 one", "--number: '0' is out of range; from 1 to 9 is possible" },
		{ &plain, "-m 2x one", "--memory: '2x' is not a size; write it as 512Mi or 2G" },
		{ &plain, "-t 18446744073709551 one", "--timeout: '18446744073709551' is out of range" },
		{ &plain, "-c gren one", "--color: 'gren' is none of red, green; did you mean green?" },
		{ &plain, "-c _ one", "--color: '' is none of red, green" },
		{ &plain, "-o --json one", "--other and --json exclude each other" },
		{ &plain, "", "ONE is missing" },
		{ &plain, "1 2 3 4", "'4' is one operand too many" },
		{ &plain, "-- --flag 2 3 --text", "'--text' is one operand too many" },
		{ &acting, "lst s", "'lst' is none of list|rm; did you mean list?" },
		{ &running, "-f", "COMMAND is missing" },
		{ &running, "-f --", "COMMAND is missing" },
		{ &exec, "s --flga ls", "--flga: no such option; did you mean --flag?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct line l;
		parse(&l, rows[i].cmd, rows[i].line);
		if (l.r != -FAULT_USAGE || strncmp(l.f.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("'%s' gave %d '%s'", rows[i].line, l.r, l.f.text);
		end(&l);
	}
}

static void help_is_found_among_options_only(void **state)
{
	struct line l;

	(void)state;
	parse(&l, &plain, "--help");
	assert_int_equal(l.r, OPT_HELP);
	end(&l);
	parse(&l, &plain, "a b c d -fh");
	assert_int_equal(l.r, OPT_HELP);
	end(&l);
	parse(&l, &exec, "s ls --help");
	assert_int_equal(l.r, 0);
	assert_string_equal(l.words.program[1], "--help");
	end(&l);
	parse(&l, &plain, "one -- --help");
	assert_int_equal(l.r, 0);
	end(&l);
}

static void options_end_at_the_program(void **state)
{
	static const struct {
		const struct cmd *cmd;
		const char *line;
		unsigned operands;
		const char *first;
		bool dashes;
		const char *list;
		uint64_t ms;
	} rows[] = {
		{ &exec, "-e A=1 s --timeout 5 -- ls -l", 1, "ls", true, "A=1", 5000 },
		{ &exec, "-e A=1 s --timeout 5 ls -l", 1, "ls", false, "A=1", 5000 },
		{ &exec, "s ls -t 5", 1, "ls", false, NULL, 0 },
		{ &exec, "s -- -t 5", 1, "-t", true, NULL, 0 },
		{ &exec, "-- s ls", 1, "ls", true, NULL, 0 },
		{ &exec, "s -- -- ls", 1, "--", true, NULL, 0 },
		{ &exec, "s -", 1, "-", false, NULL, 0 },
		{ &exec, "s -t5", 1, NULL, false, NULL, 5000 },
		{ &exec, "s --", 1, NULL, false, NULL, 0 },
		{ &exec, "-t5", 0, NULL, false, NULL, 5000 },
		{ &running, "-t 5 ls -e x", 0, "ls", false, NULL, 5000 },
		{ &running, "-- -e x", 0, "-e", true, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct line l;
		parse(&l, rows[i].cmd, rows[i].line);
		if (l.r)
			fail_msg("'%s': %s", rows[i].line, l.f.text);
		assert_int_equal(l.words.n, rows[i].operands);
		assert_int_equal(l.words.dashes, rows[i].dashes);
		assert_true(!l.words.program == !rows[i].first);
		if (rows[i].first)
			assert_string_equal(l.words.program[0], rows[i].first);
		assert_true(l.args.ms == rows[i].ms);
		assert_true(!l.args.list == !rows[i].list);
		end(&l);
	}
}

static void the_session_is_the_operand_that_completes_as_one(void **state)
{
	(void)state;
	assert_int_equal(opt_session_operand(&exec), 0);
	assert_int_equal(opt_session_operand(&acting), 1);
	assert_int_equal(opt_session_operand(&plain), -1);
}

static void a_list_of_any_length(void **state)
{
	char *argv[2003] = { (char *)"plain", (char *)"one" };
	struct args args = { 0 };
	struct opt_words w;
	struct fault f;
	size_t n = 0;

	(void)state;
	for (size_t i = 2; i < 2002; i++)
		argv[i] = (char *)"-eX";
	assert_int_equal(opt_parse(&plain, argv, &args, &w, &f), 0);
	while (args.list[n])
		n++;
	assert_int_equal(n, 2000);
	opt_done(&plain, &args, &w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_in_every_form),
		cmocka_unit_test(defaults_stay_where_nothing_is_given),
		cmocka_unit_test(values_may_begin_with_a_dash_or_be_empty),
		cmocka_unit_test(wrong_lines_say_what_is_wrong),
		cmocka_unit_test(help_is_found_among_options_only),
		cmocka_unit_test(options_end_at_the_program),
		cmocka_unit_test(the_session_is_the_operand_that_completes_as_one),
		cmocka_unit_test(a_list_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
