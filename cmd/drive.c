/* The client of one execution. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "drive.h"
#include "terminal.h"

/* [ms] An orderly end takes REAP_LIMIT_MS and a scan of the files; one that takes longer than this
 * is not waited for. */
enum { LEAVE_MS = 15 * 1000 };

/* [ns] How often a write that nobody takes looks for signals. */
enum { LOOK_NS = 100 * 1000 * 1000 };

/* A client that is in the middle of one. */
struct client {
	const struct drive *d;
	struct store_session *session; /* NULL: conn is all there is */
	const struct exec_request *request;
	int conn;
	unsigned tries;
	bool accepted;
	char exec_id[ID_TEXT];
	bool may_send, input_over, detached;
	int asked_to_end;              /* the signal that did; 0: none */
	int64_t leave_ms;              /* when it stops waiting for that end */
	struct terminal terminal;
	struct keys keys;
	timer_t timer;
	bool has_timer;
};

/* Without the result: the supervisor sees the hang-up, and ends the execution. */
_Noreturn static void leave(struct client *c, int number)
{
	terminal_restore(&c->terminal);
	_exit(128 + number);
}

/* --- signals and input ------------------------------------------------------------------ */

static void send_size(struct client *c)
{
	uint16_t rows, columns;
	struct fault late;

	terminal_size(&rows, &columns);
	if (c->d->tty)
		session_resize(c->conn, rows, columns, &late);
}

/* The first one asks for an orderly end, which the result reports; the second leaves. When the
 * session is gone its last word, with the cause, is read by others. */
static void take_signals(struct client *c)
{
	struct fault late;
	int number;

	while ((number = terminal_signal(&c->terminal))) {
		if (number == SIGTSTP)
			terminal_stop(&c->terminal);
		if (number == SIGTSTP || number == SIGCONT)
			terminal_make_raw(&c->terminal);
		if (number == SIGTSTP || number == SIGCONT || number == SIGWINCH) {
			send_size(c);
			continue;
		}
		if (c->asked_to_end)
			leave(c, number);
		c->asked_to_end = number;
		c->leave_ms = clock_now_ms() + LEAVE_MS;
		session_cancel(c->conn, number, &late);
	}
	if (c->asked_to_end && clock_now_ms() >= c->leave_ms)
		leave(c, c->asked_to_end);
}

static void on_input(struct client *c)
{
	static char typed[SESSION_STDIN_BYTES - KEYS_MAX], chunk[SESSION_STDIN_BYTES];
	ssize_t n = read(STDIN_FILENO, typed, sizeof typed);
	struct fault late;
	size_t n_sent;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* A terminal that is gone reads as an error: that is an end, too. */
	c->input_over = n <= 0;
	bool detach = keys_filter(&c->keys, typed, n > 0 ? (size_t)n : 0, chunk, &n_sent);
	if (n_sent || c->input_over) {
		c->may_send = false;
		session_stdin(c->conn, chunk, n_sent, &late);
	}
	if (detach && session_detach(c->conn, &late) == 0) {
		c->detached = true;
		c->input_over = true;
	}
}

/* --- replies ----------------------------------------------------------------------------- */

static void wake(int number)
{
	(void)number;
}

/* A signal interrupts what waits in the kernel; not SIGALRM, which a caller may have set for us. */
static void make_timer(struct client *c)
{
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct sigaction act = { .sa_handler = wake };

	sigemptyset(&act.sa_mask);
	sigaction(SIGRTMIN, &act, NULL);
	c->has_timer = timer_create(CLOCK_MONOTONIC, &how, &c->timer) == 0;
}

static void set_timer(struct client *c, long ns)
{
	struct itimerspec often = { { 0, ns }, { 0, ns } };

	if (c->has_timer)
		timer_settime(c->timer, 0, &often, NULL);
}

/* As write(2), but comes back with EINTR now and then. */
static ssize_t write_some(struct client *c, int fd, const char *p, size_t n)
{
	set_timer(c, LOOK_NS);
	ssize_t r = write(fd, p, n);
	int error = errno;
	set_timer(c, 0);
	errno = error;
	return r;
}

/* A reader of ours that is gone (SIGPIPE is ignored) ends it, as it would end a filter. One that
 * takes nothing keeps us here, but not from hearing signals. */
static int put(struct client *c, int fd, const char *p, size_t n, struct fault *f)
{
	while (n) {
		ssize_t r = write_some(c, fd, p, n);
		if (r >= 0) {
			p += r;
			n -= (size_t)r;
			continue;
		}
		if (errno == EPIPE)
			leave(c, SIGPIPE);
		if (errno != EINTR && errno != EAGAIN)
			return fault_set(f, FAULT_SYSTEM, errno, "write to %s",
				fd == 1 ? "standard output" : "standard error");
		/* Somebody who shares it has made it not block. */
		struct pollfd polls[2] = { { fd, POLLOUT, 0 }, { c->terminal.signals, POLLIN, 0 } };
		if (errno == EAGAIN)
			poll(polls, 2, 1000);
		take_signals(c);
	}
	return 0;
}

static int put_line(struct client *c, int fd, const char *p, size_t n, struct fault *f)
{
	int r = put(c, fd, p, n, f);

	return r < 0 ? r : put(c, fd, "\n", 1, f);
}

