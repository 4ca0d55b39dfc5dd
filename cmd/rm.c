/* sbx rm: removes sessions, whatever they contain and whatever still runs in them. */
#include <stdio.h>

#include "session/session.h"
#include "cmds.h"

struct rm_args {
	bool force;
};

#define S struct rm_args
static const struct opt opts[] = {
	OPT_FLAG(S, force, 'f', "force", "a session that does not exist is no failure"),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = UINT32_MAX, .complete = COMP_SESSION },
	{ 0 },
};

static int remove_one(struct cmd_env *env, const char *id, bool force, struct fault *f)
{
	struct store_session s;
	int r = store_session_open_any(&env->store, id, &s, f);

	if (r == -FAULT_NOT_FOUND && force)
		return 0;
	if (r < 0)
		return r;
	r = session_remove(&s, f);
	store_session_close(&s);
	/* Another one was faster. */
	return r == -FAULT_NOT_FOUND && force ? 0 : r;
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct rm_args *a = p;
	struct fault one;
	int r = 0;

	/* One that fails does not save the others; the first failure is reported last. */
	for (unsigned i = 0; i < env->words.n; i++) {
		int e = remove_one(env, env->words.operands[i], a->force, &one);
		if (e < 0 && r < 0)
			fprintf(stderr, SBX_PROGRAM " rm: %s\n", one.text);
		if (e < 0 && r >= 0) {
			*f = one;
			r = e;
		}
	}
	session_sweep(&env->store);
	return r;
}

const struct cmd cmd_rm = {
	.name = "rm", .summary = "Remove sessions with everything in them",
	.opts = opts, .operands = operands, .args_size = sizeof(struct rm_args), .needs = NEED_STORE,
	.run = run,
};
