/*
 * The raw output of one stream on disk, addressed by offset: the first half of the budget
 * as it is, the rest as a ring (DESIGN.md section 4). The file is made with the first byte.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"
#include "store/record.h"

struct spool {
	int dir;           /* exec/ID, the caller's */
	const char *name;  /* "stdout" or "stderr" */
	struct store_spares *spares; /* NULL: none */
	int fd;            /* -1: nothing was written yet */
	uint64_t half;     /* [bytes] half of the budget */
	uint64_t total;    /* [bytes] ever written */
	int error;         /* errno of the first write that failed; the rest is only counted */
	struct digest *digest;
};

/* @budget_bytes: [bytes] for this stream. The file is a spare one where there is one. */
void spool_init(struct spool *s, int dir, const char *name, uint64_t budget_bytes,
	struct store_spares *spares);
void spool_add(struct spool *s, const void *p, size_t n);

/* [bytes] How many of the bytes written are on disk. */
uint64_t spool_kept(const struct spool *s);

/*
 * spool_read - appends bytes from an offset
 * @offset:  [bytes] of the first byte wanted
 * @n:       [bytes] at most so many
 *
 * Returns: how many were appended; fewer at the end or before the gap; 0 inside the gap.
 */
size_t spool_read(const struct spool *s, uint64_t offset, size_t n, struct text *t);

/* Ends the digest (hex, of every byte written) and closes. */
void spool_done(struct spool *s, char ret_digest[DIGEST_TEXT]);