static int show_result(struct client *c, const struct session_reply *r, struct fault *f)
{
	const struct drive *d = c->d;
	int e = 0;

	terminal_restore(&c->terminal);
	if (d->status_fd >= 0 && r->n_status) {
		/* The caller's own descriptor: what it does with it is its affair. */
		fd_write_all(d->status_fd, r->status_json, r->n_status);
		fd_write_all(d->status_fd, "\n", 1);
	}
	if (d->json || d->stream)
		return put_line(c, 1, r->json, r->n_json, f);
	if (r->n_value)
		e = put_line(c, 1, r->value, r->n_value, f);
	if (!e && r->n_traceback) {
		bool whole = r->traceback[r->n_traceback - 1] == '\n';
		e = put(c, 2, r->traceback, r->n_traceback, f);
		if (!e && !whole)
			e = put(c, 2, "\n", 1, f);
	}
	if (!e && r->message[0])
		fprintf(stderr, SBX_PROGRAM " %s: %s\n", d->command, r->message);
	return e;
}

enum { RESULT_SHOWN = 1, DETACHED };

static int fail_unexpected(struct fault *f)
{
	return fault_set(f, FAULT_BUG, 0, "the supervisor sent an unexpected reply");
}

static int on_reply(struct client *c, struct session_reply *r, struct fault *f)
{
	int e;

	switch (r->kind) {
	case SESSION_REPLY_OUTPUT:
		return put(c, r->stream == 2 ? 2 : 1, r->data, r->n, f);
	case SESSION_REPLY_EVENT:
		return put(c, 1, r->data, r->n, f);
	case SESSION_REPLY_ACCEPTED:
		c->accepted = true;
		c->may_send = true;
		memcpy(c->exec_id, r->exec_id, sizeof c->exec_id);
		return 0;
	case SESSION_REPLY_STDIN:
		c->may_send = true;
		return 0;
	case SESSION_REPLY_RESULT:
		e = show_result(c, r, f);
		return e < 0 ? e : RESULT_SHOWN;
	case SESSION_REPLY_DONE:
		return c->detached ? DETACHED : fail_unexpected(f);
	default:
		return fail_unexpected(f);
	}
}

/* A supervisor that is just ending takes connections and answers none. */
static int ask(struct client *c, struct fault *f)
{
	int e = session_exec(c->session, c->request, &c->conn, f);

	while (e < 0 && session_is_gone(f) && c->tries++ < SESSION_TRIES)
		e = session_exec(c->session, c->request, &c->conn, f);
	return e;
}

/* The supervisor died before it accepted: nothing has run yet, so the next one is asked. */
static int ask_again(struct client *c, struct fault *f)
{
	if (c->asked_to_end)
		leave(c, c->asked_to_end);
	if (!c->session || c->accepted || c->tries++ >= SESSION_TRIES || !session_is_gone(f))
		return -(int)f->kind;
	close(c->conn);
	c->conn = -1;
	return ask(c, f);
}

static int take_reply(struct client *c, struct session_reply *r, struct fault *f)
{
	int e = session_reply(c->conn, r, f);

	return e < 0 ? ask_again(c, f) : on_reply(c, r, f);
}

static int follow(struct client *c, struct session_reply *r, struct fault *f)
{
	for (;;) {
		bool input = (c->d->input || c->d->tty) && c->may_send && !c->input_over;
		struct pollfd p[3] = { { c->conn, POLLIN, 0 }, { c->terminal.signals, POLLIN, 0 },
			{ input ? 0 : -1, POLLIN, 0 } };
		int e = poll(p, 3, c->asked_to_end ? LEAVE_MS : -1);
		if (e < 0 && errno != EINTR)
			return fault_set(f, FAULT_SYSTEM, errno, "poll");
		if (e > 0 && p[0].revents) {
			e = take_reply(c, r, f);
			if (e)
				return e;
			continue;
		}
		if (e == 0 || p[1].revents)
			take_signals(c);
		if (e > 0 && p[2].revents)
			on_input(c);
	}
}

/* It goes on, and nobody here waits for it: how it is found again. */
static int say_detached(const struct client *c)
{
	const char *id = c->session->spec.id;

	fprintf(stderr, SBX_PROGRAM " %s: detached from %s, which goes on; '" SBX_PROGRAM
		" events %s --follow' shows it, '" SBX_PROGRAM " stop %s' ends it\n",
		c->d->command, c->exec_id, id, id);
	return 0;
}

int drive_run(const struct drive *d, struct store_session *s, int conn, struct exec_request *q,
	struct fault *f)
{
	struct client c = { .d = d, .session = s, .request = q, .conn = conn, .keys = d->keys };
	struct session_reply r = { 0 };

	signal(SIGPIPE, SIG_IGN);
	/* Before the size is read: a change after that is not missed. */
	terminal_open(&c.terminal, d->tty);
	if (d->tty) {
		terminal_size(&q->rows, &q->columns);
		q->term = getenv("TERM");
	}
	int e = s ? ask(&c, f) : session_request_exec(conn, q, f);
	if (!e) {
		make_timer(&c);
		terminal_make_raw(&c.terminal);
		e = follow(&c, &r, f);
	}
	terminal_close(&c.terminal);
	if (s && c.conn >= 0)
		close(c.conn);
	int code = e == RESULT_SHOWN ? (int)r.exit_code : e == DETACHED ? say_detached(&c) : e;
	session_reply_done(&r);
	return code;
}
