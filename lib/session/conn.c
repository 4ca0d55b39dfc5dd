/* Clients of the supervisor: requests in, replies queued without blocking. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/mem.h"
#include "session/super.h"

/* [bytes] A client in human form that reads slower than this slows the program down. */
enum { CONN_FULL_BYTES = 256 * 1024 };

struct packet {
	struct packet *next;
	enum wire_type type;
	size_t n;
	char data[];
};

static void drop_packets(struct conn *c)
{
	for (struct packet *p = c->first, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	c->first = c->last = NULL;
	c->n_waiting = 0;
}

void conn_free(struct conn *c)
{
	struct super *s = c->s;

	for (struct conn **at = &s->conns; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	if (s->stop_conn == c)
		s->stop_conn = NULL;
	s->n_conns--;
	loop_remove(&s->loop, &c->source);
	drop_packets(c);
	close(c->fd);
	free(c);
}

/* The client is gone, or has sent what it never may. */
static void hang_up(struct conn *c)
{
	struct exec *e = c->exec;
	struct super *s = c->s;

	c->exec = NULL;
	repeat_conn_gone(c);
	conn_free(c);
	if (e)
		exec_client_gone(e);
	super_conn_gone(s);
}

/* Sends what waits; false when the connection was freed. */
static bool send_waiting(struct conn *c)
{
	while (c->first) {
		struct packet *p = c->first;
		int r = msg_send(c->fd, p->type, p->data, p->n, NULL, 0);
		if (r == -EAGAIN || r == -ENOBUFS)
			break;
		if (r < 0) {
			hang_up(c);
			return false;
		}
		c->first = p->next;
		c->n_waiting -= p->n;
		free(p);
	}
	if (!c->first)
		c->last = NULL;
	c->source.events = (short)(POLLIN | (c->first ? POLLOUT : 0));
	if (c->exec)
		exec_refresh_reading(c->exec);
	return true;
}

void conn_send(struct conn *c, enum wire_type type, const struct text *t)
{
	size_t n = t ? t->n : 0;

	/* The usual case needs no copy. */
	if (!c->first) {
		int r = msg_send(c->fd, type, t ? t->data : NULL, n, NULL, 0);
		if (r == 0)
			return;
		/* A broken connection is found again, and freed, by the loop. */
		if (r != -EAGAIN && r != -ENOBUFS)
			return;
	}
	struct packet *p = mem_zeroed(1, sizeof *p + n + 1);
	p->type = type;
	p->n = n;
	if (n)
		memcpy(p->data, t->data, n);
	if (c->last)
		c->last->next = p;
	else
		c->first = p;
	c->last = p;
	c->n_waiting += n;
	c->source.events |= POLLOUT;
}

bool conn_is_full(const struct conn *c)
{
	return c->n_waiting >= CONN_FULL_BYTES;
}

bool conn_is_any_waiting(const struct super *s)
{
	for (const struct conn *c = s->conns; c; c = c->next)
		if (!c->has_asked || c->exec || c->waits_for || c->waits_ready || c->first ||
			c == s->stop_conn)
			return true;
	return false;
}

void conn_finish(struct conn *c)
{
	c->exec = NULL;
	c->waits_ready = false;
}

void conn_done(struct conn *c, const struct text *answer)
{
	auto_text struct text t = { 0 };

	frame_put_bytes(&t, answer ? answer->data : "", answer ? answer->n : 0);
	conn_send(c, WIRE_DONE, &t);
	conn_finish(c);
}

void conn_fault(struct conn *c, const struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_fault(&t, f);
	conn_send(c, WIRE_FAULT, &t);
	conn_finish(c);
}

static bool is_about_running(const struct msg *m)
{
	return m->type == WIRE_STDIN || m->type == WIRE_SIGNAL || m->type == WIRE_CANCEL ||
		m->type == WIRE_RESIZE || m->type == WIRE_DETACH;
}

static void take_touch(struct super *s, struct conn *c, uint64_t lifetime_ms)
{
	struct fault f;

	if (super_touch(s, lifetime_ms, &f) < 0)
		conn_fault(c, &f);
	else
		conn_done(c, NULL);
}

/* The first message of a connection says what it is for. */
static void take_request(struct conn *c, struct msg *m)
{
	struct super *s = c->s;
	struct frame r = { m->body, m->n };
	struct fault f;

	/* It crossed the answer on its way. */
	if (c->has_asked && is_about_running(m))
		return;
	c->has_asked = true;
	/* Hung up on, a client gives its request to the next supervisor. */
	if (s->ending && m->type != WIRE_STOP && (s->jail_gone || s->stop == WIRE_STOP_DORMANT)) {
		hang_up(c);
		return;
	}
	if (s->ending && m->type != WIRE_STOP) {
		fault_set(&f, FAULT_BUSY, 0, "the session is being stopped");
		conn_fault(c, &f);
		return;
	}
	switch (m->type) {
	case WIRE_EXEC:
		exec_accept(s, c, m);
		break;
	case WIRE_FILES:
		exec_accept_files(s, c, m);
		break;
	case WIRE_CONTEXT_REMOVE:
		context_remove(s, c, m);
		break;
	case WIRE_PING:
		s->session->status.last_used_us = clock_wall_us();
		c->waits_ready = true;
		if (s->ready)
			conn_done(c, NULL);
		break;
	case WIRE_TOUCH:
		take_touch(s, c, frame_get_u64(&r));
		break;
	case WIRE_STOP:
		super_stop(s, frame_get_u32(&r), c);
		break;
	default:
		fault_set(&f, FAULT_FORMAT, 0, "message %u is not a request", m->type);
		conn_fault(c, &f);
	}
}

/* Nobody waits for it here any more, and it goes on. */
static void detach(struct conn *c)
{
	c->exec->conn = NULL;
	exec_refresh_reading(c->exec);
	conn_done(c, NULL);
}

/* What a client may send while its execution lives. */
static void take_more(struct conn *c, struct msg *m)
{
	struct frame r = { m->body, m->n };
	struct exec *e = c->exec;

	if (m->type == WIRE_STDIN) {
		exec_input(e, m->body, m->n);
		return;
	}
	if (m->type == WIRE_DETACH) {
		detach(c);
		return;
	}
	uint32_t v = frame_get_u32(&r);
	if (r.bad)
		return;
	if (m->type == WIRE_CANCEL)
		exec_cancel(e, (int)v);
	else if (m->type == WIRE_RESIZE)
		exec_resize(e, (uint16_t)(v >> 16), (uint16_t)v);
	else if (m->type == WIRE_SIGNAL && v >= 1 && v <= 64 && e->x && !e->is_cell)
		jail_exec_signal(e->x, (int)v, JAIL_TO_GROUP);
}

static void on_conn(void *owner, short revents)
{
	struct conn *c = owner;
	auto_msg struct msg m = { 0 };

	if ((revents & POLLOUT) && !send_waiting(c))
		return;
	if (!(revents & (POLLIN | POLLHUP | POLLERR)))
		return;
	int r = msg_receive(c->fd, MSG_TRUSTED, &m);
	if (r == -EAGAIN)
		return;
	bool waits = c->exec || c->waits_for || c->waits_ready || c == c->s->stop_conn;
	if (r <= 0 || (waits && !is_about_running(&m))) {
		hang_up(c);
		return;
	}
	if (c->exec)
		take_more(c, &m);
	else if (!waits)
		take_request(c, &m);
}

struct conn *conn_new(struct super *s, int fd)
{
	struct conn *c = mem_new(struct conn);

	*c = (struct conn){ .s = s, .fd = fd, .next = s->conns };
	fd_set_nonblock(fd, 1);
	s->conns = c;
	s->n_conns++;
	loop_add(&s->loop, &c->source, fd, POLLIN, on_conn, c);
	return c;
}

void conn_accept(void *owner, short revents)
{
	struct super *s = owner;
	struct ucred peer;
	socklen_t n = sizeof peer;

	(void)revents;
	auto_fd int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	/* The directory is 0700; this is the second lock on the same door. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return;
	if ((peer.uid != geteuid() && peer.uid != 0) || s->n_conns >= CONNS_MAX)
		return;
	conn_new(s, take_fd(&fd));
}
