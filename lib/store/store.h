/*
 * The home directory: sessions by id and name, their state files and locks.
 *
 *	store_open(&st, &f);
 *	store_session_open(&st, "sess_… or name", &s, &f);
 *	store_session_lock(&s, &f)        0, or STORE_LOCKED: a supervisor lives
 *	… s.dir, s.spec …
 *	store_session_close(&s);
 *
 * Layout: 1-product.md section 7 as DESIGN.md settles it. A session directory is complete
 * without any process. Only the holder of its lock writes in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/id.h"
#include "base/text.h"
#include "store/spec.h"

struct store {
	int dir;          /* the home directory, 0700, ours */
	char path[4096];  /* how it was named; for messages only */
	uint32_t id_base; /* first host id of the home's block; 0: single map */
};

struct store_session {
	struct store *store;
	int dir;          /* sessions/ID */
	int lock_fd;      /* -1: not held */
	bool is_loaded;   /* spec and status were read */
	bool damaged;     /* its files cannot be read: of spec and status only spec.id is known */
	struct session_spec spec;
	struct session_status status;
};

/* Opens (and on the first use makes) the home directory. Faults: DENIED it is not ours or
 * others can write it; SYSTEM. */
int store_open(struct store *st, struct fault *f);
void store_close(struct store *st);

/* Makes layers/skel-… for the host's /etc as it is now unless it is there; its name. Faults:
 * LIMIT no room, or too much in /etc; SYSTEM. */
int store_skeleton(struct store *st, char ret[ID_TEXT], struct fault *f);

/* The same for a root file system of its own: only what has to be there and what has to cover what
 * may be there; nothing of the host. Faults: as of store_skeleton. */
int store_skeleton_bare(struct store *st, char ret[ID_TEXT], struct fault *f);

/* Opens layers/NAME. Faults: NOT_FOUND; SYSTEM. */
int store_skeleton_open(struct store *st, const char *name, int *ret_fd, struct fault *f);

/*
 * store_session_make - makes the directory of a new session and takes its lock
 * @spec:  moved into ret->spec (on 0 only); id and created_us are filled when empty
 *
 * Returns: 0, or negative.
 * Faults:  BUSY    the id or name is taken.
 *          USAGE   the id or name is not valid.
 *          LIMIT   the file system has no room.
 *          SYSTEM  anything else; nothing is left behind.
 */
int store_session_make(struct store *st, struct session_spec *spec, struct store_session *ret,
	struct fault *f);

/* By id or name, but its files are not read yet: of spec only id is set, of status nothing.
 * store_session_load reads them. Faults: USAGE, NOT_FOUND, SYSTEM; loading: FORMAT they are
 * damaged. */
int store_session_find(struct store *st, const char *id, struct store_session *ret, struct fault *f);
int store_session_load(struct store_session *s, struct fault *f);

/* By id or name. Faults: USAGE not an id; NOT_FOUND; FORMAT its files are damaged. */
int store_session_open(struct store *st, const char *id, struct store_session *ret, struct fault *f);

/* The same, but a session with damaged files is opened too, with .damaged set: it can be
 * locked and removed. Faults: USAGE, NOT_FOUND, SYSTEM. */
int store_session_open_any(struct store *st, const char *id, struct store_session *ret,
	struct fault *f);
void store_session_close(struct store_session *s);

enum { STORE_LOCKED = 1 };

/* Takes the lock (OFD, fcntl(2) F_OFD_SETLK). 0, STORE_LOCKED, or negative. Status is read
 * again once it is held. Faults: SYSTEM; FORMAT; NOT_FOUND it was removed meanwhile. */
int store_session_lock(struct store_session *s, struct fault *f);

/* Whether another open file holds the lock: a supervisor lives. Takes nothing. Faults: SYSTEM. */
int store_session_is_live(const struct store_session *s, bool *ret_live, struct fault *f);

/* Reads or replaces status.json. Faults: SYSTEM, FORMAT. */
int store_status_read(struct store_session *s, struct fault *f);
int store_status_write(struct store_session *s, struct fault *f);

/* Opens events/ of a session. Faults: SYSTEM. */
int store_session_events(struct store_session *s, int *ret_fd, struct fault *f);

/* Everything of it is on disk afterwards. Source: syncfs(2). */
void store_session_sync(struct store_session *s);

/* How ids of sessions that live for one command begin, so that leftovers are found by name. */
#define STORE_ONE_OFF "run_"

/* As store_each for one-off sessions only; directories that a killed create left half made
 * go to trash/. Costs one readdir(3) where there is none. Faults: SYSTEM. */
int store_each_one_off(struct store *st, int (*fn)(struct store_session *s, void *arg), void *arg,
	struct fault *f);

/* How many sessions there are, one-off ones too, by their names. Faults: SYSTEM. */
int store_count(struct store *st, uint64_t *ret_n, struct fault *f);

/* Calls fn for each session, oldest first, damaged ones too (see .damaged); fn's non-zero
 * ends it and is returned. fn may remove the session. Faults: SYSTEM. */
int store_each(struct store *st, int (*fn)(struct store_session *s, void *arg), void *arg,
	struct fault *f);

/*
 * store_session_remove - removes a session whose lock is held, whatever it contains
 *
 * Its directory is first renamed into trash/, so that it is gone in one step; then deleted
 * without following links, across all modes and owners. A kill in between leaves trash
 * that the next call (or gc) empties.
 *
 * Returns: 0, or negative.
 * Faults:  SYSTEM  a step failed.
 */
int store_session_remove(struct store_session *s, struct fault *f);

/* Only the rename; store_empty_trash does the rest, off the hot path. Faults: NOT_FOUND, SYSTEM. */
int store_session_discard(struct store_session *s, struct fault *f);
int store_empty_trash(struct store *st, struct fault *f);

/* A new work directory for the overlay (the old one is discarded: its volatile marker
 * forbids another mount). Only under the lock and after the old init is reaped. Nothing is
 * done where none was used. ret_other_boot: it was used before this boot, so that what was
 * not synced may be lost. Faults: SYSTEM. */
int store_session_fresh_work(struct store_session *s, bool *ret_other_boot, struct fault *f);

/* On a file system of a session's own: up is there, and a work directory that was never used.
 * Conditions as above. Faults: SYSTEM, LIMIT. */
int store_disk_prepare(struct store *st, int disk, struct fault *f);

/* Opens fs/ of a session, made at creation: up, wk, root, low. Faults: NOT_FOUND, SYSTEM. */
int store_session_fs(struct store_session *s, int *ret_fd, struct fault *f);

/* The kernel's id of this boot, 36 characters. Source: random(4). */
const char *store_boot_id(char ret[40]);
