/* The result of an execution as JSON (contract, section 3), its exit code and its words. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/number.h"
#include "base/symbol.h"
#include "base/utf8.h"
#include "session/spec.h"
#include "session/super.h"

const char *const exec_status_names[] = {
	[EXEC_RUNNING] = "running", [EXEC_SUCCESS] = "success", [EXEC_ERROR] = "error",
	[EXEC_TIMEOUT] = "timeout", [EXEC_OOM] = "oom", [EXEC_LIMIT] = "limit",
	[EXEC_KILLED] = "killed", [EXEC_CANCELLED] = "cancelled",
	[EXEC_SETUP_FAILED] = "setup_failed", [EXEC_LOST] = "lost",
};

const char *const exec_reason_names[] = {
	[REASON_EXIT] = "exit", [REASON_SIGNAL] = "signal", [REASON_TIMEOUT_WALL] = "timeout_wall",
	[REASON_TIMEOUT_CPU] = "timeout_cpu", [REASON_OOM] = "oom", [REASON_PIDS] = "pids",
	[REASON_DISK] = "disk", [REASON_OUTPUT] = "output", [REASON_POLICY] = "policy",
	[REASON_CANCELLED] = "cancelled", [REASON_SETUP] = "setup",
	[REASON_INTERPRETER_DIED] = "interpreter_died",
};

static bool died_of_signal(const struct exec *e)
{
	return e->has_status && WIFSIGNALED(e->wait_status);
}

/* The signal that ended it; one that went with its init has no status of its own. */
static const char *signal_name(const struct exec *e)
{
	if (died_of_signal(e))
		return symbol_signal(WTERMSIG(e->wait_status));
	return !e->has_status && e->stage == STOP_KILLED ? "KILL" : NULL;
}

int result_exit_code(const struct exec *e)
{
	switch (e->status) {
	case EXEC_TIMEOUT:
		return 124;
	case EXEC_SETUP_FAILED:
		if (strcmp(e->stage_text, "exec") != 0)
			return 125;
		return e->sysno == ENOENT ? 127 : 126;
	case EXEC_OOM:
	case EXEC_LIMIT:
		return 128 + SIGKILL;
	case EXEC_CANCELLED:
		return 128 + (e->cancel_signal ? e->cancel_signal : SIGINT);
	case EXEC_LOST:
		return 125;
	default:
		return died_of_signal(e) ? 128 + WTERMSIG(e->wait_status) : e->exit_code;
	}
}

/* --- parts ------------------------------------------------------------------------------ */

static void put_reason(const struct exec *e, struct text *t)
{
	json_key(t, "reason");
	json_open(t, '{');
	json_put_string(t, "kind", exec_reason_names[e->reason]);
	if (e->limit)
		json_put_int(t, "limit", (int64_t)e->limit);
	if (e->peak)
		json_put_int(t, "peak", (int64_t)e->peak);
	if (e->limit || e->peak)
		json_put_string(t, "enforced_by", e->enforced_by);
	if (e->ambiguous)
		json_put_bool(t, "ambiguous", true);
	if (e->client_gone)
		json_put_string(t, "cause", "client_gone");
	if (e->reason == REASON_SETUP) {
		json_put_string(t, "stage", e->stage_text);
		json_put_string(t, "errno", e->sysno ? symbol_errno(e->sysno) : NULL);
	}
	json_close(t, '}');
}

/* Whether the result has less than was written, for its own cap or that of the spool. */
static bool is_cut(const struct spool *s)
{
	return s->total > LIMIT_RESULT_TEXT_BYTES || spool_kept(s) < s->total;
}

/* Head and tail of a stream, with a line that says how much is between. A character that
 * the cut splits is left out on both sides. */
static void read_text(const struct spool *s, struct text *ret)
{
	size_t half = LIMIT_RESULT_TEXT_BYTES / 2;

	if (!is_cut(s)) {
		spool_read(s, 0, (size_t)s->total, ret);
		return;
	}
	if (half > s->half)
		half = (size_t)s->half;
	auto_text struct text tail = { 0 };
	spool_read(s, 0, half, ret);
	spool_read(s, s->total - half, half, &tail);
	ret->n -= utf8_cut_tail(text_string(ret), ret->n);
	size_t skip = utf8_cut_head(text_string(&tail), tail.n);
	text_format(ret, "\n[... %llu bytes left out ...]\n",
		(unsigned long long)(s->total - ret->n - (tail.n - skip)));
	text_put_bytes(ret, text_string(&tail) + skip, tail.n - skip);
}

