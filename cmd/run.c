/* sbx run: a session for one command, gone when it ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "session/session.h"
#include "ask.h"
#include "describe.h"
#include "drive.h"

struct run_args {
	struct ask_args ask;
	struct drive_args drive;
};

#define S struct run_args
static const struct opt opts[] = {
	DRIVE_OPTS(S),
	ASK_OPTS(S),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "COMMAND", .min = 0, .max = UINT32_MAX, .complete = COMP_PROGRAM },
	{ 0 },
};

static const struct run_args defaults = { .ask = ASK_DEFAULTS, .drive = DRIVE_DEFAULTS };

static int run_in(struct cmd_env *env, const struct run_args *a, struct exec_request *q,
	struct fault *f)
{
	struct session_spec spec = { 0 };
	struct ask_args ask = a->ask;
	struct drive d;
	auto_fd int conn = -1;

	/* A command needs no interpreter, so none is looked for. */
	if (q->argv && !ask.runtime)
		ask.runtime = "shell";
	int r = ask_resolve(env, &ask, NULL, &spec, f);

	if (r < 0)
		return r;
	spec.class = CLASS_EPHEMERAL;
	spec.one_command = q->argv;
	r = session_create(&env->store, &spec, &env->session, &conn, f);
	session_spec_done(&spec);
	if (r < 0)
		return r;
	env->has_session = true;
	if (describe_weak(&env->session))
		fprintf(stderr, SBX_PROGRAM " run: %s\n", describe_weak(&env->session));
	q->flags |= EXEC_LAST;
	r = drive_init(&d, "run", &a->drive, f);
	return r < 0 ? r : drive_run(&d, NULL, conn, q, f);
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct run_args *a = p;
	struct drive_code own = { 0 };
	struct exec_request q;
	int r = drive_options(&a->drive, &q, f);

	if (!r)
		r = drive_program(&a->drive, &env->words, &own, &q, f);
	if (!r)
		r = drive_check(&q, f);
	if (!r)
		r = run_in(env, a, &q, f);
	drive_request_done(&own);
	return r;
}

const struct cmd cmd_run = {
	.name = "run", .summary = "Run one command or code in a session of its own",
	.opts = opts, .operands = operands, .defaults = &defaults,
	.args_size = sizeof(struct run_args), .needs = NEED_STORE, .runs_program = true, .run = run,
};
