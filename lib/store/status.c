/* status.json: what is. */
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/json.h"
#include "store/inner.h"
#include "store/state.h"

static const char file[] = "status.json", schema[] = "sbx.status/1";

const char *const session_state_names[] = { "creating", "ready", "stopped", "expired", NULL };

static void put_contexts(struct text *t, const struct session_status *s)
{
	json_key(t, "contexts");
	json_open(t, '[');
	for (uint32_t i = 0; i < s->n_contexts && i < CONTEXTS_MAX; i++) {
		const struct context_state *c = &s->contexts[i];
		json_open(t, '{');
		json_put_string(t, "name", c->name);
		json_put_string(t, "language", c->language);
		json_put_int(t, "epoch", c->epoch);
		json_put_bool(t, "alive", c->alive);
		json_put_string(t, "lost", c->lost);
		json_close(t, '}');
	}
	json_close(t, ']');
}

int store_status_write_at(int dir, const struct session_status *s, struct fault *f)
{
	auto_text struct text t = { 0 };

	json_open(&t, '{');
	json_put_string(&t, "schema", schema);
	json_put_string(&t, "state", session_state_names[s->state]);
	json_put_int(&t, "pid", s->pid);
	state_put_uint(&t, "pid_start_ticks", s->pid_start_ticks);
	json_put_int(&t, "init_pid", s->init_pid);
	state_put_uint(&t, "init_start_ticks", s->init_start_ticks);
	json_put_string(&t, "boot_id", s->boot_id);
	state_put_time(&t, "last_used_at", s->last_used_us);
	state_put_time(&t, "expires_at", s->expires_us);
	json_key(&t, "enforced_by");
	json_open(&t, '{');
	for (size_t i = 0; i < LIMIT_KINDS; i++)
		json_put_string(&t, limit_names[i], s->enforced_by[i]);
	json_close(&t, '}');
	json_put_string(&t, "cgroup", s->cgroup);
	put_contexts(&t, s);
	/* An object of its own, kept as the text that it is. */
	json_put_string(&t, "jail", s->jail);
	json_close(&t, '}');
	text_put_char(&t, '\n');
	return file_replace(dir, file, t.data, t.n, f);
}

static bool read_context(const struct fmt_value *v, struct context_state *c)
{
	uint64_t epoch;

	if (!state_text(fmt_get(v, "name"), c->name, sizeof c->name) || !id_is_valid(c->name) ||
		!state_text(fmt_get(v, "language"), c->language, sizeof c->language) ||
		!state_uint(fmt_get(v, "epoch"), &epoch) || epoch > UINT32_MAX)
		return false;
	if (fmt_get(v, "lost") && !state_text(fmt_get(v, "lost"), c->lost, sizeof c->lost))
		return false;
	c->epoch = (uint32_t)epoch;
	c->alive = fmt_bool(fmt_get(v, "alive"), false);
	return true;
}

static int read_contexts(const struct fmt_value *root, struct session_status *s, struct fault *f)
{
	FMT_EACH(v, fmt_get(root, "contexts")) {
		if (s->n_contexts == CONTEXTS_MAX || !read_context(v, &s->contexts[s->n_contexts]))
			return state_damaged(f, file, "contexts");
		s->n_contexts++;
	}
	return 0;
}

static int read_process(const struct fmt_value *root, struct session_status *s, struct fault *f)
{
	int64_t pid = fmt_int(fmt_get(root, "pid"), -1);

	/* A pid of 0 or below would address groups of processes, were it ever sent a signal. */
	if (pid < 0 || pid > INT32_MAX)
		return state_damaged(f, file, "pid");
	s->pid = (pid_t)pid;
	if (!state_uint(fmt_get(root, "pid_start_ticks"), &s->pid_start_ticks))
		return state_damaged(f, file, "pid_start_ticks");
	pid = fmt_int(fmt_get(root, "init_pid"), -1);
	if (pid < 0 || pid > INT32_MAX)
		return state_damaged(f, file, "init_pid");
	s->init_pid = (pid_t)pid;
	if (!state_uint(fmt_get(root, "init_start_ticks"), &s->init_start_ticks))
		return state_damaged(f, file, "init_start_ticks");
	if (!state_text(fmt_get(root, "boot_id"), s->boot_id, sizeof s->boot_id))
		return state_damaged(f, file, "boot_id");
	if (!state_text(fmt_get(root, "cgroup"), s->cgroup, sizeof s->cgroup))
		return state_damaged(f, file, "cgroup");
	if (!state_text(fmt_get(root, "jail"), s->jail, sizeof s->jail))
		return state_damaged(f, file, "jail");
	return 0;
}

static int read_state(const struct fmt_value *root, struct session_status *s, struct fault *f)
{
	const struct fmt_value *by = fmt_get(root, "enforced_by");
	unsigned state;

	if (!state_choice(fmt_get(root, "state"), session_state_names, &state))
		return state_damaged(f, file, "state");
	s->state = (enum session_state)state;
	if (!state_time(fmt_get(root, "last_used_at"), &s->last_used_us))
		return state_damaged(f, file, "last_used_at");
	if (!state_time(fmt_get(root, "expires_at"), &s->expires_us))
		return state_damaged(f, file, "expires_at");
	for (size_t i = 0; i < LIMIT_KINDS; i++)
		if (!state_text(fmt_get(by, limit_names[i]), s->enforced_by[i],
			    sizeof s->enforced_by[i]))
			return state_damaged(f, file, "enforced_by");
	return 0;
}

int store_status_read_at(int dir, struct session_status *ret, struct fault *f)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct session_status s = { 0 };
	int r = state_open(dir, file, schema, &doc, f);

	if (r >= 0)
		r = read_state(fmt_root(doc), &s, f);
	if (r >= 0)
		r = read_process(fmt_root(doc), &s, f);
	if (r >= 0)
		r = read_contexts(fmt_root(doc), &s, f);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}
