/* sbx start: lets a stopped session run again. */
#include <unistd.h>

#include "base/auto.h"
#include "session/session.h"
#include "cmds.h"

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ 0 },
};

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	auto_fd int conn = -1;

	(void)p;
	int r = session_start(&env->session, &conn, f);
	return r < 0 ? r : session_wait_ready(conn, f);
}

const struct cmd cmd_start = {
	.name = "start", .summary = "Let a stopped session run again",
	.operands = operands, .needs = NEED_SESSION, .run = run,
};
