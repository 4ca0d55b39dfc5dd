/* What an execution writes and what is written to it. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "session/super.h"

/* [bytes] [ms] Source: contract, section 5 (one event each 50 ms or MiB). */
enum { CHUNK_BYTES = 64 * 1024, EVENT_GAP_MS = 50, EVENT_TEXT_BYTES = 4096 };

enum { CTRL_D = 4 };

/* --- what it sends ------------------------------------------------------------------- */

bool exec_may_read(const struct exec *e)
{
	bool shown = e->conn && (e->is_files || (e->w.r.flags & EXEC_WANT_OUTPUT));

	return !shown || !conn_is_full(e->conn);
}

void exec_refresh_reading(struct exec *e)
{
	short events = exec_may_read(e) ? POLLIN : 0;

	for (int i = 0; i < 2; i++)
		if (e->out[i].source.ready)
			e->out[i].source.events = events;
	if (e->tty.ready)
		e->tty.events = (short)(events | (e->tty.events & POLLOUT));
	if (e->context)
		for (int i = 0; i < 2; i++)
			if (e->context->out[i].ready)
				e->context->out[i].events = events;
}

/* [bytes] not yet in an event. A character that is not whole waits for its rest, so that
 * each event's text is whole; after the end nothing waits. */
static uint64_t event_bytes(const struct exec *e, const struct stream *o)
{
	uint64_t n = o->spool.total - o->event_from;
	auto_text struct text last = { 0 };

	if (e->phase == PHASE_ENDED || !n)
		return n;
	size_t look = n < 3 ? (size_t)n : 3;
	spool_read(&o->spool, o->spool.total - look, look, &last);
	return n - utf8_cut_tail(text_string(&last), last.n);
}

void exec_output_event(struct exec *e, int stream)
{
	struct stream *o = &e->out[stream];
	uint64_t n = event_bytes(e, o);
	auto_text struct text text = { 0 };

	o->event_ms = clock_now_ms();
	if (!n)
		return;
	struct text *t = super_event(e->s, EVENT_EXECUTION_UPDATE, e);
	json_put_string(t, "status", "output");
	json_put_string(t, "stream", stream ? "stderr" : "stdout");
	json_put_int(t, "offset", (int64_t)o->event_from);
	json_put_int(t, "bytes", (int64_t)n);
	if (n <= EVENT_TEXT_BYTES && spool_read(&o->spool, o->event_from, (size_t)n, &text) == n)
		json_put_name(t, "text", text.data, text.n);
	super_journal(e->s, e);
	o->event_from += n;
}

/* [ms] when a pending output event is due; 0: none is pending. */
int64_t exec_event_due(const struct exec *e)
{
	int64_t due = 0;

	for (int i = 0; i < 2; i++) {
		const struct stream *o = &e->out[i];
		if (o->spool.total > o->event_from && (!due || o->event_ms + EVENT_GAP_MS < due))
			due = o->event_ms + EVENT_GAP_MS;
	}
	return due;
}

void exec_output(struct exec *e, int stream, const char *p, size_t n)
{
	struct stream *o = &e->out[stream];

	if (e->conn && (e->is_files || (e->w.r.flags & EXEC_WANT_OUTPUT))) {
		auto_text struct text t = { 0 };
		frame_put_u32(&t, (uint32_t)stream + 1);
		frame_put_bytes(&t, p, n);
		conn_send(e->conn, WIRE_OUTPUT, &t);
		exec_refresh_reading(e);
	}
	if (e->is_files)
		return;
	/* Its first words may be here before the word of its start. */
	if (e->phase == PHASE_STARTING && !e->is_cell)
		exec_running(e);
	spool_add(&o->spool, p, n);
	if (o->spool.total - o->event_from >= MIB || clock_now_ms() - o->event_ms >= EVENT_GAP_MS)
		exec_output_event(e, stream);
}

/* Reads once; false at the end of the stream, or when there is nothing now. */
static bool read_some(struct exec *e, int fd, int stream)
{
	char chunk[CHUNK_BYTES];
	ssize_t n = read(fd, chunk, sizeof chunk);

	if (n <= 0)
		return n < 0 && errno == EINTR;
	exec_output(e, stream, chunk, (size_t)n);
	return true;
}

