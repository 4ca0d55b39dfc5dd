/*
 * The supervisor: one process a live session, one loop.
 *
 * It is a fork of the client that found no supervisor, holds the session's lock as long
 * as it lives, and leaves when nothing has needed it for a while.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/title.h"
#include "session/session.h"
#include "session/spec.h"
#include "session/start.h"
#include "session/super.h"

/* [ms] A spare that could not be made is tried again; so often while nothing runs. */
enum { SPARE_RETRY_MS = 50, SPARE_TRIES = 20 };

/* [ms] Inodes for what comes next are made one by one when there is nothing else to do. */
enum { SPARES_IDLE_MS = 2 };

/* [ms] How often a session looks whether it is still there. */
enum { LOOK_MS = 5 * 60 * 1000 };

struct text *super_event(struct super *s, enum event_type type, struct exec *e)
{
	return event_begin(&s->journal, type, s->session->spec.id, e ? e->id : NULL);
}

void super_journal(struct super *s, struct exec *e)
{
	struct fault f;

	/* A journal that cannot be written (full disk) must not end what runs; the next record
	 * and the next exec say so. */
	if (event_end(&s->journal, &f) < 0)
		return;
	if (!e || !e->conn || !(e->w.r.flags & EXEC_WANT_EVENTS))
		return;
	auto_text struct text t = { 0 };
	frame_put_bytes(&t, s->journal.line.data, s->journal.line.n);
	conn_send(e->conn, WIRE_EVENT, &t);
}

bool super_is_busy(const struct super *s)
{
	for (const struct exec *e = s->execs; e; e = e->next)
		if (e->phase != PHASE_ENDED)
			return true;
	return false;
}

static bool has_contexts(const struct super *s)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++)
		if (s->contexts[i].phase != CONTEXT_DEAD)
			return true;
	return false;
}

void super_save_status(struct super *s)
{
	struct fault f;

	store_status_write(s->session, &f);
}

void super_set_expiry(struct super *s, int64_t now_us)
{
	int64_t at_us = s->session->status.expires_us;

	s->expires_ms = at_us ? clock_now_ms() + (at_us - now_us) / 1000 : 0;
}

int super_touch(struct super *s, uint64_t lifetime_ms, struct fault *f)
{
	int64_t now_us = clock_wall_us();

	s->idle_since_ms = clock_now_ms();
	start_used(s->session, now_us);
	if (lifetime_ms != SESSION_LIFETIME_KEEP) {
		int r = start_lifetime(s->session, now_us, lifetime_ms, &s->journal, f);
		super_set_expiry(s, now_us);
		if (r < 0)
			return r;
	}
	return store_status_write(s->session, f);
}

void super_spare_wanted(struct super *s)
{
	struct fault f;

	if (s->spare || s->spare_asked || s->ending || !s->ready)
		return;
	int door = cgroup_child_make(s->cgroup, jail_next_number(s->jail));
	s->spare_grouped = door >= 0;
	s->spare_asked = jail_want_spare(s->jail, door, &f) == 0;
	if (s->spare_asked)
		overdue_expect(s);
	if (door >= 0)
		close(door);
}

void super_spare_lost(struct super *s, uint32_t number)
{
	if (!s->spare || jail_exec_number(s->spare) != number)
		return;
	s->spare = jail_exec_free(s->spare);
	super_spare_wanted(s);
}

/* Mostly the processes that run fill the limit, and it passes with them. When nothing runs
 * that could end, waiting is of no use. */
void super_spare_failed(struct super *s, uint32_t number, const struct fault *f)
{
	bool hopeless = ++s->n_spare_failures >= SPARE_TRIES;

	cgroup_child_remove(s->cgroup, number);
	s->spare_asked = false;
	overdue_arrived(s);
	s->spare_retry_ms = clock_now_ms() + SPARE_RETRY_MS;
	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase == PHASE_RUNNING || e->phase == PHASE_STARTING)
			return;
	}
	for (struct exec *e = s->execs, *next; hopeless && e; e = next) {
		next = e->next;
		if (e->phase == PHASE_QUEUED)
			exec_fail(e, "process", f->sysno, f->text);
	}
}

static void retry_spare(struct super *s)
{
	if (!s->spare_retry_ms || clock_now_ms() < s->spare_retry_ms)
		return;
	s->spare_retry_ms = 0;
	super_spare_wanted(s);
}

