/* sbx touch: counts as use of a session. */
#include "session/session.h"
#include "session/spec.h"
#include "cmds.h"

struct touch_args {
	uint64_t lifetime_ms;
};

#define S struct touch_args
static const struct opt opts[] = {
	OPT_ROW(TIME, S, lifetime_ms, uint64_t, 0, "lifetime", "end it this long from now; 0: never",
		.value = "TIME", .max = SPEC_TIME_MAX_MS),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ 0 },
};

static const struct touch_args defaults = { .lifetime_ms = OPT_UNSET };

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct touch_args *a = p;

	return session_touch(&env->session,
		a->lifetime_ms == OPT_UNSET ? SESSION_LIFETIME_KEEP : a->lifetime_ms, f);
}

const struct cmd cmd_touch = {
	.name = "touch", .summary = "Put off the end of a session that is not in use",
	.opts = opts, .operands = operands, .defaults = &defaults,
	.args_size = sizeof(struct touch_args), .needs = NEED_SESSION, .run = run,
};
