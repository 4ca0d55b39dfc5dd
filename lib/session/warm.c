/*
 * With --preload, an interpreter that has imported the session's modules waits for the context that
 * needs one next. It has the last place among the contexts and is none of them.
 */
#include <stdio.h>
#include <string.h>

#include "session/super.h"

/* One that dies while nobody uses it is not started again for ever. */
enum { WARM_FAILURES_MAX = 3 };

void warm_want(struct super *s)
{
	struct context *w = &s->contexts[CONTEXT_WARM];
	struct fault f;

	if (!s->wants_warm || s->ending || !s->spare || w->phase != CONTEXT_DEAD)
		return;
	for (const struct exec *e = s->execs; e; e = e->next)
		if (e->phase == PHASE_QUEUED)
			return;
	s->wants_warm = false;
	w->s = s;
	s->warm_state = (struct context_state){ .name = "preload" };
	snprintf(s->warm_state.language, sizeof s->warm_state.language, "%s", context_own_language(s));
	if (context_launch(w, s->session->spec.interpreter, &f) < 0)
		warm_lost(s);
	super_spare_wanted(s);
}

void warm_ready(struct context *w)
{
	struct super *s = w->s;
	struct fault f;

	/* What its modules printed, and their caches, are not the next execution's doing. */
	context_drain(w);
	if (!super_is_busy(s))
		changes_scan(s->changes, s->up_fd, s->lower_fd, NULL, &f);
	w->phase = CONTEXT_IDLE;
}

void warm_lost(struct super *s)
{
	s->wants_warm = ++s->n_warm_failures < WARM_FAILURES_MAX;
}

/* Whoever asks for a second one once will do so again. */
void warm_missed(struct super *s)
{
	if (s->session->spec.preload)
		s->wants_warm = s->n_warm_failures < WARM_FAILURES_MAX;
}

bool warm_is_for(struct context *c)
{
	const struct context *w = &c->s->contexts[CONTEXT_WARM];

	if (strcmp(context_state(c)->language, context_own_language(c->s)) != 0)
		return false;
	return (w->phase == CONTEXT_STARTING || w->phase == CONTEXT_IDLE) && !w->kill_ms;
}

static void move_source(struct context *to, struct source *new, struct source *old)
{
	struct source was = *old;

	if (!was.ready)
		return;
	loop_remove(&to->s->loop, old);
	loop_add(&to->s->loop, new, was.fd, was.events, was.ready, to);
}

void warm_take(struct context *c, struct exec *e)
{
	struct super *s = c->s;
	struct context *w = &s->contexts[CONTEXT_WARM], was = *c;

	bool ready = w->phase == CONTEXT_IDLE;
	*c = *w;
	move_source(c, &c->control, &w->control);
	move_source(c, &c->answer, &w->answer);
	move_source(c, &c->out[0], &w->out[0]);
	move_source(c, &c->out[1], &w->out[1]);
	move_source(c, &c->writing, &w->writing);
	*w = (struct context){ .s = s };
	memcpy(c->lost_why, was.lost_why, sizeof c->lost_why);
	c->phase = CONTEXT_STARTING;
	context_begin(c, e);
	context_started(c, e);
	s->wants_warm = s->n_warm_taken++ > 0;
	if (ready)
		cell_ready(c);
}
