/* What should have answered long ago: init, an exec-init, an interpreter that starts. None of
 * them has run the program yet, so its own time limit says nothing about them. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "session/super.h"

void overdue_expect(struct super *s)
{
	s->setup_ms = clock_now_ms() + SETUP_LIMIT_MS;
}

void overdue_arrived(struct super *s)
{
	s->setup_ms = 0;
}

static bool is_starting(const struct exec *e)
{
	return e->phase == PHASE_STARTING && e->stage == STOP_NOT;
}

static int64_t start_due_ms(const struct exec *e)
{
	return e->begin_us / 1000 + SETUP_LIMIT_MS;
}

static void end_start(struct exec *e)
{
	struct context *c = e->is_cell ? e->context : NULL;

	if (c && c->starter == e) {
		c->starter = NULL;
		snprintf(c->lost_why, sizeof c->lost_why, "it was not ready within %d s",
			SETUP_LIMIT_MS / 1000);
		context_kill(c);
		exec_fail(e, "interpreter", ETIMEDOUT, "the interpreter was not ready in time");
	} else if (e->x && !e->is_cell) {
		jail_exec_kill(e->x);
		exec_fail(e, "start", ETIMEDOUT, "its process was not started in time");
	}
}

static bool waits_for_spare(const struct exec *e)
{
	return e->phase == PHASE_QUEUED &&
		(!e->is_cell || !e->context || e->context->phase == CONTEXT_DEAD);
}

/* Init makes no process any more, or is stuck in its set-up: a file system that does not answer
 * is the usual cause. What runs already is left alone. */
static void end_waiting(struct super *s)
{
	overdue_expect(s);
	if (!s->ready) {
		fault_set(&s->fault, FAULT_SYSTEM, ETIMEDOUT, "the jail was not ready within %d s; a file "
			"system that it needs may be stuck", SETUP_LIMIT_MS / 1000);
		jail_kill(s->jail);
		super_jail_gone(s);
		return;
	}
	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (waits_for_spare(e))
			exec_fail(e, "process", ETIMEDOUT, "the session's init makes no process for it");
	}
}

void overdue_step(struct super *s)
{
	int64_t now = clock_now_ms();

	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (is_starting(e) && now >= start_due_ms(e))
			end_start(e);
	}
	if (s->setup_ms && now >= s->setup_ms)
		end_waiting(s);
}

int64_t overdue_next_ms(const struct super *s)
{
	int64_t at = s->setup_ms;

	for (const struct exec *e = s->execs; e; e = e->next)
		if (is_starting(e) && (!at || start_due_ms(e) < at))
			at = start_due_ms(e);
	return at;
}
