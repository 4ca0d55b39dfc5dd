/*
 * What an execution changed: a scan of the overlay's upper directory against the manifest
 * of the scan before.
 *
 *	changes_new(&c);
 *	changes_scan(c, up_fd, lower_fd, NULL, &f);     baseline, when a session is woken
 *	…exec…
 *	changes_scan(c, up_fd, lower_fd, &list, &f);    what is different now
 *
 * Every directory is opened by descriptor with O_NOFOLLOW; names are bytes. Where a mode
 * stops the walk (ordinary user), it is repeated in a child in a fresh user namespace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/text.h"

enum change_kind { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED, CHANGE_RENAMED, CHANGE_METADATA };
extern const char *const change_names[];

struct change {
	char *path;        /* absolute, inside; bytes */
	char *old_path;    /* CHANGE_RENAMED: where it was */
	enum change_kind kind;
	mode_t mode;       /* with the type; of what was there for CHANGE_DELETED */
	uint64_t n;        /* [bytes] size */
};

struct change_list {
	struct change *items; /* sorted by path; at most LIMIT_FILES_LISTED, _BYTES */
	uint32_t n;
	uint64_t total;       /* of all, listed or not */
};

/* Source: 110 bytes an entry, 3 s a scan. */
enum { CHANGES_ENTRIES_MAX = 2000000 };

struct changes;

/* id_base: first host id of the session's block, as in struct store; 0: a single map. */
struct changes *changes_new(uid_t id_base);
struct changes *changes_free(struct changes *c);

/* A second lower directory below the first: what that has not. -1: none. Stays the caller's. */
void changes_set_base(struct changes *c, int fd);

/*
 * changes_scan - compares upper with the last scan
 * @up_fd:     the upper directory
 * @lower_fd:  the lower directory: tells added from modified, and metadata from content
 * @ret:       zeroed; NULL: only take the new state as the baseline
 *
 * Returns: 0, or negative; the state of the last scan stays the baseline then.
 * Faults:  SYSTEM  reading failed.
 *          LIMIT   more entries than CHANGES_ENTRIES_MAX, or it took too long.
 */
int changes_scan(struct changes *c, int up_fd, int lower_fd, struct change_list *ret, struct fault *f);

/* [bytes] blocks in use below upper, and entries, as of the last scan. */
uint64_t changes_bytes(const struct changes *c);
uint64_t changes_entries(const struct changes *c);

void change_list_done(struct change_list *l);

/* Blocks [bytes] and entries below a directory, hard links once; the proof of the disk limit.
 * Stops early above either bound. Faults: SYSTEM, LIMIT it took too long. */
int changes_measure(int up_fd, uint64_t enough_bytes, uint64_t enough_entries, uint64_t *ret_bytes,
	uint64_t *ret_entries, struct fault *f);
