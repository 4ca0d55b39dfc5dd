/* The keys of a session's file and of a request. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fmt/fmt.h"
#include "session/spec.h"

enum { RUNTIME_BYTES = 4095, WORKDIR_BYTES = 4095, REQUEST_ID_BYTES = 256 };

struct file {
	struct spec_ask ask;
	const struct fmt_value *network, *disk;
};

#define AT(f)       offsetof(struct file, ask.f)
#define LIMIT_AT(k) (offsetof(struct file, ask.limits) + LIMIT_##k * sizeof(uint64_t))

static const struct fmt_field resource_keys[] = {
	{ "cpu", FMT_TYPE_CPU, LIMIT_AT(CPU), SPEC_CPU_MIN, SPEC_CPU_MAX },
	{ "memory", FMT_TYPE_SIZE, LIMIT_AT(MEMORY), SPEC_MEMORY_MIN, SPEC_BYTES_MAX },
	{ "disk", FMT_TYPE_ANY, offsetof(struct file, disk) },
	{ "pids", FMT_TYPE_UINT, LIMIT_AT(PIDS), SPEC_PIDS_MIN, SPEC_PIDS_MAX },
	{ "nofile", FMT_TYPE_UINT, LIMIT_AT(NOFILE), SPEC_NOFILE_MIN, SPEC_NOFILE_MAX },
	{ 0 },
};

static const struct fmt_field session_keys[] = {
	{ "runtime", FMT_TYPE_TEXT, AT(runtime), .max = RUNTIME_BYTES },
	{ "name", FMT_TYPE_ID, AT(name) },
	{ "class", FMT_TYPE_ENUM, AT(class), .choices = spec_class_names },
	{ "size", FMT_TYPE_ENUM, AT(size), .choices = spec_size_names },
	{ "on_threshold", FMT_TYPE_ENUM, AT(on_threshold), .choices = session_threshold_names },
	{ "isolation", FMT_TYPE_ENUM, AT(isolation), .choices = session_isolation_names },
	{ "resources", FMT_TYPE_TABLE, 0, .fields = resource_keys },
	{ "pids", FMT_TYPE_UINT, LIMIT_AT(PIDS), SPEC_PIDS_MIN, SPEC_PIDS_MAX },
	{ "nofile", FMT_TYPE_UINT, LIMIT_AT(NOFILE), SPEC_NOFILE_MIN, SPEC_NOFILE_MAX },
	{ "timeout", FMT_TYPE_TIME, AT(lifetime_ms), 0, SPEC_TIME_MAX_MS },
	{ "lifetime", FMT_TYPE_TIME, AT(lifetime_ms), 0, SPEC_TIME_MAX_MS },
	{ "idle_timeout", FMT_TYPE_TIME, AT(idle_timeout_ms), 0, SPEC_TIME_MAX_MS },
	{ "dormant_after", FMT_TYPE_TIME, AT(dormant_after_ms), 0, SPEC_TIME_MAX_MS },
	{ "exec_timeout", FMT_TYPE_TIME, AT(exec_timeout_ms), 0, SPEC_TIME_MAX_MS },
	{ "output_keep", FMT_TYPE_SIZE, AT(output_keep_bytes), SPEC_KEEP_MIN, SPEC_BYTES_MAX },
	{ "env", FMT_TYPE_ENV, AT(env) },
	{ "tools", FMT_TYPE_TEXTS, AT(tools) },
	{ "preload", FMT_TYPE_TEXTS, AT(preload) },
	{ "require", FMT_TYPE_TEXTS, AT(require) },
	{ "network", FMT_TYPE_ANY, offsetof(struct file, network) },
	{ 0 },
};
#undef AT

#define AT(f) offsetof(struct exec_ask, f)
static const struct fmt_field request_keys[] = {
	{ "session_id", FMT_TYPE_ID, AT(session_id) },
	{ "code", FMT_TYPE_TEXT, AT(code) },
	{ "command", FMT_TYPE_TEXTS, AT(command) },
	{ "language", FMT_TYPE_TEXT, AT(language), .max = 15 },
	{ "context", FMT_TYPE_ID, AT(context) },
	{ "workdir", FMT_TYPE_TEXT, AT(workdir), .max = WORKDIR_BYTES },
	{ "env", FMT_TYPE_ENV, AT(env) },
	{ "timeout", FMT_TYPE_TIME, AT(timeout_ms), 0, SPEC_TIME_MAX_MS },
	{ "cpu_limit", FMT_TYPE_TIME, AT(cpu_limit_ms), 0, SPEC_TIME_MAX_MS },
	{ "output_keep", FMT_TYPE_SIZE, AT(output_keep_bytes), SPEC_KEEP_MIN, SPEC_BYTES_MAX },
	{ "request_id", FMT_TYPE_TEXT, AT(request_id), .max = REQUEST_ID_BYTES },
	{ "stdin", FMT_TYPE_TEXT, AT(stdin_text) },
	{ "fresh", FMT_TYPE_BOOL, AT(fresh) },
	{ 0 },
};
#undef AT

void spec_ask_init(struct spec_ask *a)
{
	*a = (struct spec_ask){
		.class = -1, .size = -1, .isolation = -1, .on_threshold = -1, .disk = -1,
		.lifetime_ms = SPEC_UNSET, .idle_timeout_ms = SPEC_UNSET,
		.dormant_after_ms = SPEC_UNSET, .exec_timeout_ms = SPEC_UNSET,
		.output_keep_bytes = SPEC_UNSET,
	};
	for (size_t i = 0; i < LIMIT_KINDS; i++)
		a->limits[i] = SPEC_UNSET;
}

void spec_ask_done(struct spec_ask *a)
{
	free(a->runtime);
	mem_free_strings(a->env);
	mem_free_strings(a->tools);
	mem_free_strings(a->require);
	mem_free_strings(a->preload);
	spec_ask_init(a);
}

/* An answer must be there before the question is: whoever asks for a network must not get
 * a session that silently has none. */
