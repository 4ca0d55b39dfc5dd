/* Limits of a running execution: what ends it, how, and what the evidence says afterwards. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/number.h"
#include "session/limit-cpu.h"
#include "session/super.h"
#include "sys/proc.h"

/* [ms] Sources: DESIGN.md section 6; 9-jail-measured.md 5 and 7. */
enum { MEMORY_FIRST_MS = 20, MEMORY_GAP_MS = 50 };

/* [ms] The same where nothing runs but what earlier cells left. */
enum { MEMORY_CALM_MS = 250 };

void limit_begin(struct exec *e)
{
	int64_t now = clock_now_ms();

	e->begin_ticks = proc_now_ticks();
	e->deadline_ms = e->timeout_ms ? now + (int64_t)e->timeout_ms : 0;
	e->poll_ms = now + MEMORY_FIRST_MS;
	e->cpu_poll_ms = now;
	if (!e->s->disk.is_counted)
		watch_disk_allow(&e->s->disk, changes_bytes(e->s->changes), changes_entries(e->s->changes));
	watch_disk_begin(&e->s->disk, now);
}

bool limit_is_polled(const struct super *s)
{
	return s->session->spec.limits[LIMIT_MEMORY] &&
		!strcmp(cgroup_enforced(s->cgroup, CGROUP_MEMORY), "none");
}

void limit_rlimits(struct super *s, struct exec *e, struct jail_rlimits *ret)
{
	const uint64_t *limits = s->session->spec.limits;
	/* A disk with a size of its own says ENOSPC, and a file with holes is no harm there. */
	uint64_t fsize = s->session->spec.disk == DISK_PLAIN ? limits[LIMIT_DISK] : 0;

	/* Inits and spares count too where all run under one id. */
	bool is_weak = s->session->spec.isolation == ISOLATION_WEAK;
	/* Without a user namespace the host's processes of that id would count. */
	ret->nproc = !is_weak && limits[LIMIT_PIDS] && !strcmp(cgroup_enforced(s->cgroup, CGROUP_PIDS), "none") ?
		limits[LIMIT_PIDS] + CONTEXTS_MAX + 4 : 0;
	ret->nofile = limits[LIMIT_NOFILE];
	ret->fsize_bytes = fsize;
	ret->data_bytes = limit_is_polled(s) ? limits[LIMIT_MEMORY] : 0;
	ret->cpu_s = e && e->w.r.cpu_limit_ms && !e->is_cell ? (e->w.r.cpu_limit_ms + 999) / 1000 : 0;
}

/* --- ending by force ----------------------------------------------------------------- */

void limit_stop(struct exec *e, enum exec_status status, enum exec_reason reason)
{
	if (e->phase == PHASE_ENDED || e->stage != STOP_NOT)
		return;
	e->status = status;
	e->reason = reason;
	if (e->phase == PHASE_QUEUED)
		exec_settle(e);
	else if (e->is_cell)
		cell_interrupt(e);
	else
		exec_stop_step(e);
}

/* Memory, disk and output are taken away at once: there is no time for a grace. */
static void limit_kill(struct exec *e, enum exec_status status, enum exec_reason reason)
{
	if (e->phase == PHASE_ENDED || e->stage == STOP_KILLED || !e->x)
		return;
	if (e->stage == STOP_NOT) {
		e->status = status;
		e->reason = reason;
	}
	if (e->is_cell)
		context_kill(e->context);
	else
		jail_exec_kill(e->x);
	e->stage = STOP_KILLED;
	e->stage_ms = clock_now_ms() + REAP_LIMIT_MS;
}

/* --- looking while it runs ------------------------------------------------------------ */

/* [bytes] Looking takes 50 to 200 us a process; ret_ms is so late that it takes a fifth of the
 * time at most. */
static uint64_t read_memory(const struct jail_exec *x, int64_t gap_ms, int64_t *ret_ms)
{
	int64_t start = clock_now_ms();
	uint64_t rss = watch_tree_rss(jail_exec_pid(x));
	int64_t end = clock_now_ms(), pause = 4 * (end - start);

	*ret_ms = end + (pause > gap_ms ? pause : gap_ms);
	return rss;
}

static void check_memory(struct exec *e, int64_t now)
{
	uint64_t limit = e->s->session->spec.limits[LIMIT_MEMORY];

	if (now < e->poll_ms)
		return;
	uint64_t rss = read_memory(e->x, MEMORY_GAP_MS, &e->poll_ms);
	if ((int64_t)rss > e->rss_bytes)
		e->rss_bytes = (int64_t)rss;
	if (rss <= limit)
		return;
	e->peak = rss;
	e->limit = limit;
	e->enforced_by = "poll";
	limit_kill(e, EXEC_OOM, REASON_OOM);
}

