/* sbx clean: empties the temporary directories of a session. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/number.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "session/client.h"
#include "session/session.h"
#include "session/spec.h"
#include "cmds.h"

struct clean_args {
	bool json, quiet;
};

#define S struct clean_args
static const struct opt opts[] = {
	OPT_ROW(FLAG, S, json, bool, 0, "json", "write one JSON object", .excl = 1),
	OPT_ROW(FLAG, S, quiet, bool, 'q', "quiet", "do not say what was freed", .excl = 1),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ 0 },
};

struct cleaned {
	uint64_t n_bytes, n_removed, n_left;
	struct text first_left, why;
};

static int take_items(struct stream_reader *reader, struct cleaned *to, struct fault *f)
{
	struct stream_item it;
	int r;

	while ((r = stream_next(reader, &it, f)) > 0) {
		if (it.entry.kind == STREAM_FAULT) {
			*f = it.fault;
			return -(int)f->kind;
		}
		if (it.entry.kind == STREAM_FREED) {
			to->n_bytes = it.entry.n;
			to->n_removed = it.count;
		}
		if (it.entry.kind == STREAM_SKIPPED && !to->n_left++) {
			text_put(&to->first_left, it.entry.path);
			text_put(&to->why, it.text);
		}
	}
	return r;
}

static int receive(int conn, struct cleaned *to, struct fault *f)
{
	struct stream_reader reader = { 0 };
	struct session_reply reply = { 0 };
	int r;

	while ((r = session_reply(conn, &reply, f)) > 0 && reply.kind != SESSION_REPLY_DONE) {
		if (reply.kind != SESSION_REPLY_OUTPUT || reply.stream != 1)
			continue;
		stream_feed(&reader, reply.data, reply.n);
		r = take_items(&reader, to, f);
		if (r < 0)
			break;
	}
	session_reply_done(&reply);
	stream_reader_done(&reader);
	return r < 0 ? r : 0;
}

static void print(const struct clean_args *a, const char *id, const struct cleaned *c)
{
	auto_text struct text t = { 0 };
	char size[NUMBER_TEXT_MAX];

	if (!a->json) {
		if (!a->quiet)
			printf("freed %s\n", number_format_size(c->n_bytes, size));
		return;
	}
	json_open(&t, '{');
	json_put_string(&t, "schema", "sbx.clean/1");
	json_put_string(&t, "session_id", id);
	json_put_int(&t, "freed_bytes", (int64_t)c->n_bytes);
	json_put_int(&t, "removed", (int64_t)c->n_removed);
	json_put_int(&t, "left", (int64_t)c->n_left);
	json_close(&t, '}');
	puts(text_string(&t));
}

/* Some of it is still there: said, and not a success. */
static int report(const struct cleaned *c)
{
	auto_text struct text path = { 0 };

	if (!c->n_left)
		return 0;
	utf8_put_visible(&path, text_string(&c->first_left), c->first_left.n);
	fprintf(stderr, SBX_PROGRAM " clean: left %llu, the first was %s: %s\n",
		(unsigned long long)c->n_left, text_string(&path), text_string(&c->why));
	return fault_exit_code(FAULT_SYSTEM);
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	char *paths[4];
	struct cleaned c = { 0 };
	auto_fd int conn = -1;

	spec_temp_dirs(&env->session.spec, paths);
	int r = session_connect(&env->session, &conn, f);

	if (!r)
		r = session_request_files(conn, FILES_EMPTY, paths, f);
	if (!r)
		r = receive(conn, &c, f);
	if (!r) {
		print(p, env->session.spec.id, &c);
		r = report(&c);
	}
	text_done(&c.first_left);
	text_done(&c.why);
	return r;
}

const struct cmd cmd_clean = {
	.name = "clean", .summary = "Empty the temporary directories of a session",
	.opts = opts, .operands = operands, .args_size = sizeof(struct clean_args),
	.needs = NEED_SESSION, .run = run,
};
