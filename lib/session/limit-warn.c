/* What a result says at 80 % of a limit, and what else happens then. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/number.h"
#include "session/super.h"

/* [µs] */
enum { QUICK_US = 50 * 1000 };

static void put_warning(struct exec *e, enum limit_kind kind, uint64_t used, uint64_t limit)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX];

	if (kind == LIMIT_PIDS)
		exec_warn(e, "near_limit", "pids: %llu of %llu", (unsigned long long)used,
			(unsigned long long)limit);
	else
		exec_warn(e, "near_limit", "%s: %s of %s", limit_names[kind],
			number_format_size(used, a), number_format_size(limit, b));
}

/* In each result the warning; once for each crossing the event, and what the session has for it. */
static void quota(struct exec *e, enum limit_kind kind, uint64_t used, uint64_t limit, bool *warned)
{
	struct super *s = e->s;
	bool acts = kind == LIMIT_MEMORY || kind == LIMIT_DISK;

	if (!limit || used < limit / 5 * 4) {
		*warned = false;
		return;
	}
	put_warning(e, kind, used, limit);
	if (*warned)
		return;
	*warned = true;
	struct text *t = super_event(s, EVENT_QUOTA_WARNING, e);
	json_put_string(t, "limit", limit_names[kind]);
	json_put_int(t, "used", (int64_t)used);
	json_put_int(t, "of", (int64_t)limit);
	json_put_string(t, "enforced_by", s->session->status.enforced_by[kind]);
	json_put_string(t, "action",
		session_threshold_names[acts ? s->session->spec.on_threshold : THRESHOLD_WARN]);
	super_journal(s, e);
	if (acts && s->session->spec.on_threshold != THRESHOLD_WARN)
		s->crossed = limit_names[kind];
}

void limit_act(struct super *s)
{
	const char *crossed = s->crossed;

	s->crossed = NULL;
	if (!crossed || s->ending)
		return;
	if (s->session->spec.on_threshold == THRESHOLD_CLEAN)
		exec_clean(s);
	else
		super_end(s, crossed);
}

/* A program that got ENOMEM says so itself, and nothing else is evidence of it. */
static const char *memory_words(const struct exec *e, const char *err)
{
	static const char *const words[] = { "MemoryError", "Cannot allocate memory", "bad_alloc",
		"heap out of memory", "Out of memory", "out of memory" };
	const char *name = text_string(&e->error_name);

	for (size_t i = 0; i < array_size(words); i++)
		if (strstr(name, words[i]) || strstr(err, words[i]))
			return words[i];
	return NULL;
}

static void warn_rlimit(struct exec *e)
{
	auto_text struct text err = { 0 };
	const struct spool *s = &e->out[1].spool;
	char limit[NUMBER_TEXT_MAX];

	if (!limit_is_polled(e->s) || e->status != EXEC_ERROR)
		return;
	spool_read(s, s->total > 4096 ? s->total - 4096 : 0, 4096, &err);
	const char *word = memory_words(e, text_string(&err));
	if (!word)
		return;
	number_format_size(e->s->session->spec.limits[LIMIT_MEMORY], limit);
	exec_warn(e, "near_limit", "memory: the program reported '%s'; each process may use %s "
		"(rlimit)", word, limit);
}

static void warn_disk(struct exec *e)
{
	struct super *s = e->s;
	struct disk_use use;

	disk_use(s, &use);
	quota(e, LIMIT_DISK, use.used_bytes, use.limit_bytes, &s->disk_warned);
	if (use.limit_entries && use.used_entries >= use.limit_entries / 5 * 4)
		exec_warn(e, "near_limit", "disk: %llu of %llu files", (unsigned long long)use.used_entries,
			(unsigned long long)use.limit_entries);
	if (s->files_lost)
		exec_warn(e, "files_lost", "the files of earlier executions were in memory and are gone with "
			"the processes that the session had");
	s->files_lost = false;
}

void limit_warn(struct exec *e)
{
	struct super *s = e->s;
	const uint64_t *limits = s->session->spec.limits;
	struct cgroup_usage all = { 0 };
	uint32_t before = e->n_warnings;

	/* What it leaves is not held against the interpreters that are kept. */
	if (!limit_is_running(s)) {
		watch_disk_allow(&s->disk, changes_bytes(s->changes), changes_entries(s->changes));
		s->disk.is_counted = false;
	}
	if (e->status == EXEC_SETUP_FAILED)
		return;
	quota(e, LIMIT_MEMORY, e->peak_memory, limits[LIMIT_MEMORY], &s->memory_warned);
	if (e->n_warnings == before)
		warn_rlimit(e);
	warn_disk(e);
	/* Half a dozen files: not for what was over at once and well. */
	if (e->status == EXEC_SUCCESS && e->end_us - e->begin_us < QUICK_US)
		return;
	cgroup_read(s->cgroup, &all);
	e->pids_peak = all.has_pids ? all.pids_peak : 0;
	if (all.pids_denied > s->pids_denied) {
		exec_warn(e, "pids", "fork was refused %llu times: the limit is %llu processes",
			(unsigned long long)(all.pids_denied - s->pids_denied),
			(unsigned long long)limits[LIMIT_PIDS]);
		s->pids_denied = all.pids_denied;
		quota(e, LIMIT_PIDS, limits[LIMIT_PIDS], limits[LIMIT_PIDS], &s->pids_warned);
	}
}
