#include <errno.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "session/changes-inner.h"
#include "session/watch.h"

/* A suspicion is proved by using at most a quarter of the time; and without one there is a
 * proof every two seconds, or a fiftieth of the time: somebody else may free what the
 * session fills. */
enum { SUSPECT_SHARE = 3, REGULAR_SHARE = 50, REGULAR_MS = 2000, CALM_REGULAR_MS = 60 * 1000 };

/* [bytes] How much a session over its limit may grow in an execution that deletes. */
enum { SLACK_BYTES = 1024 * 1024, SLACK_ENTRIES = 64 };

void watch_disk_init(struct watch_disk *w, uint64_t limit_bytes)
{
	uint64_t entries = limit_bytes / WATCH_BYTES_PER_ENTRY;

	*w = (struct watch_disk){ .limit_bytes = limit_bytes };
	w->limit_entries = entries < WATCH_ENTRIES_MIN ? WATCH_ENTRIES_MIN :
		entries > CHANGES_ENTRIES_MAX / 2 ? CHANGES_ENTRIES_MAX / 2 : entries;
}

/* How long the fastest writers need for half of what is left. */
static int64_t tick_ms(const struct watch_disk *w)
{
	uint64_t left = w->limit_bytes > w->used_bytes ? w->limit_bytes - w->used_bytes : 0;
	uint64_t ms = left / 2 / WATCH_BYTES_PER_MS, least = w->is_calm ? WATCH_CALM_MS : WATCH_MIN_MS;

	return ms < least ? (int64_t)least : ms > WATCH_MAX_MS ? WATCH_MAX_MS : (int64_t)ms;
}

void watch_disk_begin(struct watch_disk *w, int64_t now_ms)
{
	int64_t tick = w->is_known ? tick_ms(w) : WATCH_FIRST_MS;
	int64_t first = now_ms + (tick < WATCH_FIRST_MS ? tick : WATCH_FIRST_MS);

	if (!w->limit_bytes)
		return;
	/* Another execution may be running: its tick stays if it is sooner. */
	if (w->next_ms < now_ms || w->next_ms > first)
		w->next_ms = first;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void watch_disk_allow(struct watch_disk *w, uint64_t bytes, uint64_t entries)
{
	/* Deleting takes a little room, too: a directory, the cache of an interpreter. */
	w->old_bytes = bytes > w->limit_bytes ? bytes + SLACK_BYTES : 0;
	w->old_entries = entries > w->limit_entries ? entries + SLACK_ENTRIES : 0;
}

/* What was deleted does not come back. */
static void tighten(struct watch_disk *w)
{
	if (w->used_bytes + SLACK_BYTES < w->old_bytes)
		w->old_bytes = w->used_bytes + SLACK_BYTES;
	if (w->used_entries + SLACK_ENTRIES < w->old_entries)
		w->old_entries = w->used_entries + SLACK_ENTRIES;
}

int64_t watch_disk_next_ms(const struct watch_disk *w)
{
	return w->limit_bytes ? w->next_ms : 0;
}

static int prove(struct watch_disk *w, int up_fd, int64_t now_ms,
	const struct statvfs *vfs, uint64_t *ret_used)
{
	int64_t start = clock_now_ms();
	uint64_t bytes, entries, deleted = w->tree ? watch_tree_deleted(w->tree) : 0;
	struct fault f;

	uint64_t most_bytes = larger(w->limit_bytes, w->old_bytes);
	uint64_t most_entries = larger(w->limit_entries, w->old_entries);
	int r = changes_measure(up_fd, most_bytes, most_entries, &bytes, &entries, &f);
	int64_t took = clock_now_ms() - start;
	int64_t pause = REGULAR_SHARE * took;
	w->proof_ms = now_ms + took + SUSPECT_SHARE * took;
	w->regular_ms = now_ms + took + (pause > REGULAR_MS ? pause : REGULAR_MS);
	/* The next look comes after the walk, not in a row of those that were missed. */
	w->next_ms = now_ms + took + tick_ms(w);
	if (r < 0)
		return 0;
	w->is_known = true;
	w->used_bytes = bytes + deleted;
	w->used_entries = entries;
	/* From before the walk: what was written meanwhile is not counted twice, nor lost. */
	w->free_bytes = (uint64_t)vfs->f_bfree * vfs->f_frsize;
	w->free_entries = vfs->f_ffree;
	w->over_entries = entries > most_entries;
	if (w->used_bytes <= most_bytes && !w->over_entries) {
		tighten(w);
		return 0;
	}
	*ret_used = w->used_bytes;
	return WATCH_OVER;
}

/* Whether free space fell by more than half of what the session may still use. */
static bool is_suspect(uint64_t *most_free, uint64_t now_free, uint64_t used, uint64_t limit)
{
	uint64_t left = limit > used ? limit - used : 0;

	/* Somebody freed some: counted from there on. */
	if (now_free > *most_free)
		*most_free = now_free;
	return *most_free - now_free > left / 2;
}

int watch_disk_step(struct watch_disk *w, int up_fd, int64_t now_ms,
	uint64_t *ret_used)
{
	struct statvfs vfs;

	if (!w->limit_bytes || now_ms < w->next_ms)
		return 0;
	w->next_ms = now_ms + tick_ms(w);
	if (fstatvfs(up_fd, &vfs) < 0)
		return 0;
	bool suspect = !w->is_known || now_ms >= w->regular_ms + (w->is_calm ? CALM_REGULAR_MS : 0);
	suspect |= is_suspect(&w->free_bytes, (uint64_t)vfs.f_bfree * vfs.f_frsize, w->used_bytes,
		w->limit_bytes);
	suspect |= is_suspect(&w->free_entries, vfs.f_ffree, w->used_entries, w->limit_entries);
	if (!suspect || now_ms < w->proof_ms)
		return 0;
	return prove(w, up_fd, now_ms, &vfs, ret_used);
}
