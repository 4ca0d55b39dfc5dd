/* sbx exec: runs a command, or code in a kept interpreter, in a session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "session/session.h"
#include "ask.h"
#include "drive.h"

struct exec_args {
	struct drive_args drive;
	const char *request, *env_file;
	char **env;
	uint64_t output_keep_bytes;
};

#define S struct exec_args
static const struct opt opts[] = {
	DRIVE_OPTS(S),
	OPT_TEXT(S, drive.context, 0, "context", "NAME", COMP_NONE, "which interpreter; main if not given"),
	OPT_FLAG(S, drive.fresh, 0, "fresh", "start the interpreter anew first"),
	OPT_LIST(S, env, 'e', "env", "NAME=VALUE", COMP_NONE,
		"environment variable; NAME: as it is here"),
	OPT_TEXT(S, env_file, 0, "env-file", "FILE", COMP_FILE, "read NAME=VALUE lines, taken as they are"),
	OPT_ROW(SIZE, S, output_keep_bytes, uint64_t, 0, "output-keep", "output kept of it",
		.value = "SIZE", .min = SPEC_KEEP_MIN, .max = SPEC_BYTES_MAX),
	OPT_TEXT(S, drive.request_id, 0, "request-id", "ID", COMP_NONE,
		"give the first result of this id again"),
	DRIVE_DETACH_OPT(S),
	OPT_TEXT(S, request, 0, "request", "FILE", COMP_FILE, "read the request from JSON; - is stdin"),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 0, .max = 1, .complete = COMP_SESSION },
	{ .name = "COMMAND", .min = 0, .max = UINT32_MAX, .complete = COMP_PROGRAM },
	{ 0 },
};

static const struct exec_args defaults = { .drive = DRIVE_DEFAULTS,
	.output_keep_bytes = OPT_UNSET };

/* What a body says of code goes with code only: a command may stand in its place. */
static void merge_code(const struct exec_ask *b, struct exec_request *q)
{
	if (!q->language)
		q->language = b->language;
	if (!q->context && b->context[0])
		q->context = b->context;
	if (b->fresh)
		q->flags |= EXEC_FRESH;
}

/* The body's fields go where no option stands. */
static void merge(const struct exec_ask *b, struct exec_request *q)
{
	if (!q->argv && !q->code) {
		q->argv = b->command;
		q->code = b->code;
		q->n_code = b->code ? strlen(b->code) : 0;
	}
	if (q->code)
		merge_code(b, q);
	if (!q->workdir)
		q->workdir = b->workdir;
	if (!q->request_id)
		q->request_id = b->request_id;
	if (q->timeout_ms == EXEC_TIMEOUT_DEFAULT && b->timeout_ms != SPEC_UNSET)
		q->timeout_ms = b->timeout_ms;
	if (!q->cpu_limit_ms && b->cpu_limit_ms != SPEC_UNSET)
		q->cpu_limit_ms = b->cpu_limit_ms;
	if (!q->output_keep_bytes && b->output_keep_bytes != SPEC_UNSET)
		q->output_keep_bytes = b->output_keep_bytes;
}

static int read_body(struct cmd_env *env, const char *file, struct exec_ask *b, struct fault *f)
{
	auto_text struct text t = { 0 };
	int r = ask_read_description(env, file, &t, f);

	if (!r)
		r = exec_ask_read(b, ask_file_name(file), t.data ? t.data : "", t.n, f);
	if (r < 0)
		return r;
	if (!env->has_session && !b->session_id[0])
		return fault_set(f, FAULT_USAGE, 0, "neither the request nor the command line names a "
			"session");
	if (!env->has_session)
		return cmd_open_session(env, b->session_id, f);
	r = b->session_id[0] ? store_session_load(&env->session, f) : 0;
	if (r < 0)
		return r;
	if (b->session_id[0] && strcmp(b->session_id, env->session.spec.id) != 0 &&
		strcmp(b->session_id, env->session.spec.name) != 0)
		return fault_set(f, FAULT_USAGE, 0, "the request is for session %s, the command line "
			"says %s", b->session_id, env->session.spec.id);
	return 0;
}

static int build(struct cmd_env *env, const struct exec_args *a, struct drive_code *own,
	struct exec_ask *body, struct exec_request *q, struct fault *f)
{
	bool runs_body = a->request && !env->words.program && !a->drive.code && !a->drive.file;
	int r = drive_options(&a->drive, q, f);

	if (!r && a->request)
		r = read_body(env, a->request, body, f);
	if (!r && !runs_body)
		r = drive_program(&a->drive, &env->words, own, q, f);
	if (r < 0)
		return r;
	own->env = take_ptr(&body->env);
	if (a->output_keep_bytes != OPT_UNSET)
		q->output_keep_bytes = a->output_keep_bytes;
	if (a->env_file)
		r = ask_put_env_file(&own->env, a->env_file, f);
	if (!r)
		r = ask_put_env(&own->env, a->env, f);
	q->env = own->env;
	if (a->request)
		merge(body, q);
	return r < 0 ? r : drive_check(q, f);
}

/* The body's stdin takes the place of ours. */
static int feed(const char *input, struct exec_request *q, struct drive *d, struct fault *f)
{
	if (!input)
		return 0;
	if (q->flags & (EXEC_STDIN | EXEC_TTY))
		return fault_set(f, FAULT_USAGE, 0, "the request has its own stdin: leave out -i and -t");
	auto_fd int fd = memfd_create("stdin", MFD_CLOEXEC);
	if (fd < 0 || fd_write_all(fd, input, strlen(input)) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
		dup2(fd, STDIN_FILENO) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "pass on the request's stdin");
	q->flags |= EXEC_STDIN;
	d->input = true;
	return 0;
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct exec_args *a = p;
	struct exec_ask body = { 0 };
	struct drive_code own = { 0 };
	struct exec_request q;
	struct drive d;

	if (!env->has_session && !a->request)
		return fault_set(f, FAULT_USAGE, 0, "SESSION is missing");
	int r = build(env, a, &own, &body, &q, f);
	if (!r)
		r = drive_init(&d, "exec", &a->drive, f);
	if (!r)
		r = feed(body.stdin_text, &q, &d, f);
	if (!r)
		r = drive_run(&d, &env->session, -1, &q, f);
	drive_request_done(&own);
	exec_ask_done(&body);
	return r;
}

const struct cmd cmd_exec = {
	.name = "exec", .summary = "Run a command, or code with kept state, in a session",
	.opts = opts, .operands = operands, .defaults = &defaults,
	.args_size = sizeof(struct exec_args), .needs = NEED_FOUND_SESSION, .runs_program = true, .run = run,
};
