/* The process of a kept interpreter: found or made, started, watched, gone. */
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

/* [bytes] Of output between cells: in one event, and told at all. */
enum { BACKGROUND_BYTES = 4096, BACKGROUND_ALL_BYTES = 64 * 1024 };

static const struct {
	const char *language, *driver, *program; /* as it is looked for on a PATH inside */
} drivers[] = {
	{ "python", "/run/sbx/python.py", "python3" },
	{ "node", "/run/sbx/node.js", "node" },
	{ "shell", "/run/sbx/shell.sh", "bash" },
};

/* --- finding a context ------------------------------------------------------------------ */

const char *context_own_language(const struct super *s)
{
	for (size_t i = 0; i < array_size(drivers); i++) {
		size_t n = strlen(drivers[i].language);
		if (!strncmp(s->session->spec.runtime_resolved, drivers[i].language, n))
			return drivers[i].language;
	}
	return "shell";
}

struct context *context_find(struct super *s, const char *language, const char *name)
{
	struct session_status *st = &s->session->status;

	for (uint32_t i = 0; i < st->n_contexts; i++)
		if (!strcmp(st->contexts[i].name, name) && !strcmp(st->contexts[i].language, language))
			return &s->contexts[i];
	return NULL;
}

/* A place that was never used, else that of one that is dead and of which there is nothing
 * left to say: it was removed, or an earlier supervisor has told that it was lost. */
static struct context *find_room(struct super *s)
{
	struct session_status *st = &s->session->status;

	if (st->n_contexts < CONTEXTS_MAX)
		return &s->contexts[st->n_contexts++];
	for (size_t i = 0; i < CONTEXTS_MAX; i++)
		if (s->contexts[i].phase == CONTEXT_DEAD && !s->contexts[i].lost_why[0])
			return &s->contexts[i];
	return NULL;
}

struct context *context_make(struct super *s, const char *language, const char *name)
{
	const struct session_status *st = &s->session->status;
	struct context *c = find_room(s);
	uint32_t epoch = 0;

	if (!c)
		return NULL;
	c->s = s;
	struct context_state *state = context_state(c);
	/* The name may have been here before: its new interpreter must not pass for the old one. */
	for (uint32_t i = 0; state->name[0] && i < st->n_contexts; i++)
		if (st->contexts[i].epoch > epoch)
			epoch = st->contexts[i].epoch;
	*state = (struct context_state){ .epoch = epoch };
	snprintf(state->name, sizeof state->name, "%s", name);
	snprintf(state->language, sizeof state->language, "%s", language);
	return c;
}

bool context_is_room_coming(const struct super *s)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++)
		if (s->contexts[i].phase != CONTEXT_DEAD && s->contexts[i].wanted_fresh)
			return true;
	return false;
}

struct context_state *context_state(struct context *c)
{
	struct super *s = c->s;

	return context_is_warm(c) ? &s->warm_state : &s->session->status.contexts[c - s->contexts];
}

bool context_is_warm(const struct context *c)
{
	return c == &c->s->contexts[CONTEXT_WARM];
}

const char *context_driver(const char *language, const char **ret_program)
{
	for (size_t i = 0; i < array_size(drivers); i++)
		if (!strcmp(drivers[i].language, language)) {
			*ret_program = drivers[i].program;
			return drivers[i].driver;
		}
	return NULL;
}

/* --- its end ------------------------------------------------------------------------------ */

/* A thread or child of an earlier cell: nobody's output, but not lost. It may go on for days,
 * and no limit counts the journal. */
static void note_background(struct context *c, int stream, const char *p, size_t n)
{
	enum { EVENT_BYTES = 256 };

	if (c->n_background >= BACKGROUND_ALL_BYTES)
		return;
	if (n > BACKGROUND_BYTES)
		n = BACKGROUND_BYTES;
	c->n_background += EVENT_BYTES + n;
	struct text *t = super_event(c->s, EVENT_LOG, NULL);
	json_put_string(t, "level", "info");
	json_put_string(t, "context", context_state(c)->name);
	json_put_string(t, "stream", stream ? "stderr" : "stdout");
	json_put_bool(t, "background", true);
	if (c->n_background >= BACKGROUND_ALL_BYTES)
		json_put_bool(t, "last", true);
	json_put_name(t, "message", p, n);
	super_journal(c->s, NULL);
}

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
		note_background(c, stream, chunk, (size_t)n);
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

void context_drain(struct context *c)
{
	for (int i = 0; i < 2; i++)
		if (c->out_fd[i] >= 0)
			on_out(c, i);
}

void context_close(struct context *c)
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
	c->n_written = 0;
	c->x = jail_exec_free(c->x);
	c->phase = CONTEXT_DEAD;
	watch_leader_close(&c->leader);
	c->oom_seen = 0;
	c->kill_ms = 0;
	c->cpu_seen_us = c->waited_us = 0;
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
	struct context_state *state = context_state(c);

	/* Nobody has put anything into it. */
	if (context_is_warm(c)) {
		warm_lost(c->s);
		return;
	}
	struct text *t = super_event(c->s, EVENT_STATE_LOST, c->current);
	json_put_string(t, "context", state->name);
	json_put_string(t, "language", state->language);
	json_put_int(t, "epoch", state->epoch);
	json_put_string(t, "reason", c->lost_why);
	super_journal(c->s, c->current);
	state->alive = false;
	snprintf(state->lost, sizeof state->lost, "%s", c->wanted_fresh ? "" : c->lost_why);
	super_save_status(c->s);
}

