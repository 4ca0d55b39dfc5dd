/* sbx stop: ends a session's processes; its files stay. */
#include "session/session.h"
#include "cmds.h"

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ 0 },
};

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	(void)p;
	return session_stop(&env->session, true, f);
}

const struct cmd cmd_stop = {
	.name = "stop", .summary = "End a session's processes and sync its files",
	.operands = operands, .needs = NEED_SESSION, .run = run,
};
