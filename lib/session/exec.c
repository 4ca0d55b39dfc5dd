/* One execution from request to the end of its processes; settle.c says what came of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/gate.h"
#include "session/spec.h"
#include "session/super.h"

/* --- making one ---------------------------------------------------------------------- */

static struct exec *exec_new(struct super *s, struct conn *c)
{
	struct exec *e = mem_new(struct exec);
	struct exec **at = &s->execs;

	*e = (struct exec){ .s = s, .conn = c, .dir = -1, .input_fd = -1, .tty_fd = -1,
		.created_us = clock_wall_us(), .at_line_start = true, .enforced_by = "none", .interpreter = "none" };
	id_make("exec_", e->id);
	for (int i = 0; i < 2; i++)
		e->out[i] = (struct stream){ .exec = e, .fd = -1, .spool = { .fd = -1 } };
	while (*at)
		at = &(*at)->next;
	*at = e;
	if (c)
		c->exec = e;
	return e;
}

void exec_free(struct exec *e)
{
	struct exec **at = &e->s->execs;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	gate_give(e->s, e->slot);
	wire_exec_done(&e->w);
	change_list_done(&e->changes);
	text_done(&e->input_left);
	struct text *const texts[] = { &e->value, &e->error_name, &e->error_value, &e->traceback,
		&e->artifacts, &e->lost, &e->logs };
	for (size_t i = 0; i < array_size(texts); i++)
		text_done(texts[i]);
	if (e->dir >= 0)
		close(e->dir);
	free(e);
}

void exec_warn(struct exec *e, const char *kind, const char *format, ...)
{
	va_list ap;

	if (e->n_warnings == WARNINGS_MAX)
		return;
	struct warning *w = &e->warnings[e->n_warnings++];
	w->kind = kind;
	va_start(ap, format);
	vsnprintf(w->message, sizeof w->message, format, ap);
	va_end(ap);
}

void exec_update(struct exec *e, const char *status)
{
	struct text *t = super_event(e->s, EVENT_EXECUTION_UPDATE, e);

	json_put_string(t, "status", status);
	super_journal(e->s, e);
}

/* Executions that run at the same time share what the scans find. */
static void note_overlaps(struct exec *e)
{
	for (struct exec *o = e->s->execs; o; o = o->next) {
		if (o == e || o->phase != PHASE_RUNNING || o->is_files)
			continue;
		if (e->n_overlaps < OVERLAPS_MAX)
			memcpy(e->overlaps[e->n_overlaps++], o->id, sizeof o->id);
		if (o->n_overlaps < OVERLAPS_MAX)
			memcpy(o->overlaps[o->n_overlaps++], e->id, sizeof e->id);
	}
}

static bool open_record(struct exec *e, struct fault *f)
{
	uint64_t keep = e->w.r.output_keep_bytes;

	if (!keep)
		keep = e->s->session->spec.output_keep_bytes;
	if (!keep)
		keep = DEFAULT_OUTPUT_KEEP_BYTES;
	e->keep_bytes = keep;
	struct store_spares *spares = &e->s->spares;
	if (store_spare_exec(e->s->session, spares, e->id, &e->dir, f) < 0)
		return false;
	spool_init(&e->out[0].spool, e->dir, "stdout", keep / 2, spares);
	spool_init(&e->out[1].spool, e->dir, "stderr", keep / 2, spares);
	return true;
}

/* The session's limit. Where nobody chose one, a person at a terminal has none. */
static uint64_t own_timeout(const struct super *s, const struct exec_request *q)
{
	uint64_t own = s->session->spec.exec_timeout_ms;

	return (q->flags & EXEC_TTY) && own == DEFAULT_EXEC_TIMEOUT_MS ? 0 : own;
}

