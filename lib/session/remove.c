/* The end of a session, and of what killed commands left. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/json.h"
#include "event/event.h"
#include "session/session.h"
#include "session/start.h"
#include "session/wire.h"
#include "sys/cgroup.h"
#include "sys/pidfd.h"
#include "sys/proc.h"

enum {
	STOP_MS = 5000,
	/* [ms] A supervisor that has hung up is gone soon; a lock that is held for longer is
	 * that of a new one. */
	GONE_MS = 300,
};

/* Waits until the supervisor has hung up: it did what it was asked, or died. */
static bool wait_end(int conn, int64_t limit_ms)
{
	int64_t end = clock_now_ms() + limit_ms;
	auto_msg struct msg m = { 0 };

	for (;;) {
		int64_t left = end - clock_now_ms();
		struct pollfd p = { .fd = conn, .events = POLLIN };
		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return false;
		if (msg_receive(conn, MSG_TRUSTED, &m) <= 0)
			return true;
	}
}

/* The supervisor does not answer: end it by its identity, never by its number alone. It may
 * be another one than when the session was opened. */
static void kill_supervisor(struct store_session *s)
{
	struct fault other;
	char boot[40];

	if (store_status_read(s, &other) < 0)
		return;
	store_boot_id(boot);
	if (!s->status.pid || strcmp(s->status.boot_id, boot) != 0)
		return;
	auto_fd int fd = pidfd_find(s->status.pid);
	if (fd >= 0 && proc_start_ticks(s->status.pid) == s->status.pid_start_ticks)
		pidfd_kill(fd, SIGKILL);
}

static int take_lock(struct store_session *s, int64_t limit_ms, struct fault *f)
{
	int64_t end = clock_now_ms() + limit_ms;
	int r;

	while ((r = store_session_lock(s, f)) == STORE_LOCKED && clock_now_ms() < end)
		poll(NULL, 0, 2);
	if (r == STORE_LOCKED)
		return fault_set(f, FAULT_BUSY, 0, "the session's supervisor cannot be ended");
	return r;
}

static int ask_to_stop(struct store_session *s, int conn, enum wire_stop how, struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, how);
	bool done = msg_send(conn, WIRE_STOP, t.data, t.n, NULL, 0) == 0 && wait_end(conn, STOP_MS);
	if (!done)
		kill_supervisor(s);
	return take_lock(s, done ? GONE_MS : STOP_MS, f);
}

int start_note(struct store_session *s, enum event_type type, const char *reason, struct fault *f)
{
	struct journal j = { 0 };
	auto_fd int dir = -1;
	int r = store_session_events(s, &dir, f);

	if (!r)
		r = journal_open(dir, &j, f);
	if (r < 0)
		return r;
	struct text *t = event_begin(&j, type, s->spec.id, NULL);
	json_put_string(t, "reason", reason);
	r = event_end(&j, f);
	journal_close(&j);
	return r;
}

/* The status names them unless the supervisor was killed before it could say so. */
static void remove_groups(const struct store_session *s)
{
	struct fault f;

	if (s->status.cgroup[0])
		cgroup_remove_paths(s->status.cgroup, &f);
	else
		cgroup_remove_id(s->spec.id);
}

static int end_supervisor(struct store_session *s, enum wire_stop how, struct fault *f)
{
	auto_fd int conn = -1;
	int r = session_connect_live(s, &conn, f);

	if (r == -FAULT_BUSY) {
		kill_supervisor(s);
		r = take_lock(s, STOP_MS, f);
	} else if (r == 0) {
		r = ask_to_stop(s, conn, how, f);
	}
	return r < 0 ? r : 0;
}

static int end_processes(struct store_session *s, enum wire_stop how, struct fault *f)
{
	int64_t end = clock_now_ms() + 2LL * STOP_MS;
	int r;

	/* Another command may wake the session in the moment between. */
	do {
		r = end_supervisor(s, how, f);
	} while (r == -FAULT_BUSY && clock_now_ms() < end);
	if (r < 0)
		return r;
	/* Nobody lives now; a killed supervisor's groups may still be there. */
	remove_groups(s);
	return 0;
}

int session_stop(struct store_session *s, bool for_good, struct fault *f)
{
	int r = end_processes(s, for_good ? WIRE_STOP_FOR_GOOD : WIRE_STOP_DORMANT, f);

	if (r < 0)
		return r;
	r = store_status_read(s, f);
	if (r < 0)
		return r;
	if (!for_good)
		return 0;
	s->status.state = STATE_STOPPED;
	s->status.pid = s->status.init_pid = 0;
	s->status.cgroup[0] = 0;
	for (uint32_t i = 0; i < s->status.n_contexts; i++)
		s->status.contexts[i].alive = false;
	r = start_note(s, EVENT_SESSION_STOPPED, "asked", f);
	if (!r)
		r = store_status_write(s, f);
	if (!r)
		store_session_sync(s);
	return r;
}

int session_remove(struct store_session *s, struct fault *f)
{
	struct fault other;
	int r = end_processes(s, WIRE_STOP_DESTROY, f);

	if (r < 0)
		return r;
	/* A follower sees the last event, then the directory goes. */
	start_note(s, EVENT_SESSION_DESTROYED, "asked", &other);
	return store_session_remove(s, f);
}

static int sweep_one(struct store_session *s, void *arg)
{
	struct fault f;

	(void)arg;
	bool one_off = s->spec.class == CLASS_EPHEMERAL || s->status.state == STATE_CREATING;
	if (!one_off || store_session_lock(s, &f) != 0)
		return 0;
	remove_groups(s);
	store_session_remove(s, &f);
	return 0;
}

void session_sweep(struct store *st)
{
	struct fault f;

	store_each_one_off(st, sweep_one, NULL, &f);
	store_empty_trash(st, &f);
}
