/*
 * CPU time of a whole command. The kernel limits that of each process by itself (RLIMIT_CPU),
 * and a relay of short ones would go on for ever: their sum is looked at.
 */
#include <string.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "session/limit-cpu.h"
#include "session/super.h"

/* [ms] A single process is told by SIGXCPU first; how often to look at most and at least. */
enum { AFTER_KERNEL_MS = 300, GAP_MIN_MS = 50, GAP_MAX_MS = 1000 };

static bool is_limited(const struct exec *e)
{
	return e->w.r.cpu_limit_ms && !e->is_cell && e->phase == PHASE_RUNNING && e->x &&
		e->stage == STOP_NOT;
}

int64_t limit_cpu_next_ms(const struct exec *e)
{
	return is_limited(e) ? e->cpu_poll_ms : 0;
}

void limit_cpu_step(struct exec *e, int64_t now)
{
	uint64_t allowed_ms = (e->w.r.cpu_limit_ms + 999) / 1000 * 1000 + AFTER_KERNEL_MS;

	if (!is_limited(e) || now < e->cpu_poll_ms)
		return;
	uint64_t used_ms = watch_tree_cpu_ms(jail_exec_pid(e->x));
	if (used_ms < allowed_ms) {
		/* Sooner it cannot be reached. */
		int64_t gap_ms = (int64_t)(allowed_ms - used_ms) / get_nprocs();
		gap_ms = gap_ms < GAP_MIN_MS ? GAP_MIN_MS : gap_ms > GAP_MAX_MS ? GAP_MAX_MS : gap_ms;
		e->cpu_poll_ms = clock_now_ms() + gap_ms;
		return;
	}
	e->limit = e->w.r.cpu_limit_ms;
	e->peak = used_ms;
	e->enforced_by = "poll";
	limit_stop(e, EXEC_TIMEOUT, REASON_TIMEOUT_CPU);
}