static void check_exec(struct exec *e, int64_t now)
{
	int64_t due = exec_event_due(e);

	if (due && now >= due)
		for (int i = 0; i < 2; i++)
			exec_output_event(e, i);
	if (e->phase == PHASE_QUEUED)
		return;
	if (e->stage == STOP_NOT && e->deadline_ms && now >= e->deadline_ms)
		limit_stop(e, EXEC_TIMEOUT, REASON_TIMEOUT_WALL);
	else if (e->stage != STOP_NOT && now >= e->stage_ms) {
		if (e->is_cell)
			cell_stop_step(e);
		else
			exec_stop_step(e);
	}
	if (e->phase == PHASE_RUNNING && e->x && limit_is_polled(e->s))
		check_memory(e, now);
	limit_cpu_step(e, now);
}

/* Something of the inside can write right now. */
bool limit_is_running(const struct super *s)
{
	for (const struct exec *e = s->execs; e; e = e->next)
		if (e->phase == PHASE_RUNNING || e->phase == PHASE_STARTING)
			return true;
	return false;
}

/* Threads and children of earlier cells go on, and nobody's execution ends with them. */
static bool has_kept(const struct super *s)
{
	for (size_t i = 0; i < CONTEXT_PLACES; i++)
		if (s->contexts[i].phase == CONTEXT_IDLE)
			return true;
	return false;
}

static void kill_kept(struct context *c, enum limit_kind kind)
{
	char limit[NUMBER_TEXT_MAX];

	snprintf(c->lost_why, sizeof c->lost_why, "what earlier cells left running passed the %s limit of "
		"%s", limit_names[kind], number_format_size(c->s->session->spec.limits[kind], limit));
	context_kill(c);
}

void limit_recount(struct super *s)
{
	uint64_t bytes, entries;
	struct fault f;

	/* The look that led to the kill stopped where the limit was, and they wrote until they died. */
	if (s->disk.is_counted &&
		changes_measure(s->up_fd, UINT64_MAX, UINT64_MAX, &bytes, &entries, &f) == 0)
		watch_disk_allow(&s->disk, bytes, entries);
}

static void check_kept_memory(struct context *c, int64_t now)
{
	if (c->phase != CONTEXT_IDLE || !limit_is_polled(c->s) || now < c->poll_ms)
		return;
	if (read_memory(c->x, MEMORY_CALM_MS, &c->poll_ms) > c->s->session->spec.limits[LIMIT_MEMORY])
		kill_kept(c, LIMIT_MEMORY);
}

static void check_disk(struct super *s, int64_t now)
{
	uint64_t used = 0;
	bool is_calm = !limit_is_running(s);

	if (is_calm && !has_kept(s))
		return;
	s->disk.is_calm = is_calm;
	if (watch_disk_step(&s->disk, s->up_fd, now, &used) != WATCH_OVER)
		return;
	for (size_t i = 0; is_calm && i < CONTEXT_PLACES; i++)
		if (s->contexts[i].phase == CONTEXT_IDLE)
			kill_kept(&s->contexts[i], LIMIT_DISK);
	/* No scan has seen it yet, and the next execution may delete it. */
	s->disk.is_counted = is_calm;
	if (is_calm)
		watch_disk_allow(&s->disk, used, s->disk.used_entries);
	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase != PHASE_RUNNING || e->is_files)
			continue;
		e->peak = used;
		e->limit = s->session->spec.limits[LIMIT_DISK];
		e->enforced_by = "poll";
		if (s->disk.over_entries)
			exec_warn(e, "files", "the session has more than %llu files",
				(unsigned long long)s->disk.limit_entries);
		limit_kill(e, EXEC_LIMIT, REASON_DISK);
	}
}

void limit_step(struct super *s)
{
	int64_t now = clock_now_ms();

	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase != PHASE_ENDED)
			check_exec(e, now);
	}
	for (size_t i = 0; i < CONTEXT_PLACES; i++) {
		struct context *c = &s->contexts[i];
		if (c->kill_ms && now >= c->kill_ms) {
			c->kill_ms = 0;
			context_kill(c);
		}
		check_kept_memory(c, now);
	}
	check_disk(s, now);
}

static void sooner(int64_t *at, int64_t due)
{
	if (due && (!*at || due < *at))
		*at = due;
}

