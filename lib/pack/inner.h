/* What the files of pack/ share. */
#pragma once

#include "base/stream.h"
#include "pack/pack.h"

struct pack_sink {
	int (*entry)(struct pack_sink *k, const struct stream_entry *e, struct fault *f);
	int (*data)(struct pack_sink *k, const void *p, size_t n, struct fault *f);
	int (*end)(struct pack_sink *k, struct fault *f);  /* the stream is whole */
	void (*free)(struct pack_sink *k);                 /* whole or not */
	struct stream_reader reader;
	struct pack_stats stats;
	int failed;
};

struct pack_source {
	int (*next)(struct pack_source *s, struct text *t, struct fault *f);
	void (*free)(struct pack_source *s);
	struct pack_stats stats;
};

/* Counts an entry; LIMIT above PACK_ENTRIES_MAX. */
int pack_count(struct pack_stats *s, uint64_t bytes, struct fault *f);
void pack_note_skipped(struct pack_stats *s, const char *path, const char *why);

/* A fault from errno that names a path: name in dir, or dir's own for ".". DENIED when it is not
 * allowed, or something of another kind is in the way; else SYSTEM. */
int pack_fail(const char *what, int dir, const char *name, struct fault *f);
enum fault_kind pack_fault_kind(int sysno);

/* Opens a directory below another through no link at all; -1 with errno. */
int pack_open_below(int dir, const char *path, int flags);
