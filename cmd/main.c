/* sbx COMMAND …: global options, the choice of the command, commands from PATH. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/title.h"
#include "cmds.h"

static int fail(const struct fault *f)
{
	fprintf(stderr, SBX_PROGRAM ": %s\n", f->text);
	return fault_exit_code(f->kind);
}

static void print_usage(FILE *out)
{
	fputs("Usage: " SBX_PROGRAM " COMMAND [OPTION...] [OPERAND...]\n"
	      "Sessions that run code nobody has vetted, each in a jail of its own.\n\n", out);
	for (size_t i = 0; cmds[i]; i++)
		fprintf(out, "  %-10s %s\n", cmds[i]->name, cmds[i]->summary);
	fputs("\n  --version  print name and version; --json adds features\n"
	      "  --help     show this text; 'help COMMAND' that of a command\n\n"
	      "Any other word x runs the program " SBX_PROGRAM "-x from PATH.\n", out);
}

static void print_version(bool json)
{
	auto_text struct text t = { 0 };

	if (!json) {
		puts(SBX_PROGRAM " " SBX_VERSION ", sessions in a namespace jail");
		return;
	}
	json_open(&t, '{');
	json_put_string(&t, "schema", "sbx.version/1");
	json_put_string(&t, "name", SBX_PROGRAM);
	json_put_string(&t, "version", SBX_VERSION);
	json_key(&t, "features");
	json_open(&t, '[');
	for (size_t i = 0; cmds[i]; i++)
		json_string(&t, cmds[i]->name);
	json_close(&t, ']');
	json_close(&t, '}');
	puts(text_string(&t));
}

/* Returns errno. A script without #! is one of the shell's, as execvp(3) has it in some libraries. */
static int exec_file(char *path, char **argv)
{
	static char shell[] = "/bin/sh";
	size_t n = 0;

	execv(path, argv);
	if (errno != ENOEXEC)
		return errno;
	while (argv[n])
		n++;
	auto_free char **script = mem_new_array(char *, n + 2);
	script[0] = shell;
	script[1] = path;
	memcpy(script + 2, argv + 1, n * sizeof *argv);
	execv(shell, script);
	return ENOEXEC;
}

/* As execvp(3), but a directory of PATH that is not absolute is passed over: what lies in the
 * directory that the caller happens to be in is no command. Returns errno. */
static int exec_from_path(const char *name, char **argv)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];
	int error = ENOENT;

	for (; at; at = *at ? at + 1 : NULL) {
		size_t n = strcspn(at, ":");
		if (*at == '/' && (size_t)snprintf(path, sizeof path, "%.*s/%s", (int)n, at, name) < sizeof path) {
			int why = exec_file(path, argv);
			if (why == EACCES)
				error = EACCES;
			else if (why != ENOENT && why != ENOTDIR)
				return why;
		}
		at += n;
	}
	return error;
}

static int fail_unknown(const char *command, const char *word)
{
	const char *near = cmd_near(word);
	struct fault f;

	fault_set(&f, FAULT_USAGE, 0, "%s%.40s: no such command%s%s%s", command, word,
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return fail(&f);
}

/* As git does: a word that is no command is a program of its own. Returns only when there
 * is no such program. */
static int run_external(const char *command, char **argv)
{
	char name[sizeof SBX_PROGRAM + 1 + ID_TEXT];
	char *word = argv[0];
	struct fault f;

	if (word[0] == '-') {
		fault_set(&f, FAULT_USAGE, 0, "%.40s: no such option; options go behind the command", word);
		return fail(&f);
	}
	/* A valid id has neither a slash nor a leading dot. */
	if (!id_is_valid(word))
		return fail_unknown(command, word);
	snprintf(name, sizeof name, SBX_PROGRAM "-%s", word);
	argv[0] = name;
	int error = exec_from_path(name, argv);
	if (error == ENOENT)
		return fail_unknown(command, word);
	fault_set(&f, FAULT_SYSTEM, error, "%s", name);
	return fail(&f);
}

static int print_help(char *name)
{
	static char option[] = "--help";
	const struct cmd *c = name ? cmd_find(name) : NULL;

	if (c)
		opt_help(c, stdout);
	else if (!name)
		print_usage(stdout);
	else
		return run_external("help: ", (char *[]){ name, option, NULL });
	return 0;
}

/* What the build, the tests and the shells ask for. */
static int run_hidden(char **argv)
{
	const char *what = argv[1] ? argv[1] : "", *name = argv[1] ? argv[2] : NULL;
	struct fault f;
	int r = !strcmp(argv[0], "__gen") ? gen(what, name, stdout, &f) :
					    complete_words(what, name, stdout, &f);

	return r < 0 ? fail(&f) : 0;
}

static int dispatch(char **argv)
{
	const struct cmd *c;

	if (!argv[0]) {
		print_usage(stderr);
		return fault_exit_code(FAULT_USAGE);
	}
	if (!strcmp(argv[0], "--version")) {
		print_version(argv[1] && !strcmp(argv[1], "--json"));
		return 0;
	}
	if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
		return print_help(NULL);
	if (!strcmp(argv[0], "help"))
		return print_help(argv[1]);
	if (!strcmp(argv[0], "__gen") || !strcmp(argv[0], "__complete"))
		return run_hidden(argv);
	c = cmd_find(argv[0]);
	return c ? cmd_perform(c, argv) : run_external("", argv);
}

int main(int argc, char **argv)
{
	/* Before anything is opened: a closed stdout must not become the store's descriptor. */
	title_init(argc, argv);
	int r = fd_fill_standard();
	if (r < 0) {
		fprintf(stderr, SBX_PROGRAM ": open /dev/null: %s\n", strerror(-r));
		return fault_exit_code(FAULT_SYSTEM);
	}
	int code = dispatch(argc ? argv + 1 : argv);
	/* What nobody got was not said. */
	bool whole = fflush(stdout) == 0 && !ferror(stdout);
	if (whole || code)
		return code;
	if (errno != EPIPE)
		fprintf(stderr, SBX_PROGRAM ": write to standard output: %s\n", strerror(errno));
	return fault_exit_code(FAULT_SYSTEM);
}
