/* How an interpreter begins. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/runtime.h"
#include "session/start.h"
#include "session/super.h"

/* [ms] An interpreter that closed its answers and is still there is of no use. */
enum { HANG_UP_MS = 200 };

static void on_answer(void *owner, short revents)
{
	struct context *c = owner;
	char chunk[64 * 1024];
	ssize_t n = read(c->answer_fd, chunk, sizeof chunk);

	(void)revents;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A driver that closed its end or talks nonsense is of no use any more. */
	if (n <= 0 || answer_feed(c, chunk, (size_t)n) < 0) {
		if (c->phase == CONTEXT_DEAD)
			return;
		loop_remove(&c->s->loop, &c->answer);
		/* Mostly it is ending by itself, and how is worth knowing. */
		c->kill_ms = clock_now_ms() + (n == 0 ? HANG_UP_MS : 0);
	}
}

void context_write(void *owner, short revents)
{
	struct context *c = owner;

	(void)revents;
	while (c->n_written < c->command.n) {
		ssize_t n = write(c->command_fd, c->command.data + c->n_written,
			c->command.n - c->n_written);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		c->n_written += (size_t)n;
	}
	c->writing.events = c->n_written < c->command.n ? POLLOUT : 0;
}

static int open_pipes(struct context *c, int inside[5])
{
	int pair[2], r;

	for (int i = 0; i < 2; i++) {
		r = exec_pipe(c->s, pair, false);
		if (r < 0)
			return r;
		c->out_fd[i] = pair[0];
		inside[1 + i] = pair[1];
	}
	r = exec_pipe(c->s, pair, true);
	if (r < 0)
		return r;
	inside[3] = pair[0];
	c->command_fd = pair[1];
	r = exec_pipe(c->s, pair, false);
	if (r < 0)
		return r;
	c->answer_fd = pair[0];
	inside[4] = pair[1];
	return 0;
}

/* The program, its driver, and the modules that one ahead of its use imports. */
static char **make_argv(struct context *c, const char *interpreter)
{
	const char *language = context_state(c)->language;
	const char *program = NULL, *driver = context_driver(language, &program);
	char **modules = context_is_warm(c) ? c->s->session->spec.preload : NULL;
	size_t n = 0;

	while (modules && modules[n])
		n++;
	char **argv = mem_new_array(char *, n + 3);
	argv[0] = (char *)(c->s->session->spec.runtime_dir ? program : interpreter);
	argv[1] = (char *)driver;
	/* Only the session's own interpreter is the one that it was compiled by. */
	if (c->s->has_compiled && !strcmp(language, "python"))
		argv[1] = (char *)"/run/sbx/python.pyc";
	for (size_t i = 0; i < n; i++)
		argv[2 + i] = modules[i];
	return argv;
}

static int launch(struct context *c, const char *interpreter, int inside[5], struct fault *f)
{
	struct super *s = c->s;
	auto_free char **argv = make_argv(c, interpreter);
	char **env = environ_make(&s->session->spec, NULL, NULL);
	struct jail_command command = {
		.kind = JAIL_RUN, .argv = argv, .env = env, .cwd = "/workspace", .uid = JAIL_UID,
		.gid = JAIL_UID, .oom_score_adj = 500, .fds = inside, .n_fds = 5,
	};

	limit_rlimits(s, c->starter, &command.rlimits);
	c->x = s->spare;
	c->is_grouped = s->spare_grouped;
	s->spare = NULL;
	context_listen(c);
	loop_add(&s->loop, &c->answer, c->answer_fd, POLLIN, on_answer, c);
	loop_add(&s->loop, &c->writing, c->command_fd, 0, context_write, c);
	int r = jail_exec_start(c->x, &command, f);
	mem_free_strings(env);
	return r;
}

int context_launch(struct context *c, const char *interpreter, struct fault *f)
{
	int inside[5] = { -1, -1, -1, -1, -1 };

	c->phase = CONTEXT_STARTING;
	c->command_fd = c->answer_fd = c->out_fd[0] = c->out_fd[1] = -1;
	int r = open_pipes(c, inside);
	if (r < 0)
		fault_set(f, FAULT_SYSTEM, -r, "pipe");
	else
		r = launch(c, interpreter, inside, f);
	for (int i = 0; i < 5; i++)
		if (inside[i] >= 0)
			close(inside[i]);
	if (r < 0) {
		c->starter = NULL;
		context_close(c);
	}
	return r;
}

void context_started(struct context *c, struct exec *e)
{
	struct context_state *state = context_state(c);

	state->epoch++;
	state->alive = true;
	e->interpreter = c->lost_why[0] ? "restarted" : "started";
	if (c->lost_why[0])
		exec_lost(e, c->lost_why);
	c->lost_why[0] = state->lost[0] = 0;
	c->wanted_fresh = false;
	c->n_cells = 0;
	super_save_status(c->s);
}

void context_begin(struct context *c, struct exec *e)
{
	c->starter = e;
	e->phase = PHASE_STARTING;
	exec_begin(e);
}

void context_start(struct context *c, struct exec *e)
{
	struct runtime other;
	const char *interpreter = c->s->session->spec.interpreter;
	struct fault f;

	if (warm_is_for(c)) {
		warm_take(c, e);
		return;
	}
	bool own = !strcmp(context_state(c)->language, context_own_language(c->s));
	if (own)
		warm_missed(c->s);
	if (!own && !c->s->session->spec.runtime_dir) {
		if (runtime_find_language(c->s->store->dir, context_state(c)->language, &other, &f) < 0) {
			exec_fail(e, "interpreter", f.sysno, f.text);
			return;
		}
		interpreter = other.path;
	}
	context_begin(c, e);
	if (context_launch(c, interpreter, &f) < 0)
		exec_fail(e, "interpreter", f.sysno, f.text);
	else
		context_started(c, e);
}
