/* Finding the supervisor of a session, and starting it where there is none. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "session/gate.h"
#include "session/session.h"
#include "session/start.h"
#include "session/wire.h"
#include "sys/kernel.h"
#include "sys/pidfd.h"
#include "sys/proc.h"

/* [ms] A supervisor that lives but does not answer within this is hung. */
enum { CONNECT_MS = 5000, RETRY_MS = 2 };

void start_address(const struct store_session *s, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/ctl", s->dir);
}

/* --- connecting ---------------------------------------------------------------------- */

/* A connected socket, or -errno. */
static int try_connect(const struct store_session *s)
{
	struct sockaddr_un a;
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	start_address(s, &a);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		return -errno;
	return take_fd(&fd);
}

/* A dormant session has no process that could see that its idle time is over, so whoever
 * touches it does. What ended without order does not know when it was used last. */
static bool has_idled(const struct store_session *s)
{
	const struct session_status *st = &s->status;
	int64_t limit_us = (int64_t)s->spec.idle_timeout_ms * 1000;

	return limit_us && st->state == STATE_READY && !st->pid && st->last_used_us &&
		clock_wall_us() - st->last_used_us >= limit_us;
}

static int end_idle(struct store_session *s, struct fault *f)
{
	bool task = s->spec.class == CLASS_TASK;
	struct fault other;

	if (task) {
		store_session_remove(s, &other);
		return fault_set(f, FAULT_NOT_FOUND, 0, "session '%s' has ended: a task that idles is "
			"removed; create a new one", s->spec.name[0] ? s->spec.name : s->spec.id);
	}
	s->status.state = STATE_STOPPED;
	start_note(s, EVENT_SESSION_STOPPED, "idle_timeout", &other);
	return store_status_write(s, f);
}

static int refuse_state(const struct store_session *s, struct fault *f)
{
	const char *name = s->spec.name[0] ? s->spec.name : s->spec.id;
	bool expired = s->status.state == STATE_EXPIRED ||
		(s->status.expires_us && clock_wall_us() >= s->status.expires_us);

	if (expired)
		return fault_set(f, FAULT_LIMIT, 0, "session '%s' has expired (its lifetime is over); "
			"remove it with '" SBX_PROGRAM " rm %s' and create a new one", name, name);
	if (s->status.state == STATE_STOPPED)
		return fault_set(f, FAULT_LIMIT, 0, "session '%s' is stopped; '" SBX_PROGRAM " start %s' lets it run "
			"again", name, name);
	return 0;
}

int start_check(struct store_session *s, bool stopped_too, struct fault *f)
{
	int r = has_idled(s) ? end_idle(s, f) : 0;

	if (r < 0)
		return r;
	if (stopped_too && s->status.state == STATE_STOPPED)
		s->status.state = STATE_READY;
	return refuse_state(s, f);
}

/* What a killed supervisor left must be gone before its overlay is mounted again: the new
 * work directory takes away the only guard against a double mount. */
static int wait_for_old_init(const struct store_session *s, struct fault *f)
{
	const struct session_status *st = &s->status;
	char boot[40];

	store_boot_id(boot);
	if (!st->init_pid || strcmp(st->boot_id, boot) != 0)
		return 0;
	auto_fd int fd = pidfd_find(st->init_pid);
	if (fd < 0 || proc_start_ticks(st->init_pid) != st->init_start_ticks)
		return 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	/* Without a pid namespace what is below it does not end with it: it is let to end them. */
	if (s->spec.isolation == ISOLATION_WEAK && poll(&p, 1, CONNECT_MS) == 1)
		return 0;
	pidfd_kill(fd, SIGKILL);
	if (poll(&p, 1, CONNECT_MS) == 1)
		return 0;
	return fault_set(f, FAULT_BUSY, 0, "processes of the session's last supervisor are stuck in "
		"the kernel");
}

/* --- starting ------------------------------------------------------------------------- */

static void close_all_but(int keep[], size_t n)
{
	/* Sorted, so that what lies between two of them can be closed at once. */
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (keep[k] < keep[i]) {
				int swap = keep[i];
				keep[i] = keep[k];
				keep[k] = swap;
			}
	int from = 3;
	for (size_t i = 0; i < n; i++) {
		if (keep[i] < from)
			continue;
		if (keep[i] > from)
			syscall(SYS_close_range, (unsigned)from, (unsigned)keep[i] - 1, 0u);
		from = keep[i] + 1;
	}
	syscall(SYS_close_range, (unsigned)from, ~0u, 0u);
}

