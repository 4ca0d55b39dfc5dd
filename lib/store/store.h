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

struct store {
	int dir;          /* the home directory, 0700, ours */
	char path[4096];  /* how it was named; for messages only */
	uint32_t id_base; /* first host id of the home's block; 0: single map */
};

enum session_class { CLASS_EPHEMERAL, CLASS_TASK, CLASS_WORKSPACE };
enum session_state { STATE_CREATING, STATE_READY, STATE_STOPPED, STATE_EXPIRED };
extern const char *const session_class_names[], *const session_state_names[];

enum limit_kind { LIMIT_CPU, LIMIT_MEMORY, LIMIT_DISK, LIMIT_PIDS, LIMIT_NOFILE, LIMIT_KINDS };
extern const char *const limit_names[]; /* "cpu" "memory" "disk" "pids" "nofile" */

/* What was asked for: spec.json. Filled by cmd/ from options and YAML or JSON. */
struct session_spec {
	char id[ID_TEXT];
	char name[ID_TEXT];          /* "" without a name */
	char runtime[64];            /* as asked: "python:3" */
	char runtime_resolved[64];   /* "python:3.11" */
	char interpreter[256];       /* "/usr/bin/python3.11" */
	char skeleton[ID_TEXT];      /* directory in layers/ */
	enum session_class class;
	uint64_t limits[LIMIT_KINDS];   /* thousandths of a CPU, bytes, bytes, n, n; 0: none */
	uint32_t require;               /* bit i: refuse where limit i is not enforced */
	uint64_t lifetime_ms, idle_timeout_ms, dormant_after_ms, exec_timeout_ms; /* [ms] 0: none */
	uint64_t output_keep_bytes;     /* [bytes] */
	char **env;                     /* K=V, NULL-terminated */
	char **tools;                   /* recorded, not enforced */
	int64_t created_us;             /* [µs] wall clock */
};

void session_spec_done(struct session_spec *s);

/* One kept interpreter as it was last known. */
struct context_state {
	char name[ID_TEXT];
	char language[16]; /* "python" "node" "shell" */
	uint32_t epoch;    /* counts from 1: the first start */
	bool alive;        /* it was running when this was written */
};

enum { CONTEXTS_MAX = 16 };

/* What is: status.json, replaced at each change, never on the hot path of exec. */
struct session_status {
	enum session_state state;
	pid_t pid;                /* supervisor; 0: none */
	uint64_t pid_start_ticks; /* proc_pid_stat(5) field 22: a pid alone is no identity */
	pid_t init_pid;           /* init of its jail, on the host; 0: none */
	uint64_t init_start_ticks;
	char boot_id[40];
	int64_t last_used_us;     /* [µs] wall clock; end of the last exec */
	int64_t expires_us;       /* [µs] wall clock; 0: never */
	char enforced_by[LIMIT_KINDS][16];
	char cgroup[512];         /* where; "" without */
	struct context_state contexts[CONTEXTS_MAX];
	uint32_t n_contexts;
	char jail[1024];          /* JSON object: layers in force, fallbacks */
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

/* Makes layers/skel-… for the host's /etc as it is now unless it is there; its name. */
int store_skeleton(struct store *st, char ret[ID_TEXT], struct fault *f);

/* Opens layers/NAME. Faults: NOT_FOUND; SYSTEM. */
int store_skeleton_open(struct store *st, const char *name, int *ret_fd, struct fault *f);

/*
 * store_session_make - makes the directory of a new session and takes its lock
 * @spec:  moved into ret->spec (on 0 only); id and created_us are filled when empty
 *
 * Faults:  BUSY    the id or name is taken.
 *          USAGE   the id or name is not valid.
 *          LIMIT   the file system has no room.
 *          SYSTEM  anything else; nothing is left behind.
 */
int store_session_make(struct store *st, struct session_spec *spec, struct store_session *ret,
	struct fault *f);

/* By id or name, but its files are not read yet: of spec only id is set, of status nothing.
 * store_session_load reads them. Faults: USAGE, NOT_FOUND. */
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
 * go to trash/. Costs one readdir(3) where there is none. */
int store_each_one_off(struct store *st, int (*fn)(struct store_session *s, void *arg), void *arg,
	struct fault *f);

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
 * Faults:  SYSTEM
 */
int store_session_remove(struct store_session *s, struct fault *f);

/* Only the rename; store_empty_trash does the rest, off the hot path. */
int store_session_discard(struct store_session *s, struct fault *f);
int store_empty_trash(struct store *st, struct fault *f);

/* A new work directory for the overlay (the old one is discarded: its volatile marker
 * forbids another mount). Only under the lock and after the old init is reaped. Nothing is
 * done where none was used. ret_other_boot: it was used before this boot, so that what was
 * not synced may be lost. Faults: SYSTEM. */
int store_session_fresh_work(struct store_session *s, bool *ret_other_boot, struct fault *f);

/* Opens fs/ of a session, made at creation: up, wk, root, low. */
int store_session_fs(struct store_session *s, int *ret_fd, struct fault *f);

/* The kernel's id of this boot, 36 characters. Source: random(4). */
const char *store_boot_id(char ret[40]);

/* --- records ------------------------------------------------------------------------- */

/* exec/ID of a session. */
int store_exec_make(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f);
int store_exec_open(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f);

/* sha256 as 64 hex digits. */
enum { DIGEST_TEXT = 65 };
struct digest;
struct digest *digest_new(void);
void digest_add(struct digest *d, const void *p, size_t n);
struct digest *digest_end(struct digest *d, char ret[DIGEST_TEXT]); /* frees, returns NULL */

/*
 * request ids: requests/<sha256 of the id> holds the execution id and the digest of the body
 *
 * store_request_find: 1 found, 0 not, negative failed.
 */
int store_request_find(struct store_session *s, const char *request_id, char ret_exec[ID_TEXT],
	char ret_body[DIGEST_TEXT], struct fault *f);
int store_request_note(struct store_session *s, const char *request_id, const char *exec_id,
	const char body[DIGEST_TEXT], struct fault *f);
