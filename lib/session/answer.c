/* What a driver says: "VERB TOKEN… N\n" and N bytes. Untrusted. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "session/super.h"

enum { LINE_MAX_BYTES = 512, TOKENS_MAX = 6, LOGS_MAX_BYTES = 64 * 1024 };

/* Appends {"path":…,"mime":…} with the size filled in by the result. */
static void add_artifact(struct exec *e, const char *mime, const char *p, size_t n)
{
	if (n < 2 || p[0] != '/' || n > 4096 || e->artifacts.n > LOGS_MAX_BYTES)
		return;
	json_open(&e->artifacts, '{');
	json_put_name(&e->artifacts, "path", p, n);
	json_put_string(&e->artifacts, "mime", mime);
	artifact_size(e, p, n);
	json_close(&e->artifacts, '}');
}

static void add_log(struct exec *e, const char *level, const char *p, size_t n)
{
	static const char *const levels[] = { "debug", "info", "warning", "error" };

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		if (strcmp(levels[i], level) != 0 || e->logs.n > LOGS_MAX_BYTES)
			continue;
		result_put_log(&e->logs, level, p, n < 8192 ? n : 8192);
	}
}

static void add_lost(struct exec *e, const char *p, size_t n)
{
	if (e->lost.n > LOGS_MAX_BYTES)
		return;
	json_open(&e->lost, '{');
	json_put_name(&e->lost, "name", p, n < 200 ? n : 200);
	json_put_string(&e->lost, "why", "it cannot be kept");
	json_close(&e->lost, '}');
}

static void set_text(struct text *t, const char *p, size_t n)
{
	text_clear(t);
	text_put_bytes(t, p, n < LIMIT_RESULT_TEXT_BYTES ? n : LIMIT_RESULT_TEXT_BYTES);
}

/* One whole message. The last token was the length and is not among the tokens. */
static void take(struct context *c, char **token, int n_tokens, const char *p, size_t n)
{
	const char *verb = token[0];
	struct exec *e = c->current;

	if (!strcmp(verb, "ready")) {
		cell_ready(c);
		return;
	}
	if (!e)
		return;
	if (!strcmp(verb, "done") && n_tokens == 4) {
		if (strtoul(token[1], NULL, 10) == e->cell)
			cell_done(c, token[2], (int)(strtoul(token[3], NULL, 10) & 255));
	} else if (!strcmp(verb, "result") && n_tokens == 2) {
		e->has_value = true;
		set_text(&e->value, p, n);
	} else if (!strcmp(verb, "error_name")) {
		e->has_error = true;
		set_text(&e->error_name, p, n);
	} else if (!strcmp(verb, "error_value")) {
		set_text(&e->error_value, p, n);
	} else if (!strcmp(verb, "traceback")) {
		set_text(&e->traceback, p, n);
	} else if (!strcmp(verb, "artifact") && n_tokens == 2) {
		add_artifact(e, token[1], p, n);
	} else if (!strcmp(verb, "log") && n_tokens == 2) {
		add_log(e, token[1], p, n);
	} else if (!strcmp(verb, "lost")) {
		add_lost(e, p, n);
	}
}

/* Splits a header line in place; -1 when it is none. */
static int split(char *line, char **token, size_t *ret_n)
{
	int n = 0;
	char *save, *end;

	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		if (n == TOKENS_MAX)
			return -1;
		token[n++] = w;
	}
	if (n < 2 || !isdigit((unsigned char)token[n - 1][0]))
		return -1;
	unsigned long v = strtoul(token[n - 1], &end, 10);
	if (*end || v > LIMIT_DRIVER_FRAME_BYTES)
		return -1;
	*ret_n = v;
	return n - 1;
}

int answer_feed(struct context *c, const char *p, size_t n)
{
	size_t at = 0;

	c->n_answer += n;
	if (c->n_answer > 2 * LIMIT_DRIVER_FRAME_BYTES)
		return -1;
	text_put_bytes(&c->in, p, n);
	while (c->phase != CONTEXT_DEAD && at < c->in.n) {
		char line[LINE_MAX_BYTES], *token[TOKENS_MAX];
		size_t left = c->in.n - at, body;
		const char *end = memchr(c->in.data + at, '\n', left);
		if (!end && left < LINE_MAX_BYTES)
			break;
		size_t len = end ? (size_t)(end - (c->in.data + at)) : left;
		if (len >= LINE_MAX_BYTES)
			return -1;
		memcpy(line, c->in.data + at, len);
		line[len] = 0;
		int n_tokens = split(line, token, &body);
		if (n_tokens < 0)
			return -1;
		if (left - len - 1 < body)
			break;
		take(c, token, n_tokens, c->in.data + at + len + 1, body);
		at += len + 1 + body;
	}
	if (c->phase == CONTEXT_DEAD)
		return 0;
	c->in.n -= at;
	memmove(c->in.data, c->in.data + at, c->in.n);
	return 0;
}
