/* The client's side of a connection: requests out, replies in. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/limits.h"
#include "session/session.h"
#include "session/wire.h"

/* Whatever the call said, this is the errno of it: no other failure of a connection has it. */
static int gone(struct fault *f)
{
	fault_set(f, FAULT_SYSTEM, 0, "the session's supervisor is gone");
	f->sysno = ECONNABORTED;
	return -FAULT_SYSTEM;
}

bool session_is_gone(const struct fault *f)
{
	return f->kind == FAULT_SYSTEM && f->sysno == ECONNABORTED;
}

/* It has hung up on us; what it said before is still there to be read. */
static int hung_up(int conn, struct fault *f)
{
	auto_msg struct msg m = { 0 };

	if (msg_receive(conn, MSG_TRUSTED, &m) <= 0 || m.type != WIRE_FAULT)
		return gone(f);
	struct frame r = { m.body, m.n };
	*f = frame_get_fault(&r);
	return -(int)f->kind;
}

static int post(int conn, enum wire_type type, const struct text *t, struct fault *f)
{
	if (t && t->n > LIMIT_REQUEST_BYTES)
		return fault_set(f, FAULT_LIMIT, 0, "the request is longer than %llu MiB",
			LIMIT_REQUEST_BYTES / MIB);
	int r = msg_send(conn, type, t ? t->data : NULL, t ? t->n : 0, NULL, 0);
	return r < 0 ? hung_up(conn, f) : 0;
}

int session_request_exec(int conn, const struct exec_request *r, struct fault *f)
{
	auto_text struct text t = { 0 };

	wire_put_exec(&t, r);
	return post(conn, WIRE_EXEC, &t, f);
}

int session_request_files(int conn, enum files_kind kind, char **argv, struct fault *f)
{
	auto_text struct text t = { 0 };

	wire_put_files(&t, kind, argv);
	return post(conn, WIRE_FILES, &t, f);
}

int session_request_probe(int conn, struct fault *f)
{
	char name[] = "probe", *argv[] = { name, NULL };

	return session_request_files(conn, FILES_PROBE, argv, f);
}

int session_request_context_remove(int conn, const char *language, const char *name, struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_string(&t, language);
	frame_put_string(&t, name);
	return post(conn, WIRE_CONTEXT_REMOVE, &t, f);
}

int session_wait_ready(int conn, struct fault *f)
{
	struct session_reply reply = { 0 };
	int r = post(conn, WIRE_PING, NULL, f);

	if (!r)
		r = session_reply(conn, &reply, f);
	session_reply_done(&reply);
	return r < 0 ? r : 0;
}

int session_stdin(int conn, const void *p, size_t n, struct fault *f)
{
	int r = msg_send(conn, WIRE_STDIN, p, n, NULL, 0);

	return r < 0 ? gone(f) : 0;
}

int session_cancel(int conn, int signal, struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, (uint32_t)signal);
	return post(conn, WIRE_CANCEL, &t, f);
}

int session_detach(int conn, struct fault *f)
{
	return post(conn, WIRE_DETACH, NULL, f);
}

int session_signal(int conn, int signal, struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, (uint32_t)signal);
	return post(conn, WIRE_SIGNAL, &t, f);
}

int session_resize(int conn, uint16_t rows, uint16_t columns, struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, (uint32_t)rows << 16 | columns);
	return post(conn, WIRE_RESIZE, &t, f);
}

int session_exec(struct store_session *s, const struct exec_request *q, int *conn, struct fault *f)
{
	auto_fd int kept = take_fd(conn);
	int r = kept >= 0 ? session_request_exec(kept, q, f) : gone(f);

	if (r < 0 && session_is_gone(f)) {
		drop_fd(&kept);
		r = session_connect(s, &kept, f);
		if (r >= 0)
			r = session_request_exec(kept, q, f);
	}
	if (r >= 0)
		*conn = take_fd(&kept);
	return r;
}

