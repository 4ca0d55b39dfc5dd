/* sbx context: the kept interpreters of a session. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "session/client.h"
#include "session/session.h"
#include "cmds.h"

struct context_args {
	const char *columns, *language;
	bool json;
};

struct row {
	const char *name, *language;
	uint64_t epoch;
	bool alive;
};

static const struct column columns[] = {
	COLUMN(struct row, name, TEXT, "context", "CONTEXT", 0, "its name"),
	COLUMN(struct row, language, TEXT, "language", "LANGUAGE", 0, "python, node or shell"),
	COLUMN(struct row, epoch, UINT, "epoch", "EPOCH", 0, "how often it was started"),
	COLUMN(struct row, alive, BOOL, "alive", "ALIVE", 0, "its variables are there"),
	{ 0 },
};

#define S struct context_args
static const struct opt opts[] = {
	OPT_TEXT(S, columns, 0, "columns", "NAME,...", COMP_COLUMNS, "show these columns"),
	OPT_FLAG(S, json, 0, "json", "write one JSON object a context"),
	OPT_TEXT(S, language, 0, "lang", "NAME", COMP_NONE, "of this language, for rm"),
	{ 0 },
};
#undef S

static const char *const actions[] = { "list", "rm", NULL };

static const struct operand operands[] = {
	{ .name = "list|rm", .min = 1, .max = 1, .choices = actions },
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ .name = "CONTEXT", .min = 0, .max = 1 },
	{ 0 },
};

/* What is known without waking it: a dormant session has no living interpreter. */
static int list(struct cmd_env *env, const struct context_args *a, struct fault *f)
{
	const struct session_status *st = &env->session.status;
	struct out o = { 0 };
	bool live = false;
	int r = store_session_is_live(&env->session, &live, f);

	if (!r)
		r = out_init(&o, columns, a->columns, a->json ? "sbx.context/1" : NULL, f);
	for (uint32_t i = 0; !r && i < st->n_contexts; i++) {
		const struct context_state *c = &st->contexts[i];
		struct row row = { c->name, c->language, c->epoch, c->alive && live };
		out_row(&o, &row);
	}
	out_done(&o);
	return r;
}

static int remove_one(struct cmd_env *env, const struct context_args *a, const char *name,
	struct fault *f)
{
	struct session_reply reply = { 0 };
	auto_fd int conn = -1;
	int r = session_connect_live(&env->session, &conn, f);

	if (r > 0)
		return fault_set(f, FAULT_NOT_FOUND, 0, "the session is dormant: no interpreter lives");
	if (!r)
		r = session_request_context_remove(conn, a->language ? a->language : "", name, f);
	if (!r)
		r = session_reply(conn, &reply, f);
	session_reply_done(&reply);
	return r < 0 ? r : 0;
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct context_args *a = p;
	char **word = env->words.operands;

	if (!strcmp(word[0], "list"))
		return list(env, a, f);
	if (env->words.n < 3)
		return fault_set(f, FAULT_USAGE, 0, "CONTEXT is missing");
	return remove_one(env, a, word[2], f);
}

const struct cmd cmd_context = {
	.name = "context", .summary = "List or end a session's kept interpreters",
	.opts = opts, .operands = operands, .columns = columns, .args_size = sizeof(struct context_args),
	.needs = NEED_SESSION, .run = run,
};