void exec_accept(struct super *s, struct conn *c, struct msg *m)
{
	struct wire_exec w;
	struct fault f;

	if (wire_get_exec(m, &w, &f) < 0) {
		conn_fault(c, &f);
		return;
	}
	if (w.r.request_id[0] && repeat_answer(s, c, &w)) {
		wire_exec_done(&w);
		return;
	}
	int slot = gate_take(s, &f);
	if (slot < 0) {
		conn_fault(c, &f);
		wire_exec_done(&w);
		return;
	}
	struct exec *e = exec_new(s, c);
	e->slot = slot;
	e->w = w;
	e->is_cell = !w.r.argv;
	e->timeout_ms = w.r.timeout_ms == EXEC_TIMEOUT_DEFAULT ? own_timeout(s, &w.r) : w.r.timeout_ms;
	if (!open_record(e, &f)) {
		exec_fail(e, "record", f.sysno, f.text);
		return;
	}
	if (w.r.request_id[0])
		repeat_note(e);
	exec_start_waiting(s);
	if (e->phase == PHASE_QUEUED)
		exec_update(e, "queued");
}

void exec_accept_files(struct super *s, struct conn *c, struct msg *m)
{
	enum files_kind kind;
	struct wire_exec w;
	struct fault f;

	if (wire_get_files(m, &w, &kind, &f) < 0) {
		conn_fault(c, &f);
		return;
	}
	struct exec *e = exec_new(s, c);
	e->w = w;
	e->is_files = true;
	e->files = kind;
	/* Somebody may fill what is being emptied, and as fast. */
	if (kind == FILES_EMPTY)
		e->timeout_ms = s->session->spec.exec_timeout_ms ? s->session->spec.exec_timeout_ms :
								   DEFAULT_EXEC_TIMEOUT_MS;
	exec_start_waiting(s);
}

void exec_clean(struct super *s)
{
	struct exec *e = exec_new(s, NULL);

	e->w.r.language = e->w.r.context = e->w.r.workdir = e->w.r.request_id = e->w.r.term = "";
	e->w.r.argv = mem_new_array(char *, 4);
	spec_temp_dirs(&s->session->spec, e->w.r.argv);
	e->w.r.env = mem_new(char *);
	e->is_files = true;
	e->files = FILES_EMPTY;
	e->timeout_ms = DEFAULT_EXEC_TIMEOUT_MS;
	exec_start_waiting(s);
}

/* --- starting it --------------------------------------------------------------------- */

int exec_pipe(struct super *s, int ret[2], bool to_inside)
{
	uint32_t base = s->store->id_base;

	if (pipe2(ret, O_CLOEXEC) < 0)
		return -errno;
	fd_set_nonblock(ret[to_inside ? 1 : 0], 1);
	/* So that /dev/stdout can be opened again inside. Source: fchown(2) works on a pipe's
	 * inode; both ends share it. */
	if (base && fchown(ret[0], base + JAIL_UID, base + JAIL_UID) < 0) {
		int error = errno;
		close(ret[0]);
		close(ret[1]);
		return -error;
	}
	return 0;
}

static void on_control(void *owner, short revents);

/* The three pipes of a command; inside[] gets the ends for the program. */
static int make_pipes(struct exec *e, int inside[3])
{
	int pair[2], r = 0;

	for (int i = 0; i < 2 && !r; i++) {
		r = exec_pipe(e->s, pair, false);
		if (r)
			break;
		e->out[i].fd = pair[0];
		inside[i + 1] = pair[1];
		loop_add(&e->s->loop, &e->out[i].source, pair[0], POLLIN, exec_on_output, &e->out[i]);
	}
	if (!r && (e->w.r.flags & EXEC_STDIN)) {
		r = exec_pipe(e->s, pair, true);
		if (!r) {
			e->input_fd = pair[1];
			inside[0] = pair[0];
			loop_add(&e->s->loop, &e->input, pair[1], 0, exec_on_input, e);
		}
	}
	return r;
}

