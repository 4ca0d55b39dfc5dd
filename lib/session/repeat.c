/*
 * Request ids: the same id gives the first result again and runs nothing.
 *
 * exec/ID/reply holds the answer as it went to the client, with both forms of JSON, behind
 * whether it is final; it is written for executions with a request id only.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/super.h"

/* [bytes] Output that is sent again to a client in human form, a stream. */
enum { REPEAT_OUTPUT_BYTES = 64 * 1024 * 1024, REPEAT_CHUNK_BYTES = 64 * 1024 };

struct waiter {
	struct waiter *next;
	struct conn *conn;
	uint32_t flags;
};

static void add_strings(struct digest *d, char *const *list)
{
	for (char *const *s = list; s && *s; s++)
		digest_add(d, *s, strlen(*s) + 1);
	digest_add(d, "", 1);
}

/* What makes two requests the same: all that decides what runs, nothing of how it is shown. */
static void digest_body(const struct exec_request *q, char ret[DIGEST_TEXT])
{
	struct digest *d = digest_new();

	add_strings(d, q->argv);
	digest_add(d, q->code, q->n_code);
	digest_add(d, q->language, strlen(q->language) + 1);
	digest_add(d, q->context, strlen(q->context) + 1);
	digest_add(d, q->workdir, strlen(q->workdir) + 1);
	add_strings(d, q->env);
	digest_end(d, ret);
}

static void send_output(struct conn *c, int dir, int stream, uint64_t total, uint64_t half)
{
	struct spool s = { .fd = -1, .half = half, .total = total };
	uint64_t at = 0;

	auto_fd int fd = file_open_read(dir, stream ? "stderr" : "stdout");
	s.fd = fd;
	while (fd >= 0 && at < total && at < REPEAT_OUTPUT_BYTES) {
		auto_text struct text chunk = { 0 }, t = { 0 };
		size_t n = spool_read(&s, at, REPEAT_CHUNK_BYTES, &chunk);
		if (!n && at < total - half) {
			at = total - half; /* over the gap */
			continue;
		}
		if (!n)
			return;
		frame_put_u32(&t, (uint32_t)stream + 1);
		frame_put_bytes(&t, chunk.data, n);
		conn_send(c, WIRE_OUTPUT, &t);
		at += n;
	}
}

/* Sends an answer that was given before, in the form that this client asked for. */
static void send_again(struct conn *c, uint32_t flags, int dir, struct frame r)
{
	auto_text struct text t = { 0 };
	uint64_t total[2], half[2];
	size_t n;

	for (int i = 0; i < 2; i++) {
		total[i] = frame_get_u64(&r);
		half[i] = frame_get_u64(&r);
		if (flags & EXEC_WANT_OUTPUT)
			send_output(c, dir, i, total[i], half[i]);
	}
	frame_put_u32(&t, frame_get_u32(&r));
	frame_put_string(&t, frame_get_string(&r));
	for (int i = 0; i < 4; i++) {
		const void *p = frame_get_bytes(&r, &n);
		bool wanted = i < 2 || (i == 2 && (flags & EXEC_WANT_JSON)) ||
			(i == 3 && (flags & EXEC_WANT_STATUS));
		frame_put_bytes(&t, p, wanted ? n : 0);
	}
	conn_send(c, WIRE_RESULT, &t);
	conn_finish(c);
}

static struct exec *running(struct super *s, const char *id)
{
	for (struct exec *e = s->execs; e; e = e->next)
		if (!strcmp(e->id, id) && e->phase != PHASE_ENDED)
			return e;
	return NULL;
}

static void wait_for(struct exec *e, struct conn *c, uint32_t flags)
{
	struct waiter *w = mem_new(struct waiter);

	*w = (struct waiter){ .next = e->waiters, .conn = c, .flags = flags };
	e->waiters = w;
	c->waits_for = e;
}

/* An answer is final unless its execution was cancelled or lost. */
static bool is_final(const struct exec *e)
{
	return e->status != EXEC_CANCELLED && e->status != EXEC_LOST;
}

/* What was kept, behind whether it is final; false when there is nothing to give again. */
static bool read_reply(int dir, struct text *room, struct frame *ret)
{
	struct fault f;

	if (file_read(dir, "reply", LIMIT_STATE_BYTES, room, &f) < 0)
		return false;
	*ret = (struct frame){ (unsigned char *)room->data, room->n };
	return frame_get_u32(ret) == 1;
}

bool repeat_answer(struct super *s, struct conn *c, struct wire_exec *w)
{
	char id[ID_TEXT], body[DIGEST_TEXT], before[DIGEST_TEXT];
	auto_text struct text room = { 0 };
	struct frame reply;
	auto_fd int dir = -1;
	struct fault f;

	digest_body(&w->r, body);
	int r = store_request_find(s->session, w->r.request_id, id, before, &f);
	if (r == 0)
		return false;
	if (r > 0 && strcmp(body, before) != 0)
		r = fault_set(&f, FAULT_USAGE, 0, "the request id '%.80s' was used for another request",
			w->r.request_id);
	if (r < 0) {
		conn_fault(c, &f);
		return true;
	}
	struct exec *e = running(s, id);
	if (e) {
		wait_for(e, c, w->r.flags);
		return true;
	}
	if (store_exec_open(s->session, id, &dir, &f) < 0 || !read_reply(dir, &room, &reply)) {
		w->r.flags |= EXEC_AGAIN;
		return false;
	}
	send_again(c, w->r.flags, dir, reply);
	return true;
}

void repeat_note(struct exec *e)
{
	struct fault f;

	digest_body(&e->w.r, e->request_body);
	if (store_request_note(e->s->session, e->w.r.request_id, e->id, e->request_body, &f) < 0)
		exec_warn(e, "request_id", "it could not be noted: %s", f.text);
	if (e->w.r.flags & EXEC_AGAIN)
		exec_warn(e, "repeated", "the first execution under this request id was cancelled or "
			"lost; this one ran again");
}

void repeat_settle(struct exec *e, const struct text *answer)
{
	auto_text struct text t = { 0 };
	struct fault f;

	if (!e->w.r.request_id[0])
		return;
	frame_put_u32(&t, is_final(e));
	size_t head = t.n;
	for (int i = 0; i < 2; i++) {
		frame_put_u64(&t, e->out[i].spool.total);
		frame_put_u64(&t, e->out[i].spool.half);
	}
	text_put_bytes(&t, answer->data, answer->n);
	if (e->dir >= 0 && file_replace(e->dir, "reply", t.data, t.n, &f) < 0)
		exec_warn(e, "request_id", "the answer could not be kept: %s", f.text);
	for (struct waiter *w = e->waiters, *next; w; w = next) {
		next = w->next;
		w->conn->waits_for = NULL;
		send_again(w->conn, w->flags, e->dir,
			(struct frame){ (unsigned char *)t.data + head, t.n - head });
		free(w);
	}
	e->waiters = NULL;
}

void repeat_conn_gone(struct conn *c)
{
	struct exec *e = c->waits_for;

	if (!e)
		return;
	for (struct waiter **at = &e->waiters; *at; at = &(*at)->next) {
		if ((*at)->conn != c)
			continue;
		struct waiter *w = *at;
		*at = w->next;
		free(w);
		break;
	}
	c->waits_for = NULL;
	if (!e->conn && !e->waiters)
		exec_client_gone(e);
}

void repeat_send_away(struct exec *e)
{
	for (struct waiter *w = e->waiters, *next; w; w = next) {
		next = w->next;
		w->conn->waits_for = NULL;
		conn_free(w->conn);
		free(w);
	}
	e->waiters = NULL;
}