static void put_stream(const struct exec *e, int i, enum result_form form, struct text *t)
{
	static const char *const names[2][5] = {
		{ "stdout", "stdout_bytes", "stdout_kept", "stdout_truncated", "stdout_base64" },
		{ "stderr", "stderr_bytes", "stderr_kept", "stderr_truncated", "stderr_base64" },
	};
	const struct spool *s = &e->out[i].spool;
	auto_text struct text text = { 0 };

	if (form == RESULT_FULL) {
		read_text(s, &text);
		json_key(t, names[i][0]);
		json_bytes(t, text_string(&text), text.n);
	}
	json_put_int(t, names[i][1], (int64_t)s->total);
	json_put_int(t, names[i][2], (int64_t)spool_kept(s));
	json_put_bool(t, names[i][3], is_cut(s));
	if (form == RESULT_FULL && !utf8_is_valid(text_string(&text), text.n)) {
		json_key(t, names[i][4]);
		json_base64(t, text.data, text.n);
	}
}

static void put_text_field(struct text *t, const char *key, const struct text *v)
{
	json_key(t, key);
	json_bytes(t, text_string(v), v->n);
}

/* The traceback travels as one text and is shown as its lines. */
static void put_lines(struct text *t, const struct text *v)
{
	const char *p = text_string(v), *end = p + v->n;

	json_open(t, '[');
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);
		json_bytes(t, p, n);
		p += n + 1;
	}
	json_close(t, ']');
}

static void put_cell(const struct exec *e, struct text *t)
{
	if (e->has_value) {
		json_key(t, "result");
		json_open(t, '{');
		put_text_field(t, "text/plain", &e->value);
		json_close(t, '}');
	}
	if (e->has_error) {
		json_key(t, "error");
		json_open(t, '{');
		put_text_field(t, "name", &e->error_name);
		put_text_field(t, "value", &e->error_value);
		json_key(t, "traceback");
		put_lines(t, &e->traceback);
		json_close(t, '}');
	}
}

static const char *type_name(mode_t mode)
{
	return S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "symlink" : S_ISREG(mode) ? "file" :
		S_ISFIFO(mode) ? "fifo" : S_ISSOCK(mode) ? "socket" : "device";
}

void result_put_files(struct exec *e, struct text *t)
{
	json_key(t, "files");
	json_open(t, '[');
	for (uint32_t i = 0; i < e->changes.n; i++) {
		const struct change *c = &e->changes.items[i];
		char mode[8];
		json_open(t, '{');
		json_put_name(t, "path", c->path, strlen(c->path));
		if (c->old_path)
			json_put_name(t, "old_path", c->old_path, strlen(c->old_path));
		json_put_string(t, "change", change_names[c->kind]);
		json_put_string(t, "type", type_name(c->mode));
		json_put_int(t, "bytes", (int64_t)c->n);
		snprintf(mode, sizeof mode, "%04o", c->mode & 07777);
		json_put_string(t, "mode", mode);
		json_close(t, '}');
	}
	json_close(t, ']');
	json_put_int(t, "files_total", (int64_t)e->changes.total);
	json_put_bool(t, "files_truncated", e->changes.total > e->changes.n);
	json_key(t, "files_shared_with");
	json_open(t, '[');
	for (uint32_t i = 0; i < e->n_overlaps; i++)
		json_string(t, e->overlaps[i]);
	json_close(t, ']');
}

static void put_array(struct text *t, const char *key, const struct text *members)
{
	json_key(t, key);
	json_open(t, '[');
	if (members->n)
		json_raw(t, members->data, members->n);
	json_close(t, ']');
}

static void put_usage(const struct exec *e, struct text *t)
{
	const struct super *s = e->s;
	struct disk_use disk;

	disk_use(s, &disk);
	json_key(t, "usage");
	json_open(t, '{');
	json_put_int(t, "wall_ms", (e->end_us - e->begin_us) / 1000);
	json_put_int(t, "cpu_ms", (e->cpu_us > 0 ? e->cpu_us : 0) / 1000);
	json_put_int(t, "memory_peak_bytes", (int64_t)e->peak_memory);
	/* A cell's group is the interpreter's: its peak is of all cells so far. */
	bool shared = e->group.has_memory && !e->is_grouped;
	json_put_string(t, "memory_scope",
		shared ? "session" : e->is_cell ? "context" : "execution");
	json_put_int(t, "disk_bytes", (int64_t)disk.used_bytes);
	json_put_int(t, "disk_limit_bytes", (int64_t)disk.limit_bytes);
	if (e->pids_peak)
		json_put_int(t, "pids_peak", (int64_t)e->pids_peak);
	json_key(t, "enforced_by");
	json_open(t, '{');
	for (int i = 0; i < LIMIT_KINDS; i++)
		json_put_string(t, limit_names[i], s->session->status.enforced_by[i]);
	json_close(t, '}');
	json_close(t, '}');
}