static const enum jail_command_kind files_kinds[] = {
	[FILES_GET] = JAIL_FILES_GET, [FILES_PUT] = JAIL_FILES_PUT, [FILES_EMPTY] = JAIL_FILES_EMPTY,
	[FILES_PROBE] = JAIL_PROBE,
};

/* From here on it may have run: before, a client may give the request to another supervisor. */
static void accepted(struct exec *e)
{
	auto_text struct text t = { 0 };

	if (!e->conn)
		return;
	frame_put_string(&t, e->id);
	conn_send(e->conn, WIRE_ACCEPTED, &t);
}

void exec_begin(struct exec *e)
{
	e->phase = PHASE_STARTING;
	e->started_us = clock_wall_us();
	e->begin_us = clock_now_us();
	accepted(e);
	if (!e->is_files)
		note_overlaps(e);
	limit_begin(e);
}

/* In the session's group, what died before is not this one's. */
static void note_kills_before(struct exec *e)
{
	struct cgroup_usage u = { 0 };

	if (e->is_grouped)
		return;
	cgroup_read(e->s->cgroup, &u);
	e->oom_before = u.oom_kills;
}

/* The spare died with the jail, and that is about to be seen: nothing is accepted any more. */
static bool is_spare_dead(const struct super *s)
{
	struct pollfd p = { .fd = jail_exec_fd(s->spare), .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static void start_command(struct exec *e)
{
	struct super *s = e->s;
	const struct exec_request *q = &e->w.r;
	int inside[3] = { -1, -1, -1 };
	bool tty = q->flags & EXEC_TTY;
	struct fault f;

	if (is_spare_dead(s)) {
		super_spare_lost(s, jail_exec_number(s->spare));
		return;
	}
	int r = tty ? 0 : make_pipes(e, inside);
	if (r < 0) {
		exec_fail(e, "pipe", -r, NULL);
		return;
	}
	char **env = environ_make(&s->session->spec, q->env, tty ? q->term : NULL);
	struct jail_command c = {
		.kind = e->is_files ? files_kinds[e->files] : JAIL_RUN,
		.argv = q->argv,
		.env = env,
		.cwd = q->workdir[0] ? q->workdir : e->is_files ? "/" : "/workspace",
		.uid = JAIL_UID,
		.gid = JAIL_UID,
		.oom_score_adj = 900,
		.tty = tty,
		.rows = q->rows,
		.columns = q->columns,
		.fds = inside,
		.n_fds = 3,
	};
	limit_rlimits(s, e, &c.rlimits);
	e->x = s->spare;
	e->is_grouped = s->spare_grouped;
	s->spare = NULL;
	note_kills_before(e);
	exec_begin(e);
	loop_add(&s->loop, &e->control, jail_exec_fd(e->x), POLLIN, on_control, e);
	r = jail_exec_start(e->x, &c, &f);
	mem_free_strings(env);
	for (int i = 0; i < 3; i++)
		if (inside[i] >= 0)
			close(inside[i]);
	if (r < 0)
		exec_fail(e, "start", f.sysno, f.text);
}

/* Memory evidence: of its own group, else of the session's, where others may have a part. */
void exec_read_group(struct exec *e, const struct jail_exec *x)
{
	if (e->has_group)
		return;
	e->has_group = true;
	if (e->is_grouped)
		cgroup_child_read(e->s->cgroup, jail_exec_number(x), &e->group);
	else
		cgroup_read(e->s->cgroup, &e->group);
}

void exec_start_waiting(struct super *s)
{
	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase != PHASE_QUEUED)
			continue;
		if (e->is_cell)
			cell_begin(e);
		else if (s->spare)
			start_command(e);
	}
	/* Somebody still waits: do not put the next spare off until an answer is out. */
	for (struct exec *e = s->execs; e; e = e->next)
		if (e->phase == PHASE_QUEUED && !s->spare)
			super_spare_wanted(s);
}

void exec_running(struct exec *e)
{
	e->phase = PHASE_RUNNING;
	if (!e->is_files)
		exec_update(e, "running");
}