static int open_files(struct store_session *s, enum files_kind kind, char **argv, int *ret_conn,
	struct fault *f)
{
	struct session_reply reply = { 0 };
	auto_fd int conn = -1;
	int r = session_connect(s, &conn, f);

	if (!r)
		r = session_request_files(conn, kind, argv, f);
	if (!r)
		r = session_reply(conn, &reply, f);
	bool accepted = r > 0 && reply.kind == SESSION_REPLY_ACCEPTED;
	session_reply_done(&reply);
	if (r < 0)
		return r;
	if (!accepted)
		return fault_set(f, FAULT_BUG, 0, "the supervisor sent an unexpected reply");
	*ret_conn = take_fd(&conn);
	return 0;
}

int session_files(struct store_session *s, enum files_kind kind, char **argv, int *ret_conn,
	struct fault *f)
{
	int r = -1;

	for (int tries = 0; tries <= SESSION_TRIES; tries++) {
		r = open_files(s, kind, argv, ret_conn, f);
		if (r >= 0 || !session_is_gone(f))
			break;
	}
	return r;
}

void session_reply_done(struct session_reply *r)
{
	text_done(&r->body);
	*r = (struct session_reply){ 0 };
}

static void take_result(struct frame *r, struct session_reply *ret)
{
	ret->exit_code = frame_get_u32(r);
	ret->message = frame_get_string(r);
	ret->value = frame_get_bytes(r, &ret->n_value);
	ret->traceback = frame_get_bytes(r, &ret->n_traceback);
	ret->json = frame_get_bytes(r, &ret->n_json);
	ret->status_json = frame_get_bytes(r, &ret->n_status);
}

int session_reply(int conn, struct session_reply *ret, struct fault *f)
{
	static const enum session_reply_kind kinds[] = {
		[WIRE_ACCEPTED - WIRE_ACCEPTED] = SESSION_REPLY_ACCEPTED,
		[WIRE_OUTPUT - WIRE_ACCEPTED] = SESSION_REPLY_OUTPUT,
		[WIRE_STDIN_MORE - WIRE_ACCEPTED] = SESSION_REPLY_STDIN,
		[WIRE_EVENT - WIRE_ACCEPTED] = SESSION_REPLY_EVENT,
		[WIRE_RESULT - WIRE_ACCEPTED] = SESSION_REPLY_RESULT,
		[WIRE_DONE - WIRE_ACCEPTED] = SESSION_REPLY_DONE,
		[WIRE_FAULT - WIRE_ACCEPTED] = SESSION_REPLY_FAULT,
	};
	struct msg m = { .room = ret->body };

	int got = msg_receive(conn, MSG_TRUSTED, &m);
	*ret = (struct session_reply){ .body = m.room };
	if (got <= 0)
		return gone(f);
	struct frame r = { m.body, m.n };
	if (m.type < WIRE_ACCEPTED || m.type > WIRE_FAULT)
		return fault_set(f, FAULT_BUG, 0, "the supervisor sent message %u", m.type);
	ret->kind = kinds[m.type - WIRE_ACCEPTED];
	if (ret->kind == SESSION_REPLY_FAULT) {
		*f = frame_get_fault(&r);
		return -(int)f->kind;
	}
	if (ret->kind == SESSION_REPLY_RESULT)
		take_result(&r, ret);
	if (ret->kind == SESSION_REPLY_ACCEPTED)
		strncpy(ret->exec_id, frame_get_string(&r), sizeof ret->exec_id - 1);
	if (ret->kind == SESSION_REPLY_OUTPUT)
		ret->stream = frame_get_u32(&r);
	if (ret->kind == SESSION_REPLY_OUTPUT || ret->kind == SESSION_REPLY_EVENT ||
		ret->kind == SESSION_REPLY_DONE)
		ret->data = frame_get_bytes(&r, &ret->n);
	if (r.bad)
		return fault_set(f, FAULT_BUG, 0, "the supervisor sent a damaged message");
	return 1;
}