void exec_lost(struct exec *e, const char *why)
{
	json_open(&e->lost, '{');
	json_put_string(&e->lost, "name", "*");
	json_put_string(&e->lost, "why", why);
	json_close(&e->lost, '}');
}

static void context_dead(struct context *c, int status, const struct jail_usage *usage)
{
	struct exec *e = c->current ? c->current : c->starter;
	struct super *s = c->s;

	if (c->phase == CONTEXT_DEAD)
		return;
	context_drain(c);
	limit_recount(s);
	if (!c->lost_why[0])
		describe_end(status, c->lost_why, sizeof c->lost_why);
	if (e) {
		e->has_status = true;
		e->wait_status = status;
		e->state_gone = true;
		exec_lost(e, c->lost_why);
		exec_read_group(e, c->x);
		e->cpu_us = usage->cpu_us - c->cpu_seen_us;
		if (usage->max_rss_bytes > e->rss_bytes)
			e->rss_bytes = usage->max_rss_bytes;
	}
	note_lost(c);
	if (c->wanted_fresh)
		c->lost_why[0] = 0;
	bool starting = c->phase == CONTEXT_STARTING;
	/* It may not be the interpreter that compiled its driver: the next one gets the source. */
	if (starting)
		s->has_compiled = false;
	context_close(c);
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

/* Takes one event of the exec-init; false when there is none. */
static bool take_control(struct context *c)
{
	struct jail_exec_event ev;
	struct fault f;

	if (jail_exec_read(c->x, &ev, &f) < 0) {
		jail_exec_kill(c->x);
		loop_remove(&c->s->loop, &c->control);
		return false;
	}
	if (ev.kind == JAIL_EXEC_FAILED) {
		struct exec *e = c->starter;
		c->starter = NULL;
		context_state(c)->alive = false;
		context_close(c);
		if (e)
			exec_fail(e, ev.stage, ev.sysno,
				e->s->session->spec.runtime_dir && ev.sysno == ENOENT ?
				"the directory has no such interpreter" :
				"the interpreter could not be started");
		else if (context_is_warm(c))
			warm_lost(c->s);
	} else if (ev.kind == JAIL_EXEC_ENDED) {
		context_dead(c, ev.status, &ev.usage);
	} else if (ev.kind == JAIL_EXEC_DEAD) {
		loop_remove(&c->s->loop, &c->control);
	}
	return ev.kind != JAIL_EXEC_NONE;
}

static void on_context_control(void *owner, short revents)
{
	(void)revents;
	take_control(owner);
}

void context_listen(struct context *c)
{
	struct loop *l = &c->s->loop;

	loop_add(l, &c->control, jail_exec_fd(c->x), POLLIN, on_context_control, c);
	loop_add(l, &c->out[0], c->out_fd[0], POLLIN, on_stdout, c);
	loop_add(l, &c->out[1], c->out_fd[1], POLLIN, on_stderr, c);
}

void context_reaped(struct super *s, uint32_t number, const struct jail_usage *usage)
{
	for (size_t i = 0; i < CONTEXT_PLACES; i++) {
		struct context *c = &s->contexts[i];
		if (c->phase == CONTEXT_DEAD || jail_exec_number(c->x) != number)
			continue;
		while (c->phase != CONTEXT_DEAD && c->control.ready && take_control(c))
			;
		if (c->phase != CONTEXT_DEAD)
			context_dead(c, SIGKILL, usage);
		return;
	}
}

void context_kill(struct context *c)
{
	if (c->x)
		jail_exec_kill(c->x);
}

void context_close_all(struct super *s, const char *why)
{
	for (size_t i = 0; i < CONTEXT_PLACES; i++) {
		struct context *c = &s->contexts[i];
		if (c->phase == CONTEXT_DEAD)
			continue;
		c->current = c->starter = NULL;
		snprintf(c->lost_why, sizeof c->lost_why, "%s", why);
		note_lost(c);
		context_close(c);
	}
}

/* --- what is asked of it from outside ------------------------------------------------------- */

void context_remove(struct super *s, struct conn *conn, struct msg *m)
{
	struct frame r = { m->body, m->n };
	struct fault f;
	const char *language = frame_get_string(&r);
	const char *name = frame_get_string(&r);
	struct context *c = context_find(s, language[0] ? language : context_own_language(s), name);

	if (!c) {
		fault_set(&f, FAULT_NOT_FOUND, 0, "no context '%.64s' in this session", name);
		conn_fault(conn, &f);
		return;
	}
	/* The epoch goes on counting: a context of the same name is a new one. */
	if (c->phase != CONTEXT_DEAD) {
		c->wanted_fresh = true;
		context_kill(c);
	}
	c->lost_why[0] = context_state(c)->lost[0] = 0;
	conn_done(conn, NULL);
}
