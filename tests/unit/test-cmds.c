#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmds.h"

enum { HELP_BYTES = 52, LETTERS = 10, COLUMNS = 80, SUMMARY_BYTES = 60 };

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			return false;
	return true;
}

static void names_are_unique(void **state)
{
	(void)state;
	EACH_CMD(c) {
		EACH_CMD(d)
			if (c != d && !strcmp(c->name, d->name))
				fail_msg("two commands are %s", c->name);
		EACH_OPT(o, c)
			EACH_OPT(q, c)
				if (o != q && (!strcmp(o->name, q->name) || o->at == q->at ||
					(o->letter && o->letter == q->letter)))
					fail_msg("%s: --%s and --%s", c->name, o->name, q->name);
	}
}

/* As the tools that everybody knows have it. */
static const struct {
	const char *cmd;
	char letter;
} exceptions[] = { { "rm", 'f' } };

static bool is_exception(const char *cmd, char letter)
{
	for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
		if (!strcmp(exceptions[i].cmd, cmd) && exceptions[i].letter == letter)
			return true;
	return false;
}

static void a_letter_means_the_same_everywhere(void **state)
{
	const char *means[256] = { ['h'] = "help" };

	(void)state;
	EACH_CMD(c) {
		int letters = 0;
		EACH_OPT(o, c) {
			if (!o->letter || is_exception(c->name, o->letter))
				continue;
			const char **m = &means[(unsigned char)o->letter];
			letters++;
			if (*m && strcmp(*m, o->name) != 0)
				fail_msg("%s: -%c is --%s and --%s", c->name, o->letter, o->name, *m);
			*m = o->name;
		}
		if (letters > LETTERS)
			fail_msg("%s has %d letters", c->name, letters);
	}
}

static void texts_have_one_form(void **state)
{
	(void)state;
	EACH_CMD(c) {
		size_t n = strlen(c->summary);
		if (!isupper((unsigned char)c->summary[0]) || c->summary[n - 1] == '.' || n > SUMMARY_BYTES ||
			!is_ascii(c->summary))
			fail_msg("%s: '%s'", c->name, c->summary);
		EACH_OPT(o, c) {
			n = strlen(o->help);
			if (isupper((unsigned char)o->help[0]) || o->help[n - 1] == '.' || n > HELP_BYTES ||
				!is_ascii(o->help))
				fail_msg("%s: --%s: '%s'", c->name, o->name, o->help);
			assert_int_equal(strspn(o->name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
				strlen(o->name));
		}
		EACH_OPERAND(a, c)
			if (strspn(a->name, a->choices ? "abcdefghijklmnopqrstuvwxyz|" :
							 "ABCDEFGHIJKLMNOPQRSTUVWXYZ-:") != strlen(a->name))
				fail_msg("%s: operand %s", c->name, a->name);
	}
}

static void rows_are_whole(void **state)
{
	(void)state;
	EACH_CMD(c) {
		assert_non_null(c->run);
		EACH_OPT(o, c) {
			if (o->at >= c->args_size)
				fail_msg("%s: --%s lies outside of its struct", c->name, o->name);
			assert_true((o->type == OPT_TYPE_FLAG) == !o->value);
			assert_true((o->type == OPT_TYPE_ENUM) == (o->choices != NULL));
			assert_true(!o->max || o->min <= o->max);
			assert_true(o->max != OPT_UNSET);
			if (o->complete == COMP_COLUMNS)
				assert_non_null(c->columns);
			if (!strcmp(o->name, "json"))
				assert_int_equal(o->type, OPT_TYPE_FLAG);
			assert_string_not_equal(o->name, "help");
		}
	}
}

static void an_exclusion_has_two_sides(void **state)
{
	(void)state;
	EACH_CMD(c)
		EACH_OPT(o, c) {
			int members = 0;
			if (!o->excl)
				continue;
			EACH_OPT(q, c)
				members += q->excl == o->excl;
			if (members < 2)
				fail_msg("%s: --%s excludes nothing", c->name, o->name);
		}
}

static void only_the_last_operand_repeats(void **state)
{
	(void)state;
	EACH_CMD(c) {
		bool program = false, optional = false;
		EACH_OPERAND(a, c) {
			bool last = !a[1].name;
			assert_true(a->max && a->min <= a->max);
			assert_true(a->max == 1 || last);
			/* What is left out can only be at the end. */
			assert_true(!optional || !a->min || a->complete == COMP_PROGRAM);
			optional |= !a->min;
			program |= a->complete == COMP_PROGRAM;
		}
		assert_int_equal(program, c->runs_program);
		if (c->needs & NEED_SESSION && opt_session_operand(c) < 0)
			fail_msg("%s needs a session and has no operand for it", c->name);
	}
}

static void columns_are_whole(void **state)
{
	(void)state;
	EACH_CMD(c)
		for (const struct column *k = c->columns; k && k->key; k++) {
			assert_true(k - c->columns < COLUMNS_MAX);
			if (k->kind == COLUMN_SIZE && !strstr(k->key, "_bytes"))
				fail_msg("%s: the unit is not in '%s'", c->name, k->key);
			if (k->kind == COLUMN_TIME && !strstr(k->key, "_ms"))
				fail_msg("%s: the unit is not in '%s'", c->name, k->key);
			assert_true(islower((unsigned char)k->help[0]) && is_ascii(k->help));
			for (const struct column *l = c->columns; l != k; l++)
				assert_string_not_equal(k->key, l->key);
		}
}

static void help_fits_a_terminal_and_names_all(void **state)
{
	(void)state;
	EACH_CMD(c) {
		char *text = NULL, option[80];
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);
		opt_help(c, out);
		fclose(out);
		EACH_OPT(o, c) {
			snprintf(option, sizeof option, "--%s", o->name);
			assert_non_null(strstr(text, option));
		}
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (strlen(line) > COLUMNS)
				fail_msg("%s: '%s'", c->name, line);
		free(text);
	}
}

/* Everything that is derived can be made from every table. */
static void products(void **state)
{
	static const char *const whats[] = { "bash", "zsh", "fish", "json", "man" };
	struct fault f;

	(void)state;
	EACH_CMD(c)
		for (size_t i = 0; i < sizeof whats / sizeof *whats; i++) {
			char *text = NULL;
			size_t n = 0;
			FILE *out = open_memstream(&text, &n);
			assert_int_equal(gen(whats[i], c->name, out, &f), 0);
			fclose(out);
			assert_true(n > 100);
			EACH_OPT(o, c)
				if (!strstr(text, o->name))
					fail_msg("%s: --%s is not in %s", c->name, o->name, whats[i]);
			free(text);
		}
	assert_int_equal(gen("man", "nonsense", stdout, &f), -FAULT_USAGE);
	assert_int_equal(gen("tcsh", NULL, stdout, &f), -FAULT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(a_letter_means_the_same_everywhere),
		cmocka_unit_test(texts_have_one_form),
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(an_exclusion_has_two_sides),
		cmocka_unit_test(only_the_last_operand_repeats),
		cmocka_unit_test(columns_are_whole),
		cmocka_unit_test(help_fits_a_terminal_and_names_all),
		cmocka_unit_test(products),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
