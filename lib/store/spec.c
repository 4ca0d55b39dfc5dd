/* spec.json: what was asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "store/inner.h"
#include "store/state.h"

static const char file[] = "spec.json", schema[] = "sbx.spec/1";

const char *const session_class_names[] = { "ephemeral", "task", "workspace", NULL };
const char *const limit_names[] = { "cpu", "memory", "disk", "pids", "nofile", NULL };

/* In JSON a number has its unit in the key. */
static const char *const limit_keys[LIMIT_KINDS] = {
	"cpu_milli", "memory_bytes", "disk_bytes", "pids", "nofile",
};

const char *const session_isolation_names[] = { "strong", "weak", NULL };
const char *const session_disk_names[] = { "plain", "loop", "tmpfs", NULL };

const char *const session_threshold_names[] = { "warn", "clean", "stop", NULL };

const char *session_spec_runtime(const struct session_spec *s)
{
	return s->runtime_dir ? s->runtime_dir : s->runtime_resolved[0] ? s->runtime_resolved : s->runtime;
}

const char *session_spec_base(const struct session_spec *s)
{
	return s->runtime_dir ? strchr(s->runtime_dir, ':') + 1 : NULL;
}

void session_spec_done(struct session_spec *s)
{
	free(s->runtime_dir);
	s->runtime_dir = NULL;
	mem_free_strings(s->env);
	mem_free_strings(s->tools);
	mem_free_strings(s->preload);
	s->env = s->tools = s->preload = NULL;
}

/* Values are bytes: what is no UTF-8 is written as {"base64":…}. */
static void put_string(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (utf8_is_valid(s, n)) {
		json_bytes(t, s, n);
		return;
	}
	json_open(t, '{');
	json_key(t, "base64");
	json_base64(t, s, n);
	json_close(t, '}');
}

static void put_strings(struct text *t, const char *key, char *const *list)
{
	json_key(t, key);
	json_open(t, '[');
	for (; list && *list; list++)
		put_string(t, *list);
	json_close(t, ']');
}

static void put_limits(struct text *t, const struct session_spec *s)
{
	json_key(t, "limits");
	json_open(t, '{');
	for (size_t i = 0; i < LIMIT_KINDS; i++)
		state_put_uint(t, limit_keys[i], s->limits[i]);
	json_close(t, '}');
	json_key(t, "require");
	json_open(t, '[');
	for (size_t i = 0; i < LIMIT_KINDS; i++)
		if (s->require & 1u << i)
			json_string(t, limit_names[i]);
	json_close(t, ']');
}

int store_spec_write(int dir, const struct session_spec *s, struct fault *f)
{
	auto_text struct text t = { 0 };

	json_open(&t, '{');
	json_put_string(&t, "schema", schema);
	json_put_string(&t, "id", s->id);
	json_put_string(&t, "name", s->name);
	json_put_string(&t, "runtime", s->runtime);
	json_put_string(&t, "runtime_resolved", s->runtime_resolved);
	if (s->runtime_dir) {
		json_key(&t, "runtime_dir");
		put_string(&t, s->runtime_dir);
		json_put_bool(&t, "foreign_ids", s->foreign_ids);
	}
	json_put_string(&t, "interpreter", s->interpreter);
	json_put_string(&t, "skeleton", s->skeleton);
	json_put_string(&t, "class", session_class_names[s->class]);
	json_put_string(&t, "disk", session_disk_names[s->disk]);
	json_put_string(&t, "on_threshold", session_threshold_names[s->on_threshold]);
	json_put_string(&t, "isolation", session_isolation_names[s->isolation]);
	put_limits(&t, s);
	state_put_uint(&t, "lifetime_ms", s->lifetime_ms);
	state_put_uint(&t, "idle_timeout_ms", s->idle_timeout_ms);
	state_put_uint(&t, "dormant_after_ms", s->dormant_after_ms);
	state_put_uint(&t, "exec_timeout_ms", s->exec_timeout_ms);
	state_put_uint(&t, "output_keep_bytes", s->output_keep_bytes);
	put_strings(&t, "env", s->env);
	put_strings(&t, "tools", s->tools);
	put_strings(&t, "preload", s->preload);
	state_put_time(&t, "created_at", s->created_us);
	json_close(&t, '}');
	text_put_char(&t, '\n');
	return store_put_file(dir, file, t.data, t.n, 0600, f);
}

static int digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* RFC 4648, section 4; NULL when it is none, or holds a NUL. */
static char *decode_base64(const char *s)
{
	auto_text struct text t = { 0 };
	size_t n = strlen(s);

	while (n && s[n - 1] == '=')
		n--;
	uint32_t bits = 0;
	for (size_t i = 0; i < n; i++) {
		int v = digit_of(s[i]);
		if (v < 0)
			return NULL;
		bits = bits << 6 | (uint32_t)v;
		if (i % 4)
			text_put_char(&t, (char)(bits >> (6 - 2 * (i % 4))));
	}
	return memchr(text_string(&t), 0, t.n) ? NULL : mem_bytes(text_string(&t), t.n);
}

static char *read_string(const struct fmt_value *v)
{
	if (v->kind == FMT_MAP)
		return decode_base64(fmt_string(fmt_get(v, "base64"), "?"));
	return mem_string(fmt_string(v, NULL));
}