static void put_state(const struct exec *e, struct text *t)
{
	json_key(t, "state");
	json_open(t, '{');
	json_key(t, "context");
	json_string(t, e->is_cell ? (e->w.r.context[0] ? e->w.r.context : "main") : NULL);
	json_put_int(t, "epoch", e->epoch);
	json_put_string(t, "interpreter", e->interpreter);
	json_put_int(t, "children", e->children);
	put_array(t, "lost", &e->lost);
	json_close(t, '}');
}

static void put_warnings(const struct exec *e, struct text *t)
{
	json_key(t, "warnings");
	json_open(t, '[');
	if (e->s->session->spec.isolation == ISOLATION_WEAK) {
		json_open(t, '{');
		json_put_string(t, "kind", "weak_isolation");
		json_put_string(t, "message", spec_weak_warning(e->s->report.landlock_abi,
			!e->s->store->id_base));
		json_close(t, '}');
	}
	for (uint32_t i = 0; i < e->n_warnings; i++) {
		json_open(t, '{');
		json_put_string(t, "kind", e->warnings[i].kind);
		json_put_string(t, "message", e->warnings[i].message);
		json_close(t, '}');
	}
	json_close(t, ']');
}

void result_put_log(struct text *t, const char *level, const char *p, size_t n)
{
	char at[CLOCK_TEXT_MAX];

	json_open(t, '{');
	json_put_string(t, "timestamp", clock_format(clock_wall_us(), at));
	json_put_string(t, "level", level);
	json_put_name(t, "message", p, n);
	json_close(t, '}');
}

void result_put(struct exec *e, enum result_form form, struct text *t)
{
	char at[CLOCK_TEXT_MAX];

	json_open(t, '{');
	json_put_string(t, "schema", "sbx.result/1");
	json_put_string(t, "session_id", e->s->session->spec.id);
	json_put_string(t, "execution_id", e->id);
	json_put_string(t, "status", exec_status_names[e->status]);
	json_put_int(t, "exit_code", result_exit_code(e));
	json_key(t, "signal");
	json_string(t, signal_name(e));
	put_reason(e, t);
	for (int i = 0; i < 2; i++)
		put_stream(e, i, form, t);
	put_cell(e, t);
	result_put_files(e, t);
	put_array(t, "artifacts", &e->artifacts);
	put_usage(e, t);
	put_state(e, t);
	json_put_string(t, "isolation", session_isolation_names[e->s->session->spec.isolation]);
	put_warnings(e, t);
	json_put_int(t, "leftovers_killed", e->leftovers);
	put_array(t, "logs", &e->logs);
	json_put_string(t, "started_at", clock_format(e->started_us, at));
	json_put_int(t, "duration_ms", (e->end_us - e->begin_us) / 1000);
	json_key(t, "hint");
	json_string(t, e->hint[0] ? e->hint : NULL);
	json_close(t, '}');
}

void result_message(const struct exec *e, char *buf, size_t room)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX];

	buf[0] = 0;
	switch (e->status) {
	case EXEC_TIMEOUT:
		snprintf(buf, room, "the time limit of %s ended it",
			number_format_time(e->limit, a));
		break;
	case EXEC_OOM:
		snprintf(buf, room, "it was killed for lack of memory: limit %s, peak %s (%s)",
			number_format_size(e->limit, a), number_format_size(e->peak, b),
			e->enforced_by);
		break;
	case EXEC_LIMIT:
		snprintf(buf, room, "it was killed: the disk limit of %s was reached (%s)",
			number_format_size(e->limit, a), e->enforced_by);
		break;
	case EXEC_SETUP_FAILED:
		if (e->reason == REASON_SETUP && !strcmp(e->stage_text, "exec") && e->w.r.argv)
			snprintf(buf, room, "%.100s: %s", e->w.r.argv[0], strerror(e->sysno));
		else if (!strcmp(e->stage_text, "cwd"))
			snprintf(buf, room, "working directory %.100s: %s", e->w.r.workdir,
				strerror(e->sysno));
		else if (e->n_warnings)
			snprintf(buf, room, "%s", e->warnings[0].message);
		else
			snprintf(buf, room, "it could not be started at '%s': %s", e->stage_text,
				strerror(e->sysno));
		break;
	case EXEC_LOST:
		snprintf(buf, room, "the session's processes died while it ran");
		break;
	case EXEC_CANCELLED:
		snprintf(buf, room, "cancelled");
		break;
	default:
		break;
	}
	if (!buf[0] && !strcmp(e->interpreter, "restarted"))
		snprintf(buf, room, "the interpreter was started again; variables of earlier cells are "
			"gone");
	if (!buf[0] && e->state_gone)
		snprintf(buf, room, "the interpreter died; its variables are gone");
}
