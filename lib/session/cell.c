/*
 * Kept interpreters: one context is one exec-init with an interpreter under a driver, fed
 * over two pipes (DESIGN.md section 5). Whatever comes from a driver is hostile: the cell's
 * own code can write to the same pipe, and then lies about itself only.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/runtime.h"
#include "session/start.h"
#include "session/super.h"

/* [ms] Source: DESIGN.md section 6. */
enum { INTERRUPT_GROUP_MS = 300, INTERRUPT_TERM_MS = 700, INTERRUPT_KILL_MS = 500 };

enum { BACKGROUND_BYTES = 4096 };

static const struct {
	const char *language, *driver;
} drivers[] = {
	{ "python", "/run/sbx/python.py" },
	{ "node", "/run/sbx/node.js" },
	{ "shell", "/run/sbx/shell.sh" },
};

/* --- finding a context ------------------------------------------------------------------ */

static const char *own_language(const struct super *s)
{
	for (size_t i = 0; i < array_size(drivers); i++) {
		size_t n = strlen(drivers[i].language);
		if (!strncmp(s->session->spec.runtime_resolved, drivers[i].language, n))
			return drivers[i].language;
	}
	return "shell";
}

static struct context *find(struct super *s, const char *language, const char *name)
{
	struct session_status *st = &s->session->status;

	for (uint32_t i = 0; i < st->n_contexts; i++)
		if (!strcmp(st->contexts[i].name, name) && !strcmp(st->contexts[i].language, language))
			return &s->contexts[i];
	return NULL;
}

static struct context *make(struct super *s, const char *language, const char *name)
{
	struct session_status *st = &s->session->status;

	if (st->n_contexts == CONTEXTS_MAX)
		return NULL;
	struct context_state *state = &st->contexts[st->n_contexts];
	*state = (struct context_state){ 0 };
	snprintf(state->name, sizeof state->name, "%s", name);
	snprintf(state->language, sizeof state->language, "%s", language);
	return &s->contexts[st->n_contexts++];
}

static struct context_state *state_of(struct context *c)
{
	return &c->s->session->status.contexts[c - c->s->contexts];
}

static const char *driver_of(const char *language)
{
	for (size_t i = 0; i < array_size(drivers); i++)
		if (!strcmp(drivers[i].language, language))
			return drivers[i].driver;
	return NULL;
}

/* --- its end ------------------------------------------------------------------------------ */

static void on_out(struct context *c, int stream)
{
	char chunk[64 * 1024];

	for (int k = 0; k < 32; k++) {
		ssize_t n = read(c->out_fd[stream], chunk, sizeof chunk);
		if (n == 0)
			loop_remove(&c->s->loop, &c->out[stream]);
		if (n <= 0)
			return;
		struct exec *e = c->current ? c->current : c->starter;
		if (e) {
			exec_output(e, stream, chunk, (size_t)n);
			if (!exec_may_read(e))
				return;
			continue;
		}
		/* A thread or child of an earlier cell: nobody's output, but not lost. */
		struct text *t = super_event(c->s, EVENT_LOG, NULL);
		json_put_string(t, "level", "info");
		json_put_string(t, "context", state_of(c)->name);
		json_put_string(t, "stream", stream ? "stderr" : "stdout");
		json_put_bool(t, "background", true);
		json_put_name(t, "message", chunk,
			n < BACKGROUND_BYTES ? (size_t)n : (size_t)BACKGROUND_BYTES);
		super_journal(c->s, NULL);
	}
}

static void on_stdout(void *owner, short revents)
{
	(void)revents;
	on_out(owner, 0);
}

static void on_stderr(void *owner, short revents)
{
	(void)revents;
	on_out(owner, 1);
}

static void drain(struct context *c)
{
	for (int i = 0; i < 2; i++)
		if (c->out_fd[i] >= 0)
			on_out(c, i);
}

static void close_context(struct context *c)
{
	struct loop *l = &c->s->loop;
	struct source *const sources[] = { &c->control, &c->answer, &c->out[0], &c->out[1],
		&c->writing };
	int *const fds[] = { &c->command_fd, &c->answer_fd, &c->out_fd[0], &c->out_fd[1] };

	for (size_t i = 0; i < array_size(sources); i++)
		loop_remove(l, sources[i]);
	for (size_t i = 0; i < array_size(fds); i++)
		drop_fd(fds[i]);
	text_done(&c->in);
	text_done(&c->command);
	c->x = jail_exec_free(c->x);
	c->phase = CONTEXT_DEAD;
	c->leader = 0;
	c->oom_seen = 0;
}

