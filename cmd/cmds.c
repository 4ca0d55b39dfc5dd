/* The frame around one command: parse, open what its row needs, run, report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/symbol.h"
#include "base/utf8.h"
#include "cmds.h"

const struct cmd *const cmds[] = {
#define X(name) &cmd_##name,
#include "cmds.def"
#undef X
	NULL,
};

enum { EXIT_OWN_FAILURE = 125 }; /* exit.def; as env(1) and timeout(1) have it */

const struct cmd *cmd_find(const char *word)
{
	for (size_t i = 0; cmds[i]; i++)
		if (!strcmp(cmds[i]->name, word))
			return cmds[i];
	return NULL;
}

const char *cmd_near(const char *word)
{
	const char *names[array_size(cmds)];
	size_t n = 0;

	for (; cmds[n]; n++)
		names[n] = cmds[n]->name;
	return near_find(word, names, n);
}

int cmd_open_store(struct cmd_env *env, struct fault *f)
{
	int r = env->has_store ? 0 : store_open(&env->store, f);

	if (!r)
		env->has_store = true;
	return r;
}

enum { NAMES_MAX = 256 };

struct names {
	char list[NAMES_MAX][ID_TEXT];
	size_t n;
};

static int take_name(struct store_session *s, void *arg)
{
	struct names *names = arg;

	if (names->n < NAMES_MAX && s->spec.name[0])
		strcpy(names->list[names->n++], s->spec.name);
	return 0;
}

/* Adds the nearest name to a fault that says that there is no such session. */
static void suggest_session(struct cmd_env *env, const char *id, struct fault *f)
{
	auto_free struct names *names = mem_new(struct names);
	const char *list[NAMES_MAX];
	struct fault ignored;

	if (store_each(&env->store, take_name, names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names->n; i++)
		list[i] = names->list[i];
	const char *near = near_find(id, list, names->n);
	size_t n = strlen(f->text);
	if (near)
		snprintf(f->text + n, sizeof f->text - n, "; did you mean %s?", near);
}

int cmd_open_session(struct cmd_env *env, const char *id, struct fault *f)
{
	int r = cmd_open_store(env, f);

	if (r < 0)
		return r;
	/* What talks to a living supervisor has no use for the files it wrote. */
	if (env->cmd->needs & NEED_FOUND_SESSION)
		r = store_session_find(&env->store, id, &env->session, f);
	else
		r = store_session_open(&env->store, id, &env->session, f);
	if (!r)
		env->has_session = true;
	else if (r == -FAULT_NOT_FOUND)
		suggest_session(env, id, f);
	return r;
}

static int open_needs(struct cmd_env *env, struct fault *f)
{
	int at = opt_session_operand(env->cmd);

	if (!env->cmd->needs)
		return 0;
	int r = cmd_open_store(env, f);
	if (r < 0 || !(env->cmd->needs & (NEED_SESSION | NEED_FOUND_SESSION)) || at < 0 ||
		(unsigned)at >= env->words.n)
		return r;
	return cmd_open_session(env, env->words.operands[at], f);
}

static bool wants_json(const struct cmd *c, const void *args)
{
	EACH_OPT(o, c)
		if (o->type == OPT_TYPE_FLAG && !strcmp(o->name, "json"))
			return *(const bool *)((const char *)args + o->at);
	return false;
}

/* One line on stderr, or one object on stdout. */
static void report(const struct cmd *c, const struct fault *f, bool json)
{
	const char *trace = getenv("SBX_TRACE");
	auto_text struct text t = { 0 };

	if (json) {
		json_open(&t, '{');
		json_put_string(&t, "schema", "sbx.error/1");
		json_put_string(&t, "kind", fault_kind_name(f->kind));
		json_put_string(&t, "errno", f->sysno ? symbol_errno(f->sysno) : NULL);
		json_put_string(&t, "text", f->text);
		json_close(&t, '}');
		text_put_char(&t, '\n');
		fflush(stdout);
		fd_write_all(STDOUT_FILENO, t.data, t.n);
	} else {
		utf8_put_visible(&t, f->text, strlen(f->text));
		fprintf(stderr, SBX_PROGRAM " %s: %s\n", c->name, text_string(&t));
	}
	if (trace && !strcmp(trace, "1") && f->file)
		fprintf(stderr, SBX_PROGRAM " %s: at %s:%d\n", c->name, f->file, f->line);
}

/* What was printed may still fail to reach a full disk or a closed pipe. */
static int flush_stdout(int code, struct fault *f)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	return fault_set(f, FAULT_SYSTEM, errno, "write standard output");
}

static int run_parsed(struct cmd_env *env, const void *args, struct fault *f)
{
	int r = open_needs(env, f);

	if (!r)
		r = env->cmd->run(env, args, f);
	if (env->has_session)
		store_session_close(&env->session);
	if (env->has_store)
		store_close(&env->store);
	return r < 0 ? r : flush_stdout(r, f);
}

int cmd_perform(const struct cmd *c, char **argv)
{
	auto_free void *args = mem_zeroed(1, c->args_size);
	struct cmd_env env = { .cmd = c, .argv = argv };
	struct fault f = { 0 };
	int code;

	int r = opt_parse(c, argv, args, &env.words, &f);
	if (r < 0) {
		report(c, &f, false);
		code = fault_exit_code(FAULT_USAGE);
	} else if (r == OPT_HELP) {
		opt_help(c, stdout);
		code = fflush(stdout) ? fault_exit_code(FAULT_SYSTEM) : 0;
	} else {
		r = run_parsed(&env, args, &f);
		code = r >= 0 ? r : c->runs_program && f.kind != FAULT_USAGE ? EXIT_OWN_FAILURE :
						      fault_exit_code(f.kind);
		if (r < 0)
			report(c, &f, wants_json(c, args));
	}
	opt_done(c, args, &env.words);
	return code;
}