static int check_network(const struct fmt_doc *doc, const struct fmt_value *v, struct fault *f)
{
	if (!v || !strcmp(fmt_string(v, ""), "none"))
		return 0;
	fmt_fail(doc, v, f, "network: only 'none' is possible; sessions have no network");
	f->kind = FAULT_DENIED;
	return -(int)f->kind;
}

/* pids and nofile are taken in both places, but not twice. */
static int check_twice(const struct fmt_doc *doc, struct fault *f)
{
	const struct fmt_value *resources = fmt_get(fmt_root(doc), "resources");

	FMT_EACH(v, resources)
		if (fmt_get(fmt_root(doc), v->key))
			return fmt_fail(doc, v, f, "'%s' is here twice; give one", v->key);
	return 0;
}

/* A size, with the kind of the disk in front of it. */
static int read_disk(const struct fmt_doc *doc, const struct fmt_value *v, struct spec_ask *a,
	struct fault *f)
{
	struct fault why;

	if (!v)
		return 0;
	if (v->kind != FMT_STRING && v->kind != FMT_NUMBER)
		return fmt_fail(doc, v, f, "disk: a size is expected, as in 10Gi, loop:10Gi or tmpfs:256Mi");
	if (spec_parse_disk(v->text, &a->disk, &a->limits[LIMIT_DISK], &why) < 0)
		return fmt_fail(doc, v, f, "disk: %s", why.text);
	return 0;
}

int spec_ask_read(struct spec_ask *a, const char *name, const void *p, size_t n, struct fault *f)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct file file = { .ask = *a };
	int r = fmt_parse(name, p, n, &doc, f);

	if (r < 0)
		return r;
	r = fmt_fill(doc, session_keys, &file, f);
	*a = file.ask;
	if (!r)
		r = check_twice(doc, f);
	if (!r)
		r = read_disk(doc, file.disk, a, f);
	return r < 0 ? r : check_network(doc, file.network, f);
}

static int check_request(const struct fmt_doc *doc, const struct exec_ask *a, struct fault *f)
{
	static const char *const languages[] = { "python", "node", "shell" };
	const struct fmt_value *root = fmt_root(doc);
	bool known = !a->language;

	if (!a->code == !a->command)
		return fmt_fail(doc, root, f, "exactly one of 'code' and 'command' is needed");
	if (a->command && !a->command[0])
		return fmt_fail(doc, fmt_get(root, "command"), f, "command: the list is empty");
	if (a->command && (a->language || a->context[0] || a->fresh))
		return fmt_fail(doc, fmt_get(root, "command"), f,
			"language, context and fresh go with 'code', not with 'command'");
	if (a->code && a->cpu_limit_ms != SPEC_UNSET)
		return fmt_fail(doc, fmt_get(root, "cpu_limit"), f,
			"cpu_limit goes with 'command', not with 'code'; timeout ends a cell");
	if (a->code && a->stdin_text)
		return fmt_fail(doc, fmt_get(root, "stdin"), f,
			"stdin goes with 'command', not with 'code'");
	for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
		known |= a->language && !strcmp(a->language, languages[i]);
	if (!known)
		return fmt_fail(doc, fmt_get(root, "language"), f,
			"language: '%s' is none of python, node, shell", a->language);
	if (a->workdir && a->workdir[0] != '/')
		return fmt_fail(doc, fmt_get(root, "workdir"), f,
			"workdir: '%.60s' must begin with '/'", a->workdir);
	return 0;
}

int exec_ask_read(struct exec_ask *ret, const char *name, const void *p, size_t n, struct fault *f)
{
	auto_doc struct fmt_doc *doc = NULL;

	*ret = (struct exec_ask){ .timeout_ms = SPEC_UNSET, .cpu_limit_ms = SPEC_UNSET,
		.output_keep_bytes = SPEC_UNSET };
	int r = fmt_parse(name, p, n, &doc, f);
	if (!r)
		r = fmt_fill(doc, request_keys, ret, f);
	return r < 0 ? r : check_request(doc, ret, f);
}

void exec_ask_done(struct exec_ask *a)
{
	fmt_drop(request_keys, a);
}
