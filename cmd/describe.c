#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "session/spec.h"
#include "describe.h"

static void put_when(struct text *t, const char *key, int64_t wall_us)
{
	char buf[CLOCK_TEXT_MAX];

	json_put_string(t, key, wall_us ? clock_format(wall_us, buf) : NULL);
}

static void put_limits(struct text *t, const struct store_session *s)
{
	char buf[NUMBER_TEXT_MAX];

	json_key(t, "limits");
	json_open(t, '{');
	for (size_t i = 0; i < LIMIT_KINDS; i++) {
		uint64_t v = s->spec.limits[i];
		bool bytes = i == LIMIT_MEMORY || i == LIMIT_DISK;
		json_key(t, limit_names[i]);
		json_open(t, '{');
		json_key(t, bytes ? "limit_bytes" : "limit");
		if (!v)
			json_null(t);
		else if (i == LIMIT_CPU) {
			number_format_cpu(v, buf);
			json_raw(t, buf, strlen(buf));
		} else
			json_int(t, (int64_t)v);
		json_put_string(t, "enforced_by",
			s->status.enforced_by[i][0] ? s->status.enforced_by[i] : "none");
		json_put_bool(t, "required", s->spec.require & 1u << i);
		if (i == LIMIT_DISK)
			json_put_string(t, "kind", session_disk_names[s->spec.disk]);
		json_close(t, '}');
	}
	json_close(t, '}');
}

static void put_ms(struct text *t, const char *key, uint64_t ms)
{
	json_key(t, key);
	if (ms)
		json_int(t, (int64_t)ms);
	else
		json_null(t);
}

static void put_times(struct text *t, const struct store_session *s)
{
	put_ms(t, "lifetime_ms", s->spec.lifetime_ms);
	put_ms(t, "idle_timeout_ms", s->spec.idle_timeout_ms);
	put_ms(t, "dormant_after_ms", s->spec.dormant_after_ms);
	put_ms(t, "exec_timeout_ms", s->spec.exec_timeout_ms);
	json_put_int(t, "output_keep_bytes", (int64_t)s->spec.output_keep_bytes);
	put_when(t, "created_at", s->spec.created_us);
	put_when(t, "last_used_at", s->status.last_used_us);
	put_when(t, "expires_at", s->status.expires_us);
}

static void put_strings(struct text *t, const char *key, char *const *list)
{
	json_key(t, key);
	json_open(t, '[');
	for (; list && *list; list++)
		json_string(t, *list);
	json_close(t, ']');
}

static void put_contexts(struct text *t, const struct session_status *st, bool live)
{
	json_key(t, "contexts");
	json_open(t, '[');
	for (uint32_t i = 0; i < st->n_contexts; i++) {
		json_open(t, '{');
		json_put_string(t, "name", st->contexts[i].name);
		json_put_string(t, "language", st->contexts[i].language);
		json_put_int(t, "epoch", st->contexts[i].epoch);
		json_put_bool(t, "alive", live && st->contexts[i].alive);
		json_close(t, '}');
	}
	json_close(t, ']');
}

static void put_paths(struct text *t, const struct store_session *s)
{
	static const struct {
		const char *key, *path;
	} places[] = { { "workspace", "/workspace" }, { "home", "/home/sandbox" }, { "tmp", "/tmp" } };
	auto_text struct text path = { 0 };

	text_format(&path, "%s/sessions/%s", s->store->path, s->spec.id);
	json_put_string(t, "path", path.data);
	/* Without a mount namespace they are where they are. */
	if (s->spec.isolation == ISOLATION_WEAK)
		text_put(&path, "/fs/up");
	else
		text_clear(&path);
	size_t n = path.n;
	text_put(&path, "/workspace");
	json_put_string(t, "workdir", path.data);
	json_key(t, "paths");
	json_open(t, '{');
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		path.n = n;
		text_put(&path, places[i].path);
		json_put_string(t, places[i].key, path.data);
	}
	json_close(t, '}');
}