/* [ms] When the next one is made; 0: none is wanted. */
static int64_t spares_due(const struct super *s)
{
	if (!s->is_used || s->ending || !store_spares_want(&s->spares) || super_is_busy(s))
		return 0;
	return s->idle_since_ms + SPARES_IDLE_MS;
}

static void make_spares(struct super *s)
{
	int64_t due = spares_due(s);

	if (due && clock_now_ms() >= due)
		store_spares_fill(&s->spares, s->session);
}

static void reply_stop(struct super *s)
{
	if (s->stop_conn)
		conn_send(s->stop_conn, WIRE_DONE, NULL);
	/* The lock goes with this process: the client waits for the hang-up, then takes it. */
}

static void finish(struct super *s)
{
	struct session_status *st = &s->session->status;
	bool destroy = s->last_done || s->stop == WIRE_STOP_DESTROY;

	/* Here, because what is written at the unmount comes after the sync of the home directory. */
	if (s->stop == WIRE_STOP_FOR_GOOD && s->session->spec.disk == DISK_LOOP && s->up_fd >= 0)
		syncfs(s->up_fd);
	/* Nobody waits for the end of a one-off session any more: what runs now goes first. */
	if (s->last_done)
		setpriority(PRIO_PROCESS, 0, 10);

	context_close_all(s, s->jail_gone ? "the session's processes died" : "the session was stopped");
	s->spare = jail_exec_free(s->spare);
	s->jail = jail_free(s->jail);
	s->cgroup = cgroup_remove(s->cgroup);
	unlinkat(s->session->dir, "ctl", 0);
	st->pid = st->init_pid = 0;
	st->cgroup[0] = 0;
	if (s->stop == WIRE_STOP_FOR_GOOD)
		st->state = STATE_STOPPED;
	if (s->expires_ms && clock_now_ms() >= s->expires_ms)
		st->state = STATE_EXPIRED;
	if (!destroy)
		super_save_status(s);
}

/* Somebody removed the home directory from under it. */
static bool is_deleted(const struct super *s)
{
	struct stat st;

	return fstat(s->session->dir, &st) == 0 && st.st_nlink == 0;
}

/* What lies in memory would be lost. */
static bool may_sleep(const struct super *s)
{
	return s->session->spec.dormant_after_ms && s->session->spec.disk != DISK_TMPFS;
}

static void check_times(struct super *s)
{
	const struct session_spec *spec = &s->session->spec;
	int64_t now = clock_now_ms();

	if (s->expires_ms && now >= s->expires_ms && !s->ending) {
		struct text *t = super_event(s, EVENT_SESSION_EXPIRED, NULL);
		json_put_string(t, "reason", "lifetime");
		super_journal(s, NULL);
		super_stop(s, WIRE_STOP_DORMANT, NULL);
		return;
	}
	if (now >= s->look_ms) {
		s->look_ms = now + LOOK_MS;
		if (is_deleted(s))
			super_stop(s, WIRE_STOP_DORMANT, NULL);
	}
	if (super_is_busy(s) || conn_is_any_waiting(s))
		s->idle_since_ms = now;
	int64_t idle = now - s->idle_since_ms;
	if (spec->idle_timeout_ms && idle >= (int64_t)spec->idle_timeout_ms) {
		bool task = spec->class == CLASS_TASK;
		struct text *t = super_event(s, task ? EVENT_SESSION_DESTROYED : EVENT_SESSION_STOPPED,
			NULL);
		json_put_string(t, "reason", "idle_timeout");
		super_journal(s, NULL);
		super_stop(s, task ? WIRE_STOP_DESTROY : WIRE_STOP_FOR_GOOD, NULL);
	} else if (may_sleep(s) && idle >= (int64_t)spec->dormant_after_ms && !has_contexts(s) &&
		 watch_shm_is_empty(s->root_fd)) {
		super_event(s, EVENT_SESSION_DORMANT, NULL);
		super_journal(s, NULL);
		super_stop(s, WIRE_STOP_DORMANT, NULL);
	}
}

void super_stop(struct super *s, enum wire_stop how, struct conn *c)
{
	/* Who asks second can only ask for more: a signal does not save what is being removed. */
	if (!s->ending || how > s->stop)
		s->stop = how;
	s->ending = true;
	if (c)
		s->stop_conn = c;
	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase != PHASE_ENDED)
			limit_stop(e, EXEC_CANCELLED, REASON_CANCELLED);
	}
}