static void describe_end(int status, char *buf, size_t room)
{
	if (WIFEXITED(status))
		snprintf(buf, room, "the interpreter ended with exit code %d", WEXITSTATUS(status));
	else
		snprintf(buf, room, "the interpreter was killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
}

static void note_lost(struct context *c)
{
	struct context_state *state = state_of(c);

	if (!c->s->ending) {
		struct text *t = super_event(c->s, EVENT_STATE_LOST, c->current);
		json_put_string(t, "context", state->name);
		json_put_string(t, "language", state->language);
		json_put_int(t, "epoch", state->epoch);
		json_put_string(t, "reason", c->lost_why);
		super_journal(c->s, c->current);
	}
	state->alive = false;
	super_save_status(c->s);
}

static void context_dead(struct context *c, int status)
{
	struct exec *e = c->current ? c->current : c->starter;
	struct super *s = c->s;

	if (c->phase == CONTEXT_DEAD)
		return;
	drain(c);
	describe_end(status, c->lost_why, sizeof c->lost_why);
	if (e) {
		e->has_status = true;
		e->wait_status = status;
		e->state_gone = true;
		cgroup_child_read(s->cgroup, jail_exec_number(c->x), &e->group);
		e->has_group = true;
	}
	note_lost(c);
	if (c->wanted_fresh)
		c->lost_why[0] = 0;
	bool starting = c->phase == CONTEXT_STARTING;
	close_context(c);
	c->starter = NULL;
	if (e && starting && e->status == EXEC_RUNNING) {
		e->context = NULL;
		exec_fail(e, "interpreter", 0, c->lost_why);
	} else if (e) {
		if (e->status == EXEC_RUNNING) {
			e->reason = REASON_INTERPRETER_DIED;
			e->status = WIFEXITED(status) ? EXEC_ERROR : EXEC_KILLED;
			e->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		exec_settle(e);
	}
	c->current = NULL;
	super_spare_wanted(s);
	exec_start_waiting(s);
}

static void on_context_control(void *owner, short revents)
{
	struct context *c = owner;
	struct jail_exec_event ev;
	struct fault f;

	(void)revents;
	if (jail_exec_read(c->x, &ev, &f) < 0) {
		jail_exec_kill(c->x);
		loop_remove(&c->s->loop, &c->control);
		return;
	}
	if (ev.kind == JAIL_EXEC_FAILED && c->starter) {
		struct exec *e = c->starter;
		c->starter = NULL;
		state_of(c)->alive = false;
		close_context(c);
		exec_fail(e, ev.stage, ev.sysno, "the interpreter could not be started");
	} else if (ev.kind == JAIL_EXEC_ENDED) {
		context_dead(c, ev.status);
	} else if (ev.kind == JAIL_EXEC_DEAD) {
		loop_remove(&c->s->loop, &c->control);
	}
}

void cell_reaped(struct super *s, uint32_t number)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++) {
		struct context *c = &s->contexts[i];
		if (c->phase == CONTEXT_DEAD || jail_exec_number(c->x) != number)
			continue;
		if (c->control.ready)
			on_context_control(c, 0);
		if (c->phase != CONTEXT_DEAD)
			context_dead(c, SIGKILL);
		return;
	}
}

void cell_kill(struct context *c)
{
	if (c->x)
		jail_exec_kill(c->x);
}

void cell_close_all(struct super *s)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++) {
		struct context *c = &s->contexts[i];
		if (c->phase == CONTEXT_DEAD)
			continue;
		note_lost(c);
		close_context(c);
	}
}

/* --- its begin ---------------------------------------------------------------------------- */

static void on_answer(void *owner, short revents)
{
	struct context *c = owner;
	char chunk[64 * 1024];
	ssize_t n = read(c->answer_fd, chunk, sizeof chunk);

	(void)revents;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A driver that closed its end or talks nonsense is of no use any more. */
	if (n <= 0 || cell_feed(c, chunk, (size_t)n) < 0) {
		if (c->phase == CONTEXT_DEAD)
			return;
		loop_remove(&c->s->loop, &c->answer);
		cell_kill(c);
	}
}

