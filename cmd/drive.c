#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "drive.h"

/* A supervisor that dies is replaced; one that dies so often has another problem. */
enum { TRIES = 5 };

/* A client that is in the middle of one. */
struct client {
	const struct drive *d;
	struct store_session *session; /* NULL: conn is all there is */
	const struct exec_request *request;
	int conn, signals;
	unsigned tries;
	bool accepted;
	bool may_send, input_over, asked_to_end;
	struct termios saved;
	bool is_raw;
};

/* --- the terminal ----------------------------------------------------------------------- */

static void make_raw(struct client *c)
{
	struct termios raw;

	if (!c->d->tty || !isatty(0) || tcgetattr(0, &c->saved) < 0)
		return;
	raw = c->saved;
	cfmakeraw(&raw);
	c->is_raw = tcsetattr(0, TCSADRAIN, &raw) == 0;
}

static void restore(struct client *c)
{
	if (c->is_raw)
		tcsetattr(0, TCSADRAIN, &c->saved);
}

static void get_size(struct exec_request *q)
{
	struct winsize w = { 0 };

	if (ioctl(1, TIOCGWINSZ, &w) < 0 || !w.ws_row)
		ioctl(0, TIOCGWINSZ, &w);
	/* A terminal that does not know its size is as large as the first ones were. */
	q->rows = w.ws_row ? w.ws_row : 24;
	q->columns = w.ws_col ? w.ws_col : 80;
}

/* --- signals and input ------------------------------------------------------------------ */

static int open_signals(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, old);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The first one asks for an orderly end, which the result reports; the second leaves: the
 * supervisor sees that and ends it too. */
static int on_signal(struct client *c, struct fault *f)
{
	struct signalfd_siginfo s;
	struct exec_request size;

	if (read(c->signals, &s, sizeof s) != sizeof s)
		return 0;
	if (s.ssi_signo == SIGWINCH) {
		get_size(&size);
		return c->d->tty ? session_resize(c->conn, size.rows, size.columns, f) : 0;
	}
	if (c->asked_to_end) {
		restore(c);
		_exit(128 + (int)s.ssi_signo);
	}
	c->asked_to_end = true;
	return session_cancel(c->conn, f);
}

static int on_input(struct client *c, struct fault *f)
{
	char chunk[SESSION_STDIN_BYTES];
	ssize_t n = read(0, chunk, sizeof chunk);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	/* A terminal that is gone reads as an error: that is an end, too. */
	c->may_send = false;
	c->input_over = n <= 0;
	return session_stdin(c->conn, chunk, n > 0 ? (size_t)n : 0, f);
}

/* --- replies ----------------------------------------------------------------------------- */

/* A reader of ours that is gone (SIGPIPE is ignored) ends it, as it would end a filter. */
static int put(struct client *c, int fd, const char *p, size_t n, struct fault *f)
{
	int r = fd_write_all(fd, p, n);

	if (r == 0)
		return 0;
	if (r == -EPIPE) {
		restore(c);
		_exit(128 + SIGPIPE);
	}
	return fault_set(f, FAULT_SYSTEM, -r, "write to %s", fd == 1 ? "standard output" : "standard error");
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

	restore(c);
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

enum { RESULT_SHOWN = 1 };

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
		return 0;
	case SESSION_REPLY_STDIN:
		c->may_send = true;
		return 0;
	case SESSION_REPLY_RESULT:
		e = show_result(c, r, f);
		return e < 0 ? e : RESULT_SHOWN;
	default:
		return fault_set(f, FAULT_BUG, 0, "the supervisor sent an unexpected reply");
	}
}

/* The supervisor died before it accepted: nothing has run yet, so the next one is asked. */
static int ask_again(struct client *c, struct fault *f)
{
	if (!c->session || c->accepted || c->tries++ == TRIES || !session_is_gone(f))
		return -(int)f->kind;
	close(c->conn);
	c->conn = -1;
	return session_exec(c->session, c->request, &c->conn, f);
}

static int take_reply(struct client *c, struct session_reply *r, struct fault *f)
{
	int e = session_reply(c->conn, r, f);

	return e < 0 ? ask_again(c, f) : on_reply(c, r, f);
}

static int follow(struct client *c, struct session_reply *r, struct fault *f)
{
	struct fault late;

	for (;;) {
		bool input = (c->d->input || c->d->tty) && c->may_send && !c->input_over;
		struct pollfd p[3] = { { c->conn, POLLIN, 0 }, { c->signals, POLLIN, 0 },
			{ input ? 0 : -1, POLLIN, 0 } };
		int e = poll(p, 3, -1);
		if (e < 0 && errno != EINTR)
			return fault_set(f, FAULT_SYSTEM, errno, "poll");
		if (e > 0 && p[0].revents) {
			e = take_reply(c, r, f);
			if (e)
				return e;
			continue;
		}
		/* When the session is gone its last word, with the cause, is read above. */
		if (e > 0 && p[1].revents)
			on_signal(c, &late);
		if (e > 0 && p[2].revents)
			on_input(c, &late);
	}
}

int drive_run(const struct drive *d, struct store_session *s, int conn, struct exec_request *q,
	struct fault *f)
{
	struct client c = { .d = d, .session = s, .request = q, .conn = conn };
	struct session_reply r = { 0 };
	sigset_t old;

	signal(SIGPIPE, SIG_IGN);
	if (d->tty)
		get_size(q);
	c.signals = open_signals(&old);
	int e = s ? session_exec(s, q, &c.conn, f) : session_request_exec(conn, q, f);
	if (!e) {
		make_raw(&c);
		e = follow(&c, &r, f);
		restore(&c);
	}
	close(c.signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (s && c.conn >= 0)
		close(c.conn);
	int code = e == RESULT_SHOWN ? (int)r.exit_code : e;
	session_reply_done(&r);
	return code;
}
