/* sbx shell: an interactive terminal in a session. */
#include <unistd.h>

#include "session/session.h"
#include "ask.h"
#include "drive.h"

struct shell_args {
	struct drive_args drive;
	const char *env_file;
	char **env;
};

#define S struct shell_args
static const struct opt opts[] = {
	OPT_TEXT(S, drive.workdir, 'w', "workdir", "DIR", COMP_NONE, "working directory inside"),
	OPT_LIST(S, env, 'e', "env", "NAME=VALUE", COMP_NONE,
		"environment variable; NAME: as it is here"),
	OPT_TEXT(S, env_file, 0, "env-file", "FILE", COMP_FILE, "read NAME=VALUE lines, taken as they are"),
	OPT_ROW(TIME, S, drive.timeout_ms, uint64_t, 0, "timeout", "end it after this time; 0: never",
		.value = "TIME", .max = SPEC_TIME_MAX_MS),
	DRIVE_DETACH_OPT(S),
	OPT_LIST(S, drive.secret, 0, "secret-env", "NAME", COMP_NONE,
		"keep the value of a variable out of the record"),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ .name = "COMMAND", .min = 0, .max = UINT32_MAX, .complete = COMP_PROGRAM },
	{ 0 },
};

static const struct shell_args defaults = { .drive = DRIVE_DEFAULTS };

/* What is there is known inside only. */
static char sh[] = "/bin/sh", dash_c[] = "-c",
	find[] = "command -v bash >/dev/null && exec bash; exec sh";
static char *own_shell[] = { sh, dash_c, find, NULL };

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	struct shell_args a = *(const struct shell_args *)p;
	struct drive_code own = { 0 };
	struct exec_request q;
	struct drive d;

	/* As ssh(1): commands that come from elsewhere than a person get no terminal. */
	a.drive.tty = isatty(STDIN_FILENO);
	a.drive.input = !a.drive.tty;
	int r = drive_options(&a.drive, &q, f);
	q.argv = env->words.program ? env->words.program : own_shell;
	if (!r && a.env_file)
		r = ask_put_env_file(&own.env, a.env_file, f);
	if (!r)
		r = ask_put_env(&own.env, a.env, f);
	q.env = own.env;
	if (!r)
		r = drive_init(&d, "shell", &a.drive, f);
	if (!r)
		r = drive_run(&d, &env->session, -1, &q, f);
	drive_request_done(&own);
	return r;
}

const struct cmd cmd_shell = {
	.name = "shell", .summary = "Open an interactive terminal in a session",
	.opts = opts, .operands = operands, .defaults = &defaults,
	.args_size = sizeof(struct shell_args), .needs = NEED_FOUND_SESSION, .runs_program = true, .run = run,
};
