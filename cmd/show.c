/* sbx show: one session, without waking it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/utf8.h"
#include "session/spec.h"
#include "cmds.h"
#include "describe.h"

struct show_args {
	bool json, instructions;
};

#define S struct show_args
static const struct opt opts[] = {
	OPT_ROW(FLAG, S, json, bool, 0, "json", "write one JSON object", .excl = 1),
	OPT_ROW(FLAG, S, instructions, bool, 0, "instructions", "write only the text for a model",
		.excl = 1),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ 0 },
};

/* Some values came from a file of the caller's: no control characters reach the terminal. */
static void put_line(struct text *t, const char *key, const char *value)
{
	text_format(t, "%-12s ", key);
	utf8_put_visible(t, value, strlen(value));
	text_put_char(t, '\n');
}

static void put_time(struct text *t, const char *key, int64_t us)
{
	char buf[CLOCK_TEXT_MAX];

	put_line(t, key, us ? clock_format(us, buf) : "never");
}

static void put_limit(struct text *t, const struct store_session *s, enum limit_kind i)
{
	auto_text struct text v = { 0 };
	uint64_t n = s->spec.limits[i];
	const char *by = s->status.enforced_by[i];
	char buf[NUMBER_TEXT_MAX];

	if (!n)
		text_put(&v, "none");
	else if (i == LIMIT_CPU)
		text_put(&v, number_format_cpu(n, buf));
	else if (i == LIMIT_MEMORY || i == LIMIT_DISK)
		text_put(&v, number_format_size(n, buf));
	else
		text_format(&v, "%" PRIu64, n);
	if (n)
		text_format(&v, ", enforced by %s", by[0] ? by : "none");
	put_line(t, limit_names[i], v.data);
}

static void put_contexts(struct text *t, const struct store_session *s, bool live)
{
	for (uint32_t i = 0; i < s->status.n_contexts; i++) {
		const struct context_state *c = &s->status.contexts[i];
		auto_text struct text v = { 0 };
		text_format(&v, "%s, %s, epoch %u, %s", c->name, c->language, c->epoch,
			live && c->alive ? "alive" : "not running");
		put_line(t, "context", v.data);
	}
}

static void put_times(struct text *t, const struct store_session *s)
{
	const struct {
		const char *key;
		uint64_t ms;
	} spans[] = {
		{ "exec limit", s->spec.exec_timeout_ms },
		{ "dormant", s->spec.dormant_after_ms },
		{ "idle limit", s->spec.idle_timeout_ms },
		{ "lifetime", s->spec.lifetime_ms },
	};
	char buf[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
		put_line(t, spans[i].key, spans[i].ms ? number_format_time(spans[i].ms, buf) : "none");
	put_time(t, "created", s->spec.created_us);
	put_time(t, "last used", s->status.last_used_us);
	put_time(t, "expires", s->status.expires_us);
}

static void put_text(struct text *t, const struct store_session *s)
{
	const char *status = describe_status(s);

	put_line(t, "id", s->spec.id);
	put_line(t, "name", s->spec.name[0] ? s->spec.name : "-");
	put_line(t, "status", status);
	put_line(t, "class", session_class_names[s->spec.class]);
	put_line(t, "runtime", session_spec_runtime(&s->spec));
	put_line(t, "interpreter", s->spec.interpreter[0] ? s->spec.interpreter : "-");
	put_line(t, "isolation", session_isolation_names[s->spec.isolation]);
	put_line(t, "workdir", s->spec.isolation == ISOLATION_WEAK ? "fs/up/workspace of its directory" :
		"/workspace");
	for (unsigned i = 0; i < LIMIT_KINDS; i++)
		put_limit(t, s, (enum limit_kind)i);
	put_line(t, "at 80 %", session_threshold_names[s->spec.on_threshold]);
	put_times(t, s);
	put_contexts(t, s, strcmp(status, "live") == 0);
	for (char **tool = s->spec.tools; tool && *tool; tool++) {
		auto_text struct text v = { 0 };
		text_format(&v, "%s, recorded, not enforced", *tool);
		put_line(t, "tool", v.data);
	}
	if (s->spec.disk == DISK_TMPFS)
		put_line(t, "warning", DESCRIBE_TMPFS);
	if (describe_weak(s))
		put_line(t, "warning", describe_weak(s));
	if (s->spec.foreign_ids)
		put_line(t, "warning", DESCRIBE_FOREIGN_IDS);
	put_line(t, "jail", s->status.jail[0] ? s->status.jail : "-");
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct show_args *a = p;
	auto_text struct text t = { 0 };

	(void)f;
	if (a->json) {
		describe_session(&env->session, true, &t);
		text_put_char(&t, '\n');
	} else if (a->instructions) {
		spec_instructions(&env->session.spec, &t);
		text_put_char(&t, '\n');
	} else {
		put_text(&t, &env->session);
	}
	fputs(text_string(&t), stdout);
	return 0;
}

const struct cmd cmd_show = {
	.name = "show", .summary = "Show one session, without waking it",
	.opts = opts, .operands = operands, .args_size = sizeof(struct show_args),
	.needs = NEED_SESSION, .run = run,
};
