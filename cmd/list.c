/* sbx list: the sessions of a home directory. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cmds.h"
#include "describe.h"

struct list_args {
	const char *columns;
	int status, class;
	bool json, quiet, all;
};

struct row {
	const char *id, *name, *status, *class, *runtime, *isolation;
	int64_t created_us, last_used_us, expires_us;
	uint64_t age_ms, memory_bytes, disk_bytes, pids, cpu;
};

#define C(f, K, k, h, w, t) COLUMN(struct row, f, K, k, h, w, t)
static const struct column columns[] = {
	C(id, TEXT, "id", "ID", 0, "its id"),
	C(name, TEXT, "name", "NAME", 12, "its name"),
	C(status, TEXT, "status", "STATUS", 0, "live, dormant, stopped, expired or damaged"),
	C(class, TEXT, "class", "CLASS", 0, "what idling ends it"),
	C(runtime, TEXT, "runtime", "RUNTIME", 10, "what it is built on"),
	C(age_ms, TIME, "age_ms", "AGE", 0, "time since it was made"),
	C(memory_bytes, SIZE, "memory_limit_bytes", "MEMORY", 0, "most memory it may use"),
	C(disk_bytes, SIZE, "disk_limit_bytes", "DISK", 0, "most bytes in its files"),
	{ .key = "created_at", .head = "CREATED", .kind = COLUMN_WHEN, .extra = true,
		.at = OPT_AT(struct row, created_us, int64_t), .help = "when it was made" },
	{ .key = "last_used_at", .head = "LAST USED", .kind = COLUMN_WHEN, .extra = true,
		.at = OPT_AT(struct row, last_used_us, int64_t), .help = "end of its last execution" },
	{ .key = "expires_at", .head = "EXPIRES", .kind = COLUMN_WHEN, .extra = true,
		.at = OPT_AT(struct row, expires_us, int64_t), .help = "when its lifetime ends" },
	{ .key = "cpu_limit", .head = "CPU", .kind = COLUMN_CPU, .extra = true,
		.at = OPT_AT(struct row, cpu, uint64_t), .help = "how many CPUs it may use" },
	{ .key = "pids_limit", .head = "PIDS", .kind = COLUMN_UINT, .extra = true,
		.at = OPT_AT(struct row, pids, uint64_t), .help = "most processes at once" },
	{ .key = "isolation", .head = "ISOLATION", .kind = COLUMN_TEXT, .extra = true,
		.at = OPT_AT(struct row, isolation, const char *), .help = "strong, or weak: no namespaces" },
	{ 0 },
};
#undef C

static const char *const statuses[] = { "live", "dormant", "stopped", "expired", "damaged", NULL };

#define S struct list_args
static const struct opt opts[] = {
	OPT_FLAG(S, all, 0, "all", "also those that a run has made for itself"),
	OPT_ENUM(S, status, 0, "status", "STATUS", statuses, "only with this status"),
	OPT_ENUM(S, class, 0, "class", "CLASS", session_class_names, "only of this class"),
	OPT_ROW(TEXT, S, columns, const char *, 0, "columns", "show these columns",
		.value = "NAME,...", .complete = COMP_COLUMNS, .excl = 1),
	OPT_ROW(FLAG, S, quiet, bool, 'q', "quiet", "write only the ids", .excl = 1),
	OPT_FLAG(S, json, 0, "json", "write one JSON object a session"),
	{ 0 },
};
#undef S

static const struct list_args defaults = { .status = -1, .class = -1 };

struct visit {
	const struct list_args *args;
	struct out *out;
	int64_t now_us;
};

static bool is_wanted(const struct list_args *a, const struct store_session *s, const char *status)
{
	if (a->status >= 0 && strcmp(status, statuses[a->status]) != 0)
		return false;
	/* Of a damaged one the class is not known. */
	if (a->class >= 0)
		return !s->damaged && s->spec.class == (enum session_class)a->class;
	return a->all || s->damaged || s->spec.class != CLASS_EPHEMERAL;
}

static void fill(const struct visit *v, const struct store_session *s, struct row *row)
{
	const struct session_spec *spec = &s->spec;
	int64_t age_us = v->now_us - spec->created_us;

	row->name = spec->name[0] ? spec->name : NULL;
	row->class = session_class_names[spec->class];
	row->runtime = session_spec_runtime(spec);
	row->isolation = session_isolation_names[spec->isolation];
	row->created_us = spec->created_us;
	row->last_used_us = s->status.last_used_us;
	row->expires_us = s->status.expires_us;
	row->age_ms = age_us > 0 ? (uint64_t)age_us / 1000 : 0;
	row->cpu = spec->limits[LIMIT_CPU];
	row->memory_bytes = spec->limits[LIMIT_MEMORY];
	row->disk_bytes = spec->limits[LIMIT_DISK];
	row->pids = spec->limits[LIMIT_PIDS];
}

static int visit(struct store_session *s, void *arg)
{
	const struct visit *v = arg;
	struct row row = { .id = s->spec.id, .status = describe_status(s) };

	if (!is_wanted(v->args, s, row.status))
		return 0;
	if (!s->damaged)
		fill(v, s, &row);
	if (v->args->quiet && !v->args->json)
		puts(row.id);
	else
		out_row(v->out, &row);
	return 0;
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct list_args *a = p;
	struct out o = { 0 };
	struct visit v = { .args = a, .out = &o, .now_us = clock_wall_us() };
	int r = out_init(&o, columns, a->quiet ? "id" : a->columns, a->json ? "sbx.session/1" : NULL, f);

	if (r < 0)
		return r;
	r = store_each(&env->store, visit, &v, f);
	if (!a->quiet || a->json)
		out_done(&o);
	return r;
}

const struct cmd cmd_list = {
	.name = "list", .summary = "List sessions, oldest first",
	.opts = opts, .columns = columns, .defaults = &defaults, .args_size = sizeof(struct list_args),
	.needs = NEED_STORE, .run = run,
};
