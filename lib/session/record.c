/* The record of an execution: what was asked for and what came of it, kept until collected. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/super.h"

static bool is_secret(const struct exec_request *q, const char *variable)
{
	size_t n = strcspn(variable, "=");

	for (char **s = q->secret; s && *s; s++)
		if (strlen(*s) == n && !strncmp(*s, variable, n))
			return true;
	return false;
}

static void put_env(const struct exec_request *q, struct text *t)
{
	json_key(t, "env");
	json_open(t, '[');
	for (char **v = q->env; *v; v++) {
		if (is_secret(q, *v))
			json_bytes(t, *v, strcspn(*v, "="));
		else
			json_string(t, *v);
	}
	json_close(t, ']');
}

static void put_request(const struct exec *e, struct text *t)
{
	const struct exec_request *q = &e->w.r;

	json_key(t, "request");
	json_open(t, '{');
	if (q->argv) {
		json_key(t, "command");
		json_open(t, '[');
		for (char **a = q->argv; *a; a++)
			json_string(t, *a);
		json_close(t, ']');
	} else {
		json_put_name(t, "code", q->code, q->n_code);
		json_put_string(t, "language", q->language);
		json_put_string(t, "context", q->context[0] ? q->context : "main");
		json_put_bool(t, "fresh", q->flags & EXEC_FRESH);
	}
	json_put_string(t, "workdir", q->workdir);
	put_env(q, t);
	json_put_int(t, "timeout_ms", (int64_t)e->timeout_ms);
	json_put_int(t, "output_keep_bytes", (int64_t)e->keep_bytes);
	json_key(t, "request_id");
	json_string(t, q->request_id[0] ? q->request_id : NULL);
	json_put_bool(t, "stdin", q->flags & EXEC_STDIN);
	json_close(t, '}');
}

void record_write(struct exec *e, const char *result, size_t n)
{
	auto_text struct text t = { 0 };
	char at[CLOCK_TEXT_MAX];
	struct fault f;

	if (e->dir < 0)
		return;
	json_open(&t, '{');
	json_put_string(&t, "schema", "sbx.record/1");
	json_put_string(&t, "created_at", clock_format(e->created_us, at));
	put_request(e, &t);
	json_put_string(&t, "stdout_sha256", e->digests[0]);
	json_put_string(&t, "stderr_sha256", e->digests[1]);
	json_key(&t, "result");
	json_raw(&t, result, n);
	json_close(&t, '}');
	text_put_char(&t, '\n');
	if (store_spare_replace(&e->s->spares, e->dir, "record.json", t.data, t.n, &f) < 0) {
		struct text *log = super_event(e->s, EVENT_LOG, e);
		json_put_string(log, "level", "error");
		json_put_string(log, "message", f.text);
		super_journal(e->s, e);
	}
}