static void become_supervisor(struct store_session *s, int conn)
{
	int keep[] = { s->store->dir, s->dir, s->lock_fd, conn };
	sigset_t none;

	setsid();
	/* What is in flight to init counts against this; a payload's own limit is lower. */
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/* Code that nobody vetted gets no realtime priority, and cpu groups would refuse it. */
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* 64 signals; what the client ignored must not be ignored inside. */
	for (int i = 1; i <= 64; i++)
		signal(i, SIG_DFL);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		if (i < 2 || !getenv("SBX_TRACE"))
			dup2(null, i);
	close_all_but(keep, array_size(keep));
	super_main(s->store, s, conn);
	_exit(0);
}

/* Forks the supervisor of a session whose lock is held; ret_conn is connected to it. */
static int start_supervisor(struct store_session *s, int *ret_conn, struct fault *f)
{
	int pair[2];
	int r = msg_pair(pair);

	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, -r, "socketpair");
	pid_t pid = fork();
	if (pid < 0) {
		r = errno;
		close(pair[0]);
		close(pair[1]);
		return fault_set(f, FAULT_SYSTEM, r, "fork the supervisor");
	}
	if (pid == 0) {
		close(pair[0]);
		become_supervisor(s, pair[1]);
	}
	close(pair[1]);
	/* The lock belongs to the open file: the supervisor holds it on. */
	drop_fd(&s->lock_fd);
	*ret_conn = pair[0];
	return 0;
}

static int connect_or_start(struct store_session *s, bool stopped_too, int *ret_conn,
	struct fault *f)
{
	int64_t end = clock_now_ms() + CONNECT_MS;

	for (;;) {
		int fd = try_connect(s);
		if (fd >= 0) {
			*ret_conn = fd;
			return 0;
		}
		int r = store_session_load(s, f);
		if (r >= 0)
			r = store_session_lock(s, f);
		if (r < 0)
			return r;
		if (r == 0) {
			r = start_check(s, stopped_too, f);
			if (!r)
				r = wait_for_old_init(s, f);
			return r < 0 ? r : start_supervisor(s, ret_conn, f);
		}
		/* Somebody starts or ends it right now. */
		if (clock_now_ms() >= end)
			return fault_set(f, FAULT_BUSY, 0, "the session's supervisor (pid %d) does not "
				"answer; '" SBX_PROGRAM " rm' ends it", (int)s->status.pid);
		poll(NULL, 0, RETRY_MS);
	}
}

int session_connect(struct store_session *s, int *ret_conn, struct fault *f)
{
	return connect_or_start(s, false, ret_conn, f);
}

int session_start(struct store_session *s, int *ret_conn, struct fault *f)
{
	return connect_or_start(s, true, ret_conn, f);
}

int session_connect_live(struct store_session *s, int *ret_conn, struct fault *f)
{
	int64_t end = clock_now_ms() + CONNECT_MS;

	for (;;) {
		int fd = try_connect(s);
		if (fd >= 0) {
			*ret_conn = fd;
			return 0;
		}
		int r = store_session_lock(s, f);
		if (r < 0)
			return r;
		if (r == 0)
			return 1;
		if (clock_now_ms() >= end)
			return fault_set(f, FAULT_BUSY, 0, "the session's supervisor (pid %d) does not answer",
				(int)s->status.pid);
		poll(NULL, 0, RETRY_MS);
	}
}

int session_create(struct store *st, struct session_spec *spec, struct store_session *ret,
	int *ret_conn, struct fault *f)
{
	struct store_session s;
	auto_fd int lock = -1;
	int r;

	if (spec->class != CLASS_EPHEMERAL && !strncmp(spec->runtime_resolved, "python", 6))
		compiled_make(st->dir, spec->interpreter);
	r = gate_hold(st, spec, &lock, f);
	if (!r)
		r = store_session_make(st, spec, &s, f);
	drop_fd(&lock);
	if (r < 0)
		return r;
	r = start_supervisor(&s, ret_conn, f);
	if (r < 0) {
		struct fault other;
		store_session_remove(&s, &other);
		store_session_close(&s);
		return r;
	}
	*ret = s;
	return 0;
}