/* --- its end ------------------------------------------------------------------------- */

static void on_started(struct exec *e, struct jail_exec_event *ev)
{
	if (ev->tty_fd >= 0) {
		e->tty_fd = ev->tty_fd;
		fd_set_nonblock(e->tty_fd, 1);
		loop_add(&e->s->loop, &e->tty, e->tty_fd, POLLIN, exec_on_tty, e);
	}
	if (e->phase == PHASE_STARTING)
		exec_running(e);
	if (e->input_left.n || e->input_ended)
		exec_write_input(e);
}

/* Takes one event of the exec-init; false when there is none. */
static bool take_control(struct exec *e)
{
	struct jail_exec_event ev;
	struct fault f;

	if (jail_exec_read(e->x, &ev, &f) < 0) {
		jail_exec_kill(e->x);
		loop_remove(&e->s->loop, &e->control);
		return false;
	}
	switch (ev.kind) {
	case JAIL_EXEC_NONE:
		return false;
	case JAIL_EXEC_STARTED:
		on_started(e, &ev);
		break;
	case JAIL_EXEC_FAILED:
		exec_fail(e, ev.stage, ev.sysno, NULL);
		break;
	case JAIL_EXEC_ENDED:
		e->has_status = true;
		e->wait_status = ev.status;
		e->leftovers = ev.leftovers;
		e->cpu_us = ev.usage.cpu_us;
		e->rss_bytes = ev.usage.max_rss_bytes;
		exec_settle(e);
		break;
	case JAIL_EXEC_DEAD:
		/* It was killed. The tree is gone when init has reaped it: exec_reaped. */
		loop_remove(&e->s->loop, &e->control);
		break;
	}
	return true;
}

static void on_control(void *owner, short revents)
{
	(void)revents;
	take_control(owner);
}

void exec_reaped(struct super *s, uint32_t number, const struct jail_usage *usage)
{
	for (struct exec *e = s->execs; e; e = e->next) {
		if (e->is_cell || !e->x || jail_exec_number(e->x) != number)
			continue;
		if (e->phase == PHASE_ENDED)
			return;
		exec_read_group(e, e->x);
		/* Its last words may still be in the socket. */
		while (e->phase != PHASE_ENDED && e->control.ready && take_control(e))
			;
		if (e->phase == PHASE_ENDED)
			return;
		e->cpu_us = usage->cpu_us;
		/* What was seen while it lived may be more than init could wait for. */
		if (usage->max_rss_bytes > e->rss_bytes)
			e->rss_bytes = usage->max_rss_bytes;
		exec_settle(e);
		return;
	}
}

void exec_client_gone(struct exec *e)
{
	e->conn = NULL;
	if (e->phase == PHASE_ENDED || e->waiters)
		return;
	if (!e->hint[0])
		snprintf(e->hint, sizeof e->hint, "The client went away before the execution ended.");
	e->client_gone = true;
	limit_stop(e, EXEC_CANCELLED, REASON_CANCELLED);
}

void exec_fail(struct exec *e, const char *stage, int sysno, const char *why)
{
	e->status = EXEC_SETUP_FAILED;
	e->reason = REASON_SETUP;
	e->sysno = sysno;
	snprintf(e->stage_text, sizeof e->stage_text, "%s", stage);
	if (why)
		exec_warn(e, "setup", "%s", why);
	exec_settle(e);
}

/* Takes every descriptor and process away from it; what was written is spooled. */
void exec_release(struct exec *e)
{
	struct loop *l = &e->s->loop;

	exec_drain(e);
	loop_remove(l, &e->control);
	loop_remove(l, &e->tty);
	loop_remove(l, &e->input);
	for (int i = 0; i < 2; i++) {
		loop_remove(l, &e->out[i].source);
		drop_fd(&e->out[i].fd);
	}
	drop_fd(&e->tty_fd);
	drop_fd(&e->input_fd);
}