void exec_on_output(void *owner, short revents)
{
	struct stream *o = owner;
	struct exec *e = o->exec;

	if (!read_some(e, o->fd, (int)(o - e->out)) && (revents & POLLHUP))
		loop_remove(&e->s->loop, &o->source);
}

void exec_on_tty(void *owner, short revents)
{
	struct exec *e = owner;

	if (revents & POLLOUT)
		exec_on_input(e, revents);
	/* The other side's end gives EIO, with or without POLLHUP. Source: pty(7). */
	if ((revents & (POLLIN | POLLHUP)) && !read_some(e, e->tty_fd, 0) && (revents & POLLHUP))
		loop_remove(&e->s->loop, &e->tty);
}

/* All that was written before the leader ended is in the pipes: their writers are dead. A
 * pipe holds at most 1 MiB (pipe(7)), so the loop is bounded. */
void exec_drain(struct exec *e)
{
	for (int i = 0; i < 2; i++)
		if (e->out[i].fd >= 0)
			for (int k = 0; k < 64 && read_some(e, e->out[i].fd, i); k++)
				;
	if (e->tty_fd >= 0)
		for (int k = 0; k < 64 && read_some(e, e->tty_fd, 0); k++)
			;
}

/* --- what it is sent ----------------------------------------------------------------- */

/* A terminal has no end of its own: the key that its program reads as one is typed. Once more
 * behind a line that is not whole, which it only hands over. Source: termios(3), VEOF. */
static void type_end(struct exec *e)
{
	struct termios t;
	char key = tcgetattr(e->tty_fd, &t) < 0 ? CTRL_D : (char)t.c_cc[VEOF];

	text_put_char(&e->input_left, key);
	if (!e->at_line_start)
		text_put_char(&e->input_left, key);
}

void exec_write_input(struct exec *e)
{
	int fd = e->tty_fd >= 0 ? e->tty_fd : e->input_fd;
	struct source *source = e->tty_fd >= 0 ? &e->tty : &e->input;
	ssize_t n = 1;

	if (e->tty_fd >= 0 && e->input_ended && !e->end_typed) {
		e->end_typed = true;
		type_end(e);
	}
	while (e->input_left.n && n > 0) {
		n = write(fd, e->input_left.data, e->input_left.n);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			source->events |= POLLOUT;
			return;
		}
		if (n < 0) { /* nobody reads any more: what comes is thrown away */
			text_clear(&e->input_left);
			break;
		}
		e->input_left.n -= (size_t)n;
		memmove(e->input_left.data, e->input_left.data + n, e->input_left.n);
	}
	source->events &= ~POLLOUT;
	if (e->input_ended && e->input_fd >= 0) {
		loop_remove(&e->s->loop, &e->input);
		drop_fd(&e->input_fd);
	} else if (e->conn && !e->input_ended) {
		conn_send(e->conn, WIRE_STDIN_MORE, NULL);
	}
}

void exec_on_input(void *owner, short revents)
{
	struct exec *e = owner;

	if (revents & POLLERR)
		text_clear(&e->input_left);
	if (e->input_left.n || (revents & POLLERR))
		exec_write_input(e);
	if ((revents & POLLERR) && e->input.ready)
		loop_remove(&e->s->loop, &e->input);
}

void exec_input(struct exec *e, const void *p, size_t n)
{
	if (!(e->w.r.flags & (EXEC_STDIN | EXEC_TTY)) || e->input_ended || e->phase == PHASE_ENDED)
		return;
	if (n > SESSION_STDIN_BYTES || e->input_left.n)
		return; /* against the protocol: one chunk at a time */
	text_put_bytes(&e->input_left, p, n);
	e->input_ended = n == 0;
	if (n) {
		char last = ((const char *)p)[n - 1];
		e->at_line_start = last == '\r' || last == '\n';
	}
	if (e->tty_fd >= 0 || e->input_fd >= 0)
		exec_write_input(e);
}

void exec_resize(struct exec *e, uint16_t rows, uint16_t columns)
{
	/* One that still waits begins with it. */
	e->w.r.rows = rows;
	e->w.r.columns = columns;
	if (e->x && !e->is_cell)
		jail_exec_resize(e->x, rows, columns);
}