static bool is_live(const struct store_session *s)
{
	struct fault ignored;
	bool live = false;

	return store_session_is_live(s, &live, &ignored) == 0 && live;
}

const char *describe_status(const struct store_session *s)
{
	int64_t end_us = s->status.expires_us;

	if (s->damaged)
		return "damaged";
	if (s->status.state == STATE_STOPPED || s->status.state == STATE_EXPIRED)
		return session_state_names[s->status.state];
	if (is_live(s))
		return "live";
	/* Nobody was there to note it: the next command that wants it will. */
	return end_us && end_us < clock_wall_us() ? "expired" : "dormant";
}

static void put_runtime(struct text *t, const struct session_spec *s)
{
	const char *runtime = session_spec_runtime(s);

	json_put_name(t, "runtime", runtime, strlen(runtime));
	json_put_string(t, "runtime_asked", s->runtime_dir ? runtime : s->runtime);
	json_put_string(t, "interpreter", s->interpreter[0] ? s->interpreter : NULL);
}

const char *describe_weak(const struct store_session *s)
{
	const char *at = strstr(s->status.jail, "\"landlock_abi\":");
	long abi = at ? strtol(strchr(at, ':') + 1, NULL, 10) : 0;

	return s->spec.isolation == ISOLATION_WEAK ? spec_weak_warning((int)abi, !s->store->id_base) :
						     NULL;
}

static void put_warnings(struct text *t, const struct store_session *session)
{
	const struct session_spec *s = &session->spec;

	json_key(t, "warnings");
	json_open(t, '[');
	if (s->isolation == ISOLATION_WEAK) {
		json_open(t, '{');
		json_put_string(t, "kind", "weak_isolation");
		json_put_string(t, "message", describe_weak(session));
		json_close(t, '}');
	}
	if (s->foreign_ids) {
		json_open(t, '{');
		json_put_string(t, "kind", "foreign_ids");
		json_put_string(t, "message", DESCRIBE_FOREIGN_IDS);
		json_close(t, '}');
	}
	if (s->disk == DISK_TMPFS) {
		json_open(t, '{');
		json_put_string(t, "kind", "disk");
		json_put_string(t, "message", DESCRIBE_TMPFS);
		json_close(t, '}');
	}
	json_close(t, ']');
}

void describe_session(const struct store_session *s, bool with_instructions, struct text *t)
{
	const char *status = describe_status(s);
	bool live = strcmp(status, "live") == 0;

	json_open(t, '{');
	json_put_string(t, "schema", "sbx.session/1");
	json_put_string(t, "id", s->spec.id);
	json_put_string(t, "session_id", s->spec.id);
	json_put_string(t, "name", s->spec.name[0] ? s->spec.name : NULL);
	json_put_string(t, "status", status);
	json_put_bool(t, "live", live);
	json_put_string(t, "class", session_class_names[s->spec.class]);
	put_runtime(t, &s->spec);
	put_limits(t, s);
	put_times(t, s);
	put_paths(t, s);
	json_put_string(t, "on_threshold", session_threshold_names[s->spec.on_threshold]);
	put_strings(t, "env", s->spec.env);
	put_strings(t, "preload", s->spec.preload);
	put_strings(t, "tools", s->spec.tools);
	json_put_bool(t, "tools_enforced", false);
	json_put_string(t, "network", "none");
	json_put_string(t, "isolation", session_isolation_names[s->spec.isolation]);
	put_contexts(t, &s->status, live);
	if (s->status.jail[0]) {
		json_key(t, "jail");
		json_raw(t, s->status.jail, strlen(s->status.jail));
	}
	put_warnings(t, s);
	if (with_instructions) {
		auto_text struct text i = { 0 };
		spec_instructions(&s->spec, &i);
		json_put_string(t, "instructions", i.data);
	}
	json_close(t, '}');
}
