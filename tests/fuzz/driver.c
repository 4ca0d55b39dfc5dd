/* What an interpreter's driver sends; the cell's own code can send it, too. */
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "fmt/fmt.h"
#include "fuzz.h"
#include "session/super.h"

/* Instead of those of cell.c and artifact.c, which need a jail. */
void __wrap_artifact_size(struct exec *e, const char *p, size_t n);
void __wrap_cell_ready(struct context *c);
void __wrap_cell_done(struct context *c, const char *status, int code);

static struct exec *starting;
static bool dies; /* the interpreter, in its first cell */

void __wrap_artifact_size(struct exec *e, const char *p, size_t n)
{
	fuzz_check(p[0] == '/');
	json_put_int(&e->artifacts, "bytes", (int64_t)n);
}

void __wrap_cell_ready(struct context *c)
{
	if (c->phase != CONTEXT_STARTING)
		return;
	c->phase = CONTEXT_BUSY;
	c->current = starting;
}

void __wrap_cell_done(struct context *c, const char *status, int code)
{
	fuzz_check(c->current && code >= 0 && code <= 255);
	c->current->has_answer = true;
	c->current->exit_code = code + (int)strlen(status);
	c->current = NULL;
	c->phase = CONTEXT_IDLE;
	if (dies) {
		text_done(&c->in);
		c->phase = CONTEXT_DEAD;
	}
}

/* It stands in a list of a result. */
static void check_items(const struct text *items)
{
	auto_text struct text t = { 0 };
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	text_format(&t, "[%s]", text_string(items));
	fuzz_check(fmt_parse_json("f", t.data, t.n, &doc, &f) == 0);
}

static void check(const struct exec *e)
{
	const struct text *const texts[] = { &e->value, &e->error_name, &e->error_value, &e->traceback };

	for (size_t i = 0; i < 4; i++)
		fuzz_check(texts[i]->n <= LIMIT_RESULT_TEXT_BYTES);
	check_items(&e->artifacts);
	check_items(&e->lost);
	check_items(&e->logs);
}

/* Feeds all in pieces of so many bytes; false when it was refused. */
static bool feed(struct exec *e, const uint8_t *p, size_t n, size_t piece)
{
	static struct super s = { .root_fd = -1 };
	struct context *c = &s.contexts[0];
	int r = 0;

	*e = (struct exec){ .s = &s, .cell = 1 };
	*c = (struct context){ .s = &s, .phase = CONTEXT_STARTING, .command_fd = -1, .answer_fd = -1,
		.out_fd = { -1, -1 } };
	starting = e;
	while (n && r == 0 && c->phase != CONTEXT_DEAD) {
		size_t now = n < piece ? n : piece;
		auto_free char *copy = mem_bytes(p, now);
		r = answer_feed(c, copy, now);
		p += now;
		n -= now;
	}
	text_done(&c->in);
	return r == 0;
}

static void drop(struct exec *e)
{
	struct text *const texts[] = { &e->value, &e->error_name, &e->error_value, &e->traceback,
		&e->artifacts, &e->lost, &e->logs };

	for (size_t i = 0; i < array_size(texts); i++)
		text_done(texts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct exec whole, parts;
	struct fuzz_rest z = { p, n };
	uint8_t how = fuzz_take_u8(&z);

	dies = how & 1;
	bool taken = feed(&whole, z.p, z.n, SIZE_MAX);
	check(&whole);
	/* How the bytes arrive makes no difference. */
	fuzz_check(feed(&parts, z.p, z.n, 1 + (how >> 1)) == taken);
	fuzz_check(whole.has_answer == parts.has_answer && whole.exit_code == parts.exit_code);
	fuzz_check_same(&whole.value, &parts.value);
	fuzz_check_same(&whole.traceback, &parts.traceback);
	fuzz_check_same(&whole.artifacts, &parts.artifacts);
	fuzz_check(whole.logs.n == parts.logs.n); /* there are times in it */
	drop(&whole);
	drop(&parts);
	return 0;
}
