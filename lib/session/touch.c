/* Counting as use: what puts off the end of a session. */
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/json.h"
#include "session/client.h"
#include "session/session.h"
#include "session/start.h"
#include "session/wire.h"

/* A supervisor may end while it is asked; whoever comes then finds the session dormant. */
enum { TRIES = 5 };

void start_used(struct store_session *s, int64_t now_us)
{
	struct session_status *st = &s->status;

	if (st->state == STATE_CREATING && s->spec.lifetime_ms)
		st->expires_us = now_us + (int64_t)s->spec.lifetime_ms * 1000;
	if (st->state == STATE_CREATING)
		st->state = STATE_READY;
	st->last_used_us = now_us;
}

int start_lifetime(struct store_session *s, int64_t now_us, uint64_t lifetime_ms,
	struct journal *j, struct fault *f)
{
	char buf[CLOCK_TEXT_MAX];

	s->status.expires_us = lifetime_ms ? now_us + (int64_t)lifetime_ms * 1000 : 0;
	struct text *t = event_begin(j, EVENT_SESSION_LIFETIME, s->spec.id, NULL);
	json_put_string(t, "expires_at",
		lifetime_ms ? clock_format(s->status.expires_us, buf) : NULL);
	return event_end(j, f);
}

/* Nobody runs it, and the lock keeps it so. */
static int touch_dormant(struct store_session *s, uint64_t lifetime_ms, struct fault *f)
{
	int64_t now_us = clock_wall_us();
	auto_fd int dir = -1;
	struct journal j = { 0 };
	int r = start_check(s, false, f);

	if (r < 0)
		return r;
	start_used(s, now_us);
	if (lifetime_ms != SESSION_LIFETIME_KEEP) {
		r = store_session_events(s, &dir, f);
		if (!r)
			r = journal_open(dir, &j, f);
		if (r < 0)
			return r;
		r = start_lifetime(s, now_us, lifetime_ms, &j, f);
		journal_close(&j);
	}
	return r < 0 ? r : store_status_write(s, f);
}

static int touch_live(int conn, uint64_t lifetime_ms, struct fault *f)
{
	auto_text struct text t = { 0 };
	struct session_reply reply = { 0 };

	frame_put_u64(&t, lifetime_ms);
	/* A hang-up is what the reply says, too. */
	msg_send(conn, WIRE_TOUCH, t.data, t.n, NULL, 0);
	int r = session_reply(conn, &reply, f);
	session_reply_done(&reply);
	return r < 0 ? r : 0;
}

int session_touch(struct store_session *s, uint64_t lifetime_ms, struct fault *f)
{
	for (int i = 0;; i++) {
		auto_fd int conn = -1;
		int r = session_connect_live(s, &conn, f);
		if (r > 0)
			return touch_dormant(s, lifetime_ms, f);
		if (!r)
			r = touch_live(conn, lifetime_ms, f);
		if (r >= 0 || !session_is_gone(f) || i == TRIES)
			return r;
	}
}