void super_end(struct super *s, const char *crossed)
{
	struct text *t = super_event(s, EVENT_SESSION_STOPPED, NULL);

	json_put_string(t, "reason", "on_threshold");
	json_put_string(t, "limit", crossed);
	super_journal(s, NULL);
	s->stop = WIRE_STOP_FOR_GOOD;
	s->ending = true;
	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase == PHASE_QUEUED)
			exec_fail(e, "session", 0, "the session is stopped: 80 % of a limit were crossed");
	}
}

void super_conn_gone(struct super *s)
{
	if (s->session->spec.class == CLASS_EPHEMERAL && !s->conns && !s->execs && !s->ending)
		super_stop(s, WIRE_STOP_DESTROY, NULL);
}

/* [ms] until something is due; -1 without end. */
static int64_t next_wake(struct super *s)
{
	const struct session_spec *spec = &s->session->spec;
	int64_t now = clock_now_ms(), at = limit_next_ms(s);
	int64_t due[] = { s->expires_ms, 0, 0, s->spare_retry_ms, s->look_ms, overdue_next_ms(s),
		spares_due(s) };

	if (!super_is_busy(s) && !conn_is_any_waiting(s)) {
		due[1] = spec->idle_timeout_ms ? s->idle_since_ms + (int64_t)spec->idle_timeout_ms : 0;
		due[2] = may_sleep(s) && !has_contexts(s) ?
			s->idle_since_ms + (int64_t)spec->dormant_after_ms : 0;
		/* A session with something in /dev/shm is not let go; it is looked at again. */
		if (due[2] && due[2] <= now)
			due[2] = now + 1000;
	}
	for (size_t i = 0; i < array_size(due); i++)
		if (due[i] && (!at || due[i] < at))
			at = due[i];
	if (!at)
		return -1;
	return at > now ? at - now : 0;
}

static bool is_over(struct super *s)
{
	return (s->ending || s->last_done) && !super_is_busy(s);
}

/* Sends what still waits, for a bounded time: a client that does not read loses it. */
static void flush(struct super *s)
{
	int64_t end = clock_now_ms() + 2000;

	while (s->conns && clock_now_ms() < end) {
		bool waiting = false;
		for (struct conn *c = s->conns; c; c = c->next)
			waiting |= c->first != NULL;
		if (!waiting || loop_step(&s->loop, 100) < 0)
			return;
	}
}

/* Somebody wants this process to go: it takes its jail and groups with it. */
static void on_signal(void *owner, short revents)
{
	struct super *s = owner;
	struct signalfd_siginfo info;

	(void)revents;
	if (read(s->signal_fd, &info, sizeof info) == sizeof info)
		super_stop(s, WIRE_STOP_DORMANT, NULL);
}

static void listen_to_signals(struct super *s)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd >= 0)
		loop_add(&s->loop, &s->signals, s->signal_fd, POLLIN, on_signal, s);
}

static void run(struct super *s)
{
	while (exec_collect(s), !is_over(s)) {
		/* Timers first: a step may have taken long. */
		limit_step(s);
		overdue_step(s);
		retry_spare(s);
		make_spares(s);
		check_times(s);
		if (is_over(s))
			break;
		if (loop_step(&s->loop, next_wake(s)) < 0)
			break;
	}
	loop_remove(&s->loop, &s->listen);
	flush(s);
}

void super_main(struct store *st, struct store_session *session, int conn)
{
	struct super s = { .store = st, .session = session, .listen_fd = -1, .fs_fd = -1,
		.up_fd = -1, .lower_fd = -1, .mount_fd = -1, .base_fd = -1, .root_fd = -1,
		.events_dir = -1, .slots_fd = -1, .spare_asked = true };
	struct fault f;

	mem_keep();
	title_set("sbx: %s supervisor", session->spec.id);
	listen_to_signals(&s);
	s.idle_since_ms = clock_now_ms();
	struct conn *c = conn >= 0 ? conn_new(&s, conn) : NULL;
	if (super_begin(&s, &f) < 0) {
		if (c)
			conn_fault(c, &f);
		s.ending = true;
		flush(&s);
		/* The status stays as it was: what could not start is dormant. A one-off session
		 * is of no use to anybody any more. */
		finish(&s);
		if (session->spec.class == CLASS_EPHEMERAL)
			store_session_remove(session, &f);
		return;
	}
	run(&s);
	bool destroy = s.last_done || s.stop == WIRE_STOP_DESTROY;
	finish(&s);
	reply_stop(&s);
	flush(&s);
	if (destroy && !s.stop_conn) {
		store_session_remove(session, &f);
		session_sweep(st);
	}
}
