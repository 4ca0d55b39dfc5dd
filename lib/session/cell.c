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
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/runtime.h"
#include "session/start.h"
#include "session/super.h"
#include "sys/proc.h"

/* [ms] Source: DESIGN.md section 6. */
enum { INTERRUPT_OWN_MS = 300, INTERRUPT_TERM_MS = 700, INTERRUPT_KILL_MS = 500 };

/* Whose a process is is told by its start, in hundredths of a second: a cell begins in none in which
 * something that an earlier one left has started. Mostly nothing is left. */
static void await_tick(const struct context *c)
{
	const struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < 20 && c->newest_ticks && proc_now_ticks() <= c->newest_ticks; i++)
		nanosleep(&ms, NULL);
}

static void send_cell(struct context *c, struct exec *e)
{
	const struct exec_request *q = &e->w.r;
	size_t n_env = 0;

	if (c->phase != CONTEXT_STARTING) {
		e->interpreter = "kept";
		e->phase = PHASE_STARTING;
		await_tick(c);
		exec_begin(e);
	}
	c->phase = CONTEXT_BUSY;
	c->starter = NULL;
	c->current = e;
	c->n_answer = 0;
	c->n_background = 0;
	e->x = c->x;
	e->cell = ++c->n_cells;
	e->epoch = context_state(c)->epoch;
	e->oom_before = c->oom_seen;
	e->is_grouped = c->is_grouped;
	c->cpu_seen_us = watch_leader_cpu_us(&c->leader) + c->waited_us;
	while (q->env[n_env])
		n_env++;
	text_clear(&c->command);
	c->n_written = 0;
	text_format(&c->command, "cell %u %zu %zu %zu\n", e->cell, q->n_code, strlen(q->workdir), n_env);
	text_put_bytes(&c->command, q->code, q->n_code);
	text_put_bytes(&c->command, "", 1);
	text_put_bytes(&c->command, q->workdir, strlen(q->workdir) + 1);
	for (size_t i = 0; i < n_env; i++)
		text_put_bytes(&c->command, q->env[i], strlen(q->env[i]) + 1);
	exec_running(e);
	context_write(c, 0);
}

void cell_begin(struct exec *e)
{
	struct super *s = e->s;
	const struct exec_request *q = &e->w.r;
	const char *language = q->language[0] ? q->language : context_own_language(s);
	const char *name = q->context[0] ? q->context : "main", *program;

	if (!context_driver(language, &program)) {
		exec_fail(e, "language", 0, "there is no such language; python, node and shell are");
		return;
	}
	struct context *c = context_find(s, language, name);
	if (!c)
		c = context_make(s, language, name);
	if (!c && context_is_room_coming(s))
		return; /* it stays queued */
	if (!c) {
		exec_fail(e, "context", 0, "the session has 16 contexts; remove one with "
			"'" SBX_PROGRAM " context rm'");
		return;
	}
	c->s = s;
	e->context = c;
	if (c->phase == CONTEXT_IDLE && (q->flags & EXEC_FRESH) && !c->wanted_fresh) {
		c->wanted_fresh = true;
		context_kill(c);
	} else if (c->phase == CONTEXT_IDLE && !c->wanted_fresh) {
		send_cell(c, e);
	} else if (c->phase == CONTEXT_DEAD && (s->spare || warm_is_for(c))) {
		context_start(c, e);
	}
}

void cell_ready(struct context *c)
{
	if (c->phase != CONTEXT_STARTING)
		return;
	if (!c->leader.pid)
		watch_leader_open(&c->leader, jail_exec_pid(c->x));
	if (c->starter) {
		send_cell(c, c->starter);
		return;
	}
	warm_ready(c);
}

/* --- ending a cell ------------------------------------------------------------------------- */

/* To what the cell has started: what began in its first hundredth of a second is its own. */
static void signal_own(const struct exec *e, int signal)
{
	jail_exec_signal_since(e->context->x, signal, e->begin_ticks - 1);
}

void cell_interrupt(struct exec *e)
{
	struct context *c = e->context;

	e->stage = STOP_ASKED;
	e->stage_ms = clock_now_ms() + INTERRUPT_OWN_MS;
	if (c->current == e) {
		jail_exec_signal(c->x, SIGINT, JAIL_TO_LEADER);
		return;
	}
	/* Still starting: there are no variables to save. */
	context_kill(c);
	e->stage = STOP_KILLED;
	e->stage_ms = clock_now_ms() + REAP_LIMIT_MS;
}

void cell_stop_step(struct exec *e)
{
	struct context *c = e->context;
	int64_t now = clock_now_ms();

	switch (e->stage) {
	case STOP_ASKED:
		/* What a call waits for that ignores the signal itself (system(3)); what earlier cells
		 * started is in the same process group, and is left alone. */
		jail_exec_signal(c->x, SIGINT, JAIL_TO_LEADER);
		signal_own(e, SIGINT);
		e->stage = STOP_OWN;
		e->stage_ms = now + INTERRUPT_TERM_MS;
		break;
	case STOP_OWN:
		jail_exec_signal(c->x, SIGTERM, JAIL_TO_LEADER);
		e->stage = STOP_TERMINATED;
		e->stage_ms = now + INTERRUPT_KILL_MS;
		break;
	case STOP_TERMINATED:
		context_kill(c);
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

	context_drain(c);
	e->has_answer = true;
	if (e->stage != STOP_NOT) {
		/* The limit fired: what the cell started goes with it, its variables stay. */
		signal_own(e, SIGKILL);
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
	exec_read_group(e, c->x);
	c->oom_seen = e->group.oom_kills;
	struct watch_look look;
	watch_leader_look(&c->leader, &look);
	e->cpu_us = look.cpu_us + look.waited_us - c->cpu_seen_us;
	c->cpu_seen_us = look.cpu_us + look.waited_us;
	c->waited_us = look.waited_us;
	if (!e->group.has_memory)
		e->rss_bytes = (int64_t)watch_peak_rss(c->leader.pid);
	e->children = look.children;
	c->newest_ticks = look.newest_ticks;
}
