/* Ending a command by force, step by step; cell.c has how a cell is interrupted. */
#include <signal.h>

#include "base/clock.h"
#include "base/limits.h"
#include "session/super.h"

/* [ms] Between two steps. Source: DESIGN.md section 6. */
enum { GRACE_MS = 200 };

/* What is stopped can only die of a signal once it runs again. */
static void send_all(struct exec *e, int signal, enum jail_target to)
{
	jail_exec_signal(e->x, signal, to);
	jail_exec_signal(e->x, SIGCONT, JAIL_TO_ALL);
}

/* The signal before the TERM; 0: none. A terminal hangs up, for a shell at one does not care for
 * TERM; else the program gets what its client got. */
static int first_signal(const struct exec *e)
{
	if (e->w.r.flags & EXEC_TTY)
		return SIGHUP;
	return e->cancel_signal == SIGTERM ? 0 : e->cancel_signal;
}

void exec_stop_step(struct exec *e)
{
	int64_t now = clock_now_ms();
	int first = e->stage == STOP_NOT ? first_signal(e) : 0;

	if (first) {
		send_all(e, first, first == SIGHUP ? JAIL_TO_ALL : JAIL_TO_GROUP);
		e->stage = STOP_ASKED;
		e->stage_ms = now + GRACE_MS;
		return;
	}
	switch (e->stage) {
	case STOP_NOT:
	case STOP_ASKED:
		send_all(e, SIGTERM, JAIL_TO_ALL);
		e->stage = STOP_TERMINATED;
		e->stage_ms = now + GRACE_MS;
		break;
	case STOP_TERMINATED:
		jail_exec_kill(e->x);
		e->stage = STOP_KILLED;
		e->stage_ms = now + REAP_LIMIT_MS;
		break;
	default:
		exec_warn(e, "unkillable", "a process of it is stuck in the kernel and still there");
		exec_settle(e);
	}
}

void exec_cancel(struct exec *e, int signal)
{
	if (e->stage == STOP_NOT && (signal == SIGINT || signal == SIGHUP || signal == SIGQUIT ||
		signal == SIGTERM))
		e->cancel_signal = signal;
	limit_stop(e, EXEC_CANCELLED, REASON_CANCELLED);
}