int64_t limit_next_ms(struct super *s)
{
	int64_t at = 0;

	for (const struct exec *e = s->execs; e; e = e->next) {
		if (e->phase == PHASE_ENDED)
			continue;
		sooner(&at, exec_event_due(e));
		if (e->phase == PHASE_QUEUED)
			continue;
		sooner(&at, e->stage != STOP_NOT ? e->stage_ms : e->deadline_ms);
		if (e->phase == PHASE_RUNNING && limit_is_polled(s))
			sooner(&at, e->poll_ms);
		sooner(&at, limit_cpu_next_ms(e));
	}
	for (size_t i = 0; i < CONTEXT_PLACES; i++) {
		sooner(&at, s->contexts[i].kill_ms);
		if (s->contexts[i].phase == CONTEXT_IDLE && limit_is_polled(s))
			sooner(&at, s->contexts[i].poll_ms);
	}
	if (limit_is_running(s) || has_kept(s))
		sooner(&at, watch_disk_next_ms(&s->disk));
	return at;
}

/* --- evidence ------------------------------------------------------------------------- */

static void judge_memory(struct exec *e)
{
	const struct cgroup_usage *g = &e->group;
	uint64_t kills = g->oom_kills;

	kills -= e->oom_before < kills ? e->oom_before : kills;
	if (!g->has_memory || !kills)
		return;
	/* What we ended ourselves did not die of it; a part of it may have. */
	bool died = e->stage == STOP_NOT &&
		(!e->has_status || (WIFSIGNALED(e->wait_status) && WTERMSIG(e->wait_status) == SIGKILL));
	if (!died) {
		exec_warn(e, "oom_child", "%llu of its processes died for lack of memory",
			(unsigned long long)kills);
		return;
	}
	e->status = EXEC_OOM;
	e->reason = REASON_OOM;
	e->limit = e->s->session->spec.limits[LIMIT_MEMORY];
	e->peak = g->memory_peak_bytes;
	e->enforced_by = cgroup_enforced(e->s->cgroup, CGROUP_MEMORY);
	e->ambiguous = !e->is_grouped && e->n_overlaps > 0;
}

/* One that ignores SIGXCPU is killed a second of CPU time later. */
static bool ended_by_cpu(const struct exec *e, int sig)
{
	uint64_t limit_ms = e->w.r.cpu_limit_ms;

	/* Both come from anywhere; the time that was used tells. The kernel's own count for the
	 * limit runs ahead of what it tells the parent. */
	return limit_ms && (sig == SIGXCPU || sig == SIGKILL) &&
		e->cpu_us >= (int64_t)limit_ms * 1000 / 5 * 4;
}

static void judge_signal(struct exec *e)
{
	int sig = WTERMSIG(e->wait_status);

	e->status = EXEC_KILLED;
	e->reason = REASON_SIGNAL;
	if (ended_by_cpu(e, sig)) {
		e->status = EXEC_TIMEOUT;
		e->reason = REASON_TIMEOUT_CPU;
		e->limit = e->w.r.cpu_limit_ms;
		e->peak = (uint64_t)(e->cpu_us / 1000);
		e->enforced_by = "rlimit";
	} else if (sig == SIGXFSZ) {
		e->status = EXEC_LIMIT;
		e->reason = REASON_DISK;
		e->limit = e->s->session->spec.limits[LIMIT_DISK];
		e->enforced_by = "rlimit";
	}
}

static void judge_exit(struct exec *e)
{
	if (e->has_status && WIFEXITED(e->wait_status)) {
		e->exit_code = WEXITSTATUS(e->wait_status);
		e->status = e->exit_code ? EXEC_ERROR : EXEC_SUCCESS;
		e->reason = REASON_EXIT;
	} else if (e->has_status) {
		judge_signal(e);
	} else {
		/* Its init died and we did not kill it. */
		e->status = EXEC_LOST;
		e->reason = REASON_SIGNAL;
	}
}

void limit_judge(struct exec *e)
{
	if (e->status == EXEC_TIMEOUT && e->reason == REASON_TIMEOUT_WALL) {
		e->limit = e->timeout_ms;
		e->peak = (uint64_t)((e->end_us - e->begin_us) / 1000);
		e->enforced_by = "timer";
	}
	if (e->status == EXEC_RUNNING && !e->is_cell)
		judge_exit(e);
	if (e->status != EXEC_SETUP_FAILED)
		judge_memory(e);
	if (e->group.has_memory)
		e->peak_memory = e->group.memory_peak_bytes;
	else
		e->peak_memory = (uint64_t)e->rss_bytes;
}
