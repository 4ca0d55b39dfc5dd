/* What a supervisor that was killed could not say any more: each execution that it had begun gets
 * its one last event, from its record where that was written, else "lost" with a record. The
 * journal is read for it, after a kill only. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/super.h"

struct begun {
	char id[ID_TEXT];
	char at[CLOCK_TEXT_MAX];
};

struct unended {
	struct begun *v;
	size_t n, room;
};

static size_t find(const struct unended *u, const char *id)
{
	size_t i = u->n;

	/* The latest are looked for most. */
	while (i && strcmp(u->v[i - 1].id, id) != 0)
		i--;
	return i;
}

static void begin(struct unended *u, const char *id, const char *at)
{
	if (u->n == u->room) {
		u->room = 2 * u->room + 8;
		u->v = mem_resized(u->v, u->room, sizeof *u->v);
	}
	struct begun *b = &u->v[u->n++];
	snprintf(b->id, sizeof b->id, "%s", id);
	snprintf(b->at, sizeof b->at, "%s", at);
}

static bool get(const char *line, size_t n, const char *key, struct text *t)
{
	text_clear(t);
	return event_get(line, n, key, t) && t->n;
}

static void take_line(struct unended *u, const char *line, size_t n, struct text room[3])
{
	enum event_type type;
	uint64_t seq;

	if (!event_peek(line, n, &seq, &type) || type != EVENT_EXECUTION_UPDATE ||
		!get(line, n, "execution_id", &room[0]) || !get(line, n, "status", &room[1]) ||
		!get(line, n, "timestamp", &room[2]))
		return;
	const char *id = text_string(&room[0]), *status = text_string(&room[1]);
	if (!id_is_valid(id) || !strcmp(status, "output"))
		return;
	bool is_begin = !strcmp(status, "queued") || !strcmp(status, "running");
	size_t at = find(u, id);
	if (is_begin && !at)
		begin(u, id, text_string(&room[2]));
	else if (!is_begin && at)
		u->v[at - 1] = u->v[--u->n];
}

static void read_journal(struct super *s, struct unended *u)
{
	struct text room[3] = { 0 };
	struct follow *fo;
	struct fault f;
	const char *line;
	size_t n;

	if (follow_open(s->events_dir, 0, false, &fo, &f) < 0)
		return;
	while (follow_next(fo, &line, &n, &f) > 0)
		take_line(u, line, n, room);
	follow_free(fo);
	for (size_t i = 0; i < array_size(room); i++)
		text_done(&room[i]);
}

static void put_lost(const struct super *s, const struct begun *b, struct text *t)
{
	json_open(t, '{');
	json_put_string(t, "schema", "sbx.record/1");
	json_put_string(t, "created_at", b->at);
	json_key(t, "request");
	json_string(t, NULL);
	json_key(t, "result");
	json_open(t, '{');
	json_put_string(t, "schema", "sbx.result/1");
	json_put_string(t, "session_id", s->session->spec.id);
	json_put_string(t, "execution_id", b->id);
	json_put_string(t, "status", exec_status_names[EXEC_LOST]);
	json_close(t, '}');
	json_close(t, '}');
	text_put_char(t, '\n');
}

/* Its status: what its record says; where there is none, one is written. */
static void settle(struct super *s, const struct begun *b, struct text *ret)
{
	auto_text struct text record = { 0 }, result = { 0 };
	auto_fd int dir = -1;
	struct fault f;

	text_clear(ret);
	text_put(ret, exec_status_names[EXEC_LOST]);
	if (store_exec_open(s->session, b->id, &dir, &f) < 0)
		return;
	if (file_read(dir, "record.json", EVENT_LINE_BYTES, &record, &f) < 0) {
		put_lost(s, b, &record);
		file_replace(dir, "record.json", record.data, record.n, &f);
		return;
	}
	if (get(record.data, record.n, "result", &result) && !get(result.data, result.n, "status", ret))
		text_put(ret, exec_status_names[EXEC_LOST]);
}

void mend_executions(struct super *s)
{
	auto_text struct text status = { 0 };
	struct unended u = { 0 };

	read_journal(s, &u);
	for (size_t i = 0; i < u.n; i++) {
		settle(s, &u.v[i], &status);
		struct text *t = event_begin(&s->journal, EVENT_EXECUTION_UPDATE, s->session->spec.id,
			u.v[i].id);
		json_put_string(t, "status", text_string(&status));
		json_put_string(t, "reason", "the session's supervisor was killed");
		super_journal(s, NULL);
	}
	free(u.v);
}