static bool read_strings(const struct fmt_value *list, char ***ret)
{
	char **made = mem_new_array(char *, fmt_count(list) + 1);
	size_t n = 0;

	if (list && list->kind == FMT_LIST)
		FMT_EACH(v, list)
			if (!(made[n++] = read_string(v)))
				break;
	if (!list || list->kind != FMT_LIST || n != fmt_count(list) || (n && !made[n - 1])) {
		mem_free_strings(made);
		return false;
	}
	*ret = made;
	return true;
}

static int read_limits(const struct fmt_value *root, struct session_spec *s, struct fault *f)
{
	const struct fmt_value *limits = fmt_get(root, "limits");
	unsigned i;

	for (i = 0; i < LIMIT_KINDS; i++)
		if (!state_uint(fmt_get(limits, limit_keys[i]), &s->limits[i]))
			return state_damaged(f, file, limit_keys[i]);
	FMT_EACH(v, fmt_get(root, "require")) {
		if (!state_choice(v, limit_names, &i))
			return state_damaged(f, file, "require");
		s->require |= 1u << i;
	}
	return 0;
}

static int read_texts(const struct fmt_value *root, struct session_spec *s, struct fault *f)
{
	const struct {
		const char *key;
		char *buf;
		size_t room;
	} texts[] = {
		{ "id", s->id, sizeof s->id },
		{ "name", s->name, sizeof s->name },
		{ "runtime", s->runtime, sizeof s->runtime },
		{ "runtime_resolved", s->runtime_resolved, sizeof s->runtime_resolved },
		{ "interpreter", s->interpreter, sizeof s->interpreter },
		{ "skeleton", s->skeleton, sizeof s->skeleton },
	};

	for (size_t i = 0; i < array_size(texts); i++)
		if (!state_text(fmt_get(root, texts[i].key), texts[i].buf, texts[i].room))
			return state_damaged(f, file, texts[i].key);
	/* These become paths. */
	const struct fmt_value *dir = fmt_get(root, "runtime_dir");
	if (dir && (!(s->runtime_dir = read_string(dir)) || strncmp(s->runtime_dir, "dir:/", 5) != 0))
		return state_damaged(f, file, "runtime_dir");
	s->foreign_ids = fmt_bool(fmt_get(root, "foreign_ids"), false);
	if (!id_is_valid(s->id))
		return state_damaged(f, file, "id");
	if (s->name[0] && !id_is_valid(s->name))
		return state_damaged(f, file, "name");
	if (s->skeleton[0] && !id_is_valid(s->skeleton))
		return state_damaged(f, file, "skeleton");
	return 0;
}

static int read_numbers(const struct fmt_value *root, struct session_spec *s, struct fault *f)
{
	const struct {
		const char *key;
		uint64_t *to;
	} numbers[] = {
		{ "lifetime_ms", &s->lifetime_ms },
		{ "idle_timeout_ms", &s->idle_timeout_ms },
		{ "dormant_after_ms", &s->dormant_after_ms },
		{ "exec_timeout_ms", &s->exec_timeout_ms },
		{ "output_keep_bytes", &s->output_keep_bytes },
	};
	unsigned class, disk = DISK_PLAIN, threshold = THRESHOLD_WARN,
		isolation = ISOLATION_STRONG;

	for (size_t i = 0; i < array_size(numbers); i++)
		if (!state_uint(fmt_get(root, numbers[i].key), numbers[i].to))
			return state_damaged(f, file, numbers[i].key);
	if (!state_choice(fmt_get(root, "class"), session_class_names, &class))
		return state_damaged(f, file, "class");
	s->class = (enum session_class)class;
	if (fmt_get(root, "disk") && !state_choice(fmt_get(root, "disk"), session_disk_names, &disk))
		return state_damaged(f, file, "disk");
	s->disk = (enum disk_kind)disk;
	const struct fmt_value *action = fmt_get(root, "on_threshold");
	if (action && !state_choice(action, session_threshold_names, &threshold))
		return state_damaged(f, file, "on_threshold");
	s->on_threshold = (enum session_threshold)threshold;

	if (fmt_get(root, "isolation") &&
		!state_choice(fmt_get(root, "isolation"), session_isolation_names, &isolation))
		return state_damaged(f, file, "isolation");
	s->isolation = (enum isolation_kind)isolation;
	if (!state_time(fmt_get(root, "created_at"), &s->created_us))
		return state_damaged(f, file, "created_at");
	return 0;
}

int store_spec_read(int dir, struct session_spec *ret, struct fault *f)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct session_spec s = { 0 };
	int r = state_open(dir, file, schema, &doc, f);

	if (r < 0)
		return r;
	const struct fmt_value *root = fmt_root(doc);
	r = read_texts(root, &s, f);
	if (r >= 0)
		r = read_numbers(root, &s, f);
	if (r >= 0)
		r = read_limits(root, &s, f);
	if (r >= 0 && !read_strings(fmt_get(root, "env"), &s.env))
		r = state_damaged(f, file, "env");
	if (r >= 0 && !read_strings(fmt_get(root, "tools"), &s.tools))
		r = state_damaged(f, file, "tools");
	/* Sessions of before have none. */
	const struct fmt_value *preload = fmt_get(root, "preload");
	if (r >= 0 && preload && !read_strings(preload, &s.preload))
		r = state_damaged(f, file, "preload");
	if (r < 0) {
		session_spec_done(&s);
		return r;
	}
	*ret = s;
	return 0;
}
