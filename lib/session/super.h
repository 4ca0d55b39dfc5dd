/*
 * The supervisor of one session, inside: what its files share. One process, one loop.
 *
 *	super.c    loop, timers, end                conn.h     clients
 *	begin.c    jail, cgroup, socket             exec-do.h  executions, begin to end
 *	watch.h    limits that are kept by looking  cell.h     kept interpreters
 */
#pragma once

#include "event/event.h"
#include "session/cell.h"
#include "session/config.h"
#include "session/conn.h"
#include "session/disk.h"
#include "session/exec-do.h"
#include "session/watch.h"

enum { CONNS_MAX = 256 };

struct super {
	struct store *store;
	struct store_session *session;
	struct loop loop;
	struct journal journal;
	int events_dir;
	struct jail *jail;
	struct jail_report report;
	struct source jail_source, listen, signals;
	int signal_fd, listen_fd, fs_fd, up_fd, lower_fd, base_fd, root_fd;
	int mount_fd;                  /* DISK_LOOP, until init has it */
	struct jail_exec *spare;
	int64_t setup_ms;              /* init should have answered by then; 0: it owes nothing */
	int64_t look_ms;               /* when it looks whether its directory is still there */
	int64_t spare_retry_ms;        /* the last one could not be made: when to try again */
	uint32_t n_spare_failures;     /* in a row */
	bool spare_asked, spare_grouped, ready, jail_gone, last_done;
	struct cgroup *cgroup;
	struct cgroup_limits cgroup_limits;
	struct changes *changes;
	struct watch_disk disk;
	struct config config;
	int slots_fd, slots_from;      /* with a cap of executions; where the last place was */
	struct conn *conns;
	uint32_t n_conns;
	struct exec *execs;
	struct store_spares spares;    /* inodes for the next executions */
	bool is_used;                  /* something has run: more may come */
	struct context contexts[CONTEXT_PLACES];
	struct context_state warm_state;
	uint32_t n_warm_taken, n_warm_failures;
	bool wants_warm;               /* one more is to be started ahead */
	bool has_compiled;             /* the driver of its Python is a compiled one */
	int64_t idle_since_ms, expires_ms;
	bool ending;                    /* no new work */
	enum wire_stop stop;
	struct conn *stop_conn;
	bool memory_warned, disk_warned, pids_warned;
	const char *crossed;           /* a limit of which 80 % were crossed, not acted on yet */
	bool disk_repaired;            /* DISK_LOOP, and the journal does not say it yet */
	bool files_lost;               /* DISK_TMPFS: no result has told it yet */
	uint64_t pids_denied;          /* forks refused so far */
	struct fault fault;
};

/* --- super.c ------------------------------------------------------------------------------ */

/* Begins an event of the session, or of e; super_journal ends it, and sends it to e's client
 * where that follows. */
struct text *super_event(struct super *s, enum event_type type, struct exec *e);
void super_journal(struct super *s, struct exec *e);

/* The clock of its lifetime, from its status; now_us [µs] is the time of the wall clock. */
void super_set_expiry(struct super *s, int64_t now_us);

/* It is used now, and its lifetime becomes lifetime_ms [ms]; 0: no end; SESSION_LIFETIME_KEEP: it
 * stays as it is. Faults: SYSTEM that cannot be written down. */
int super_touch(struct super *s, uint64_t lifetime_ms, struct fault *f);

/* Writes status.json, best effort. */
void super_save_status(struct super *s);

/* Asks for a spare, unless there is one or one is coming. */
void super_spare_wanted(struct super *s);

/* One could not be made; it is tried again. Or it died while it waited. */
void super_spare_failed(struct super *s, uint32_t number, const struct fault *f);
void super_spare_lost(struct super *s, uint32_t number);

/* A client hung up. A one-off session that nobody is left to ask for anything ends. */
void super_conn_gone(struct super *s);

/* Begins the end: nothing new is taken, what runs is cancelled. c is told; NULL: nobody. */
void super_stop(struct super *s, enum wire_stop how, struct conn *c);

/* Stops the session when what runs has ended, for the limit that was crossed; what waits fails. */
void super_end(struct super *s, const char *crossed);

/* Some execution has not ended. */
bool super_is_busy(const struct super *s);

/* --- mend.c: after a kill ------------------------------------------------------------------ */

/* Every execution without a last event gets it. */
void mend_executions(struct super *s);

/* --- overdue.c: set-up that does not come to an end --------------------------------------- */

/* [ms] A jail takes 3 ms, an interpreter 10 to 100; emulated machines are 20 times slower. */
enum { SETUP_LIMIT_MS = 20000 };

/* Init was asked for something; it has answered. */
void overdue_expect(struct super *s);
void overdue_arrived(struct super *s);

/* Fails what waits for too long already; and when that is next [ms], 0: never. */
void overdue_step(struct super *s);
int64_t overdue_next_ms(const struct super *s);

/* --- begin.c ------------------------------------------------------------------------------ */

/* Directories, journal, jail, control groups, socket. Faults: as of session_create. */
int super_begin(struct super *s, struct fault *f);

/* The jail has ended, for the reason in s->fault if there is one: what ran in it is lost. */
void super_jail_gone(struct super *s);
