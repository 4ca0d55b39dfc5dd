/* What came of an execution: evidence, changed files, result, record, events, answer. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "session/super.h"

static void scan(struct exec *e)
{
	struct super *s = e->s;
	struct fault f;

	if (changes_scan(s->changes, s->up_fd, s->lower_fd, &e->changes, &f) < 0)
		exec_warn(e, "scan", "the changed files could not be listed: %s", f.text);
	if (!e->changes.n)
		return;
	struct text *t = super_event(s, EVENT_FILE_CHANGED, e);
	result_put_files(e, t);
	super_journal(s, e);
}

static void note_artifacts(struct exec *e)
{
	if (!e->artifacts.n)
		return;
	struct text *t = super_event(e->s, EVENT_ARTIFACT, e);
	json_key(t, "artifacts");
	json_open(t, '[');
	json_raw(t, e->artifacts.data, e->artifacts.n);
	json_close(t, ']');
	super_journal(e->s, e);
}

static void last_event(struct exec *e)
{
	struct text *t = super_event(e->s, EVENT_EXECUTION_UPDATE, e);

	json_put_string(t, "status", exec_status_names[e->status]);
	json_put_int(t, "exit_code", result_exit_code(e));
	json_put_string(t, "reason", exec_reason_names[e->reason]);
	json_put_int(t, "duration_ms", (e->end_us - e->begin_us) / 1000);
	json_put_int(t, "stdout_bytes", (int64_t)e->out[0].spool.total);
	json_put_int(t, "stderr_bytes", (int64_t)e->out[1].spool.total);
	super_journal(e->s, e);
}

static void answer(struct exec *e, const struct text *full, const struct text *brief)
{
	auto_text struct text t = { 0 };
	char message[300];
	bool shown = !(e->w.r.flags & EXEC_NO_RESULT);

	result_message(e, message, sizeof message);
	frame_put_u32(&t, (uint32_t)result_exit_code(e));
	frame_put_string(&t, message);
	frame_put_bytes(&t, e->value.data, shown && e->has_value ? e->value.n : 0);
	frame_put_bytes(&t, e->traceback.data, e->traceback.n);
	size_t head = t.n;
	frame_put_bytes(&t, full->data, full->n);
	frame_put_bytes(&t, brief->data, brief->n);
	repeat_settle(e, &t);
	if (!e->conn)
		return;
	/* A client that did not ask for JSON is not sent it. */
	if (!(e->w.r.flags & EXEC_WANT_JSON)) {
		t.n = head;
		frame_put_bytes(&t, NULL, 0);
		frame_put_bytes(&t, brief->data, brief->n);
	}
	struct conn *c = e->conn;
	e->conn = NULL;
	conn_send(c, WIRE_RESULT, &t);
	conn_finish(c);
}

static void note_files(struct exec *e, bool complete)
{
	bool put = e->files == FILES_PUT;
	struct text *t = super_event(e->s, put ? EVENT_FILES_COPIED : EVENT_FILES_REMOVED, NULL);

	if (put) {
		json_put_string(t, "path", e->w.r.argv[0]);
	} else {
		json_key(t, "paths");
		json_open(t, '[');
		for (char **path = e->w.r.argv; *path; path++)
			json_string(t, *path);
		json_close(t, ']');
	}
	json_put_bool(t, "complete", complete);
	super_journal(e->s, NULL);
}

/* Why a helper did not come to its end. */
static void blame_files(const struct exec *e, struct fault *f)
{
	const char *what = e->files == FILES_EMPTY ? "removing" : "copying";
	char limit[NUMBER_TEXT_MAX];

	if (e->status == EXEC_SETUP_FAILED)
		fault_set(f, FAULT_SYSTEM, e->sysno, "%s failed at %s", what, e->stage_text);
	else if (e->status == EXEC_TIMEOUT)
		fault_set(f, FAULT_LIMIT, 0, "%s took longer than the time limit of %s", what,
			number_format_time(e->timeout_ms, limit));
	else
		fault_set(f, FAULT_SYSTEM, 0, "%s ended early", what);
}

static void settle_files(struct exec *e)
{
	struct super *s = e->s;
	struct fault f = { 0 };
	/* Whatever its exit status says of the files, the stream itself has told the client. */
	bool done = e->has_status && WIFEXITED(e->wait_status);

	if (e->files == FILES_PUT || e->files == FILES_EMPTY) {
		/* What the host did is not the next execution's doing. */
		changes_scan(s->changes, s->up_fd, s->lower_fd, NULL, &f);
		note_files(e, done && WEXITSTATUS(e->wait_status) == 0);
	}
	if (!e->conn)
		return;
	struct conn *c = e->conn;
	e->conn = NULL;
	if (done) {
		conn_done(c, NULL);
		return;
	}
	blame_files(e, &f);
	conn_fault(c, &f);
}

static void release(struct exec *e)
{
	exec_release(e);
	if (e->is_cell)
		cell_release(e);
	else if (e->x)
		exec_read_group(e, e->x);
}

void exec_settle(struct exec *e)
{
	struct super *s = e->s;
	auto_text struct text full = { 0 }, brief = { 0 };

	if (e->phase == PHASE_ENDED)
		return;
	e->end_us = clock_now_us();
	if (!e->begin_us) {
		e->begin_us = e->end_us;
		e->started_us = clock_wall_us();
	}
	release(e);
	e->phase = PHASE_ENDED;
	if (e->is_files) {
		settle_files(e);
	} else {
		for (int i = 0; i < 2; i++)
			exec_output_event(e, i);
		limit_judge(e);
		scan(e);
		limit_warn(e);
		note_artifacts(e);
		result_hint(e);
		/* Nobody can read the record of a session that goes with this execution. */
		bool is_kept = !(e->w.r.flags & EXEC_LAST);
		if (is_kept || (e->w.r.flags & EXEC_WANT_JSON))
			result_put(e, RESULT_FULL, &full);
		if ((e->w.r.flags & EXEC_WANT_STATUS) || e->w.r.request_id[0])
			result_put(e, RESULT_BRIEF, &brief);
		for (int i = 0; i < 2; i++)
			spool_done(&e->out[i].spool, e->digests[i]);
		if (is_kept)
			record_write(e, full.data, full.n);
		last_event(e);
		answer(e, &full, &brief);
	}
	s->session->status.last_used_us = clock_wall_us();
	s->idle_since_ms = clock_now_ms();
	s->is_used = true;
	if (e->w.r.flags & EXEC_LAST)
		s->last_done = true;
}

void exec_collect(struct super *s)
{
	bool any = false;

	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase != PHASE_ENDED)
			continue;
		if (!e->is_cell)
			e->x = jail_exec_free(e->x);
		exec_free(e);
		any = true;
	}
	if (!any || s->last_done)
		return;
	limit_act(s);
	super_spare_wanted(s);
	exec_start_waiting(s);
	warm_want(s);
}