static void write_command(void *owner, short revents)
{
	struct context *c = owner;

	(void)revents;
	while (c->command.n) {
		ssize_t n = write(c->command_fd, c->command.data, c->command.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		c->command.n -= (size_t)n;
		memmove(c->command.data, c->command.data + n, c->command.n);
	}
	c->writing.events = c->command.n ? POLLOUT : 0;
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

static int launch(struct context *c, const char *interpreter, int inside[5], struct fault *f)
{
	struct super *s = c->s;
	const char *driver = driver_of(state_of(c)->language);
	char *argv[] = { (char *)interpreter, (char *)driver, NULL };
	char **env = environ_make(&s->session->spec, NULL, false);
	struct jail_command command = {
		.kind = JAIL_RUN, .argv = argv, .env = env, .cwd = "/workspace", .uid = JAIL_UID,
		.gid = JAIL_UID, .oom_score_adj = 500, .fds = inside, .n_fds = 5,
	};

	limit_rlimits(s, c->starter, &command.rlimits);
	c->x = s->spare;
	s->spare = NULL;
	loop_add(&s->loop, &c->control, jail_exec_fd(c->x), POLLIN, on_context_control, c);
	loop_add(&s->loop, &c->answer, c->answer_fd, POLLIN, on_answer, c);
	loop_add(&s->loop, &c->out[0], c->out_fd[0], POLLIN, on_stdout, c);
	loop_add(&s->loop, &c->out[1], c->out_fd[1], POLLIN, on_stderr, c);
	loop_add(&s->loop, &c->writing, c->command_fd, 0, write_command, c);
	int r = jail_exec_start(c->x, &command, f);
	environ_free(env);
	return r;
}

static void mark_started(struct context *c, struct exec *e)
{
	struct context_state *state = state_of(c);

	state->epoch++;
	state->alive = true;
	e->interpreter = c->lost_why[0] ? "restarted" : "started";
	if (c->lost_why[0]) {
		json_open(&e->lost, '{');
		json_put_string(&e->lost, "name", "*");
		json_put_string(&e->lost, "why", c->lost_why);
		json_close(&e->lost, '}');
	}
	c->lost_why[0] = 0;
	c->wanted_fresh = false;
	c->n_cells = 0;
	super_save_status(c->s);
}

static void start_context(struct context *c, struct exec *e)
{
	struct runtime other;
	const char *interpreter = c->s->session->spec.interpreter;
	int inside[5] = { -1, -1, -1, -1, -1 };
	struct fault f;

	c->command_fd = c->answer_fd = c->out_fd[0] = c->out_fd[1] = -1;
	if (strcmp(state_of(c)->language, own_language(c->s)) != 0) {
		if (runtime_find_language(c->s->store->dir, state_of(c)->language, &other, &f) < 0) {
			exec_fail(e, "interpreter", f.sysno, f.text);
			return;
		}
		interpreter = other.path;
	}
	c->phase = CONTEXT_STARTING;
	c->starter = e;
	e->phase = PHASE_STARTING;
	exec_begin(e);
	int r = open_pipes(c, inside);
	if (r < 0)
		fault_set(&f, FAULT_SYSTEM, -r, "pipe");
	else
		r = launch(c, interpreter, inside, &f);
	for (int i = 0; i < 5; i++)
		if (inside[i] >= 0)
			close(inside[i]);
	if (r >= 0) {
		mark_started(c, e);
		return;
	}
	c->starter = NULL;
	close_context(c);
	exec_fail(e, "interpreter", f.sysno, f.text);
}

static void send_cell(struct context *c, struct exec *e)
{
	const struct exec_request *q = &e->w.r;
	size_t n_env = 0;

	if (c->phase != CONTEXT_STARTING) {
		e->interpreter = "kept";
		e->phase = PHASE_STARTING;
		exec_begin(e);
	}
	c->phase = CONTEXT_BUSY;
	c->starter = NULL;
	c->current = e;
	c->n_answer = 0;
	e->x = c->x;
	e->cell = ++c->n_cells;
	e->epoch = state_of(c)->epoch;
	e->oom_before = c->oom_seen;
	e->cpu_before_us = watch_cpu_us(c->leader);
	while (q->env[n_env])
		n_env++;
	text_clear(&c->command);
	text_format(&c->command, "cell %u %zu %zu %zu\n", e->cell, q->n_code, strlen(q->workdir), n_env);
	text_put_bytes(&c->command, q->code, q->n_code);
	text_put_bytes(&c->command, "", 1);
	text_put_bytes(&c->command, q->workdir, strlen(q->workdir) + 1);
	for (size_t i = 0; i < n_env; i++)
		text_put_bytes(&c->command, q->env[i], strlen(q->env[i]) + 1);
	exec_running(e);
	write_command(c, 0);
}

void cell_begin(struct exec *e)
{
	struct super *s = e->s;
	const struct exec_request *q = &e->w.r;
	const char *language = q->language[0] ? q->language : own_language(s);
	const char *name = q->context[0] ? q->context : "main";

	if (!driver_of(language)) {
		exec_fail(e, "language", 0, "there is no such language; python, node and shell are");
		return;
	}
	struct context *c = find(s, language, name);
	if (!c)
		c = make(s, language, name);
	if (!c) {
		exec_fail(e, "context", 0, "the session has 16 contexts; remove one with "
			"'sbx context rm'");
		return;
	}
	c->s = s;
	e->context = c;
	if (c->phase == CONTEXT_IDLE && (q->flags & EXEC_FRESH) && !c->wanted_fresh) {
		c->wanted_fresh = true;
		cell_kill(c);
	} else if (c->phase == CONTEXT_IDLE && !c->wanted_fresh) {
		send_cell(c, e);
	} else if (c->phase == CONTEXT_DEAD && s->spare) {
		start_context(c, e);
	}
}

void cell_ready(struct context *c)
{
	if (c->phase != CONTEXT_STARTING || !c->starter)
		return;
	c->leader = watch_child(jail_exec_pid(c->x));
	send_cell(c, c->starter);
}

/* --- ending a cell ------------------------------------------------------------------------- */

void cell_interrupt(struct exec *e)
{
	struct context *c = e->context;

	e->stage = STOP_ASKED;
	e->stage_ms = super_now_ms() + INTERRUPT_GROUP_MS;
	if (c->current == e) {
		jail_exec_signal(c->x, SIGINT, JAIL_TO_LEADER);
		return;
	}
	/* Still starting: there are no variables to save. */
	cell_kill(c);
	e->stage = STOP_KILLED;
	e->stage_ms = super_now_ms() + REAP_LIMIT_MS;
}

void cell_stop_step(struct exec *e)
{
	struct context *c = e->context;
	int64_t now = super_now_ms();

	switch (e->stage) {
	case STOP_ASKED:
		jail_exec_signal(c->x, SIGINT, JAIL_TO_GROUP);
		e->stage = STOP_GROUP;
		e->stage_ms = now + INTERRUPT_TERM_MS;
		break;
	case STOP_GROUP:
		jail_exec_signal(c->x, SIGTERM, JAIL_TO_LEADER);
		e->stage = STOP_TERMINATED;
		e->stage_ms = now + INTERRUPT_KILL_MS;
		break;
	case STOP_TERMINATED:
		cell_kill(c);
		e->stage = STOP_KILLED;
		e->stage_ms = now + REAP_LIMIT_MS;
		break;
	default:
		exec_warn(e, "unkillable", "a process of it is stuck in the kernel and still there");
		exec_settle(e);
	}
}

void cell_done(struct context *c, const char *status, int code)
{
	struct exec *e = c->current;

	drain(c);
	e->has_answer = true;
	if (e->stage != STOP_NOT) {
		/* The limit fired: what the cell started goes with it, its variables stay. */
		jail_exec_kill_since(c->x, e->begin_ticks);
	} else {
		e->exit_code = code;
		e->reason = REASON_EXIT;
		e->status = !strcmp(status, "ok") || (!strcmp(status, "exit") && !code) ? EXEC_SUCCESS :
											  EXEC_ERROR;
	}
	exec_settle(e);
	exec_start_waiting(c->s);
}

/* Lets go of the context when its cell is settled, whatever the reason. */
void cell_release(struct exec *e)
{
	struct context *c = e->context;

	e->x = NULL;
	if (!c || c->current != e)
		return;
	c->current = NULL;
	if (c->phase != CONTEXT_BUSY)
		return;
	c->phase = CONTEXT_IDLE;
	cgroup_child_read(e->s->cgroup, jail_exec_number(c->x), &e->group);
	c->oom_seen = e->group.oom_kills;
	e->has_group = true;
	e->cpu_us = watch_cpu_us(c->leader) - e->cpu_before_us;
	if (!e->group.has_memory)
		e->rss_bytes = (int64_t)watch_peak_rss(c->leader);
	uint32_t n = watch_tree_count(jail_exec_pid(c->x));
	e->children = n > 2 ? n - 2 : 0;
}

/* --- requests about contexts ----------------------------------------------------------------- */

void cell_contexts(struct super *s, struct conn *c)
{
	static const char *const phases[] = { "dead", "starting", "idle", "busy" };
	const struct session_status *st = &s->session->status;
	auto_text struct text t = { 0 };

	for (uint32_t i = 0; i < st->n_contexts; i++) {
		const struct context_state *state = &st->contexts[i];
		json_open(&t, '{');
		json_put_string(&t, "schema", "sbx.context/1");
		json_put_string(&t, "context", state->name);
		json_put_string(&t, "language", state->language);
		json_put_int(&t, "epoch", state->epoch);
		json_put_string(&t, "status", phases[s->contexts[i].phase]);
		json_close(&t, '}');
		text_put_char(&t, '\n');
	}
	conn_done(c, &t);
}

void cell_context_remove(struct super *s, struct conn *conn, struct msg *m)
{
	struct frame r = { m->body, m->n };
	struct fault f;
	const char *language = frame_get_string(&r);
	const char *name = frame_get_string(&r);
	struct context *c = find(s, language[0] ? language : own_language(s), name);

	if (!c) {
		fault_set(&f, FAULT_NOT_FOUND, 0, "no context '%.64s' in this session", name);
		conn_fault(conn, &f);
		return;
	}
	/* The epoch goes on counting: a context of the same name is a new one. */
	if (c->phase != CONTEXT_DEAD) {
		c->wanted_fresh = true;
		cell_kill(c);
	}
	conn_done(conn, NULL);
}
