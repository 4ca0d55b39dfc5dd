/*
 * Limits that are kept by looking: disk, and memory where there is no control group.
 *
 *	watch_disk_init(&w, limit_bytes);
 *	watch_disk_begin(&w, now_ms);                        an execution starts
 *	… poll until watch_disk_next_ms(&w) …
 *	if (watch_disk_step(&w, up_fd, now_ms, &used) == WATCH_OVER) …
 *
 * No threads, no timers: the caller's loop asks when to call again. Nothing here blocks but
 * the walk that proves a breach, and that is rationed to a quarter of the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/changes.h"

/* Source: 9-jail-measured.md, section 7: page cache fills at 5 GB/s and process. */
enum { WATCH_FIRST_MS = 20, WATCH_MIN_MS = 5, WATCH_MAX_MS = 500, WATCH_BYTES_PER_MS = 10000000 };

/* [ms] The least where nothing runs but what earlier cells left: it may be so for days. */
enum { WATCH_CALM_MS = 100 };

/* Least number of files that a session may have; with more disk it may have more. */
enum { WATCH_ENTRIES_MIN = 20000, WATCH_BYTES_PER_ENTRY = 16384 };

enum { WATCH_OVER = 1 };

struct watch_disk {
	uint64_t limit_bytes;         /* [bytes] 0: none */
	uint64_t limit_entries;
	uint64_t old_bytes, old_entries; /* what was over the limit already may stay */
	pid_t tree;                   /* may be set by the caller: files of these processes that
	                                 are deleted but open count too; 0: no */
	bool is_calm;                 /* may be set by the caller: fewer looks, and a proof
	                                 without a suspicion once a minute */
	bool is_counted;              /* the caller's: what was allowed is newer than its scan */
	bool is_known;                /* the fields below are */
	uint64_t used_bytes, used_entries;   /* as of the last proof */
	uint64_t free_bytes, free_entries;   /* of the file system: the most since then */
	int64_t next_ms;              /* monotonic, as the next two */
	int64_t proof_ms, regular_ms; /* no proof before; a proof without a suspicion */
	bool over_entries;            /* the breach was of the number of files */
};

void watch_disk_init(struct watch_disk *w, uint64_t limit_bytes);
void watch_disk_begin(struct watch_disk *w, int64_t now_ms);

/* What is there when an execution begins: a session over its limit may delete, and must not
 * be stopped while it does; only growth is a breach then. */
void watch_disk_allow(struct watch_disk *w, uint64_t bytes, uint64_t entries);

/*
 * watch_disk_step - looks whether a session is over its disk limit
 * @up_fd:     the upper directory
 * @now_ms:    [ms] monotonic
 * @ret_used:  [bytes] in use; set on WATCH_OVER only
 *
 * statvfs(2) is the trigger (0.3 µs, counts everything at once, but of all writers); a walk is
 * the proof. What cannot be proved because reading fails is no breach.
 *
 * Returns: 0, or WATCH_OVER.
 */
int watch_disk_step(struct watch_disk *w, int up_fd, int64_t now_ms,
	uint64_t *ret_used);

/* [ms] When to call it next, monotonic; 0: never. */
int64_t watch_disk_next_ms(const struct watch_disk *w);

/* --- processes below one, itself included, as the host sees them ------------------------- */

/* More are not looked at. Source: the greatest pids limit of a size. */
enum { WATCH_TREE_MAX = 4096 };

/* How many; and when the last of those below started [ticks, proc_start_ticks], 0: there are none.
 * Source: proc_pid_task(5) children. A process may be missed while the tree changes. */
uint32_t watch_tree_count(pid_t pid, uint64_t *ret_newest_ticks);

/* [ms] CPU time, with that of those which have been waited for. */
uint64_t watch_tree_cpu_ms(pid_t pid);

/* [bytes] Resident memory that is not of a file; what is shared counts once. */
uint64_t watch_tree_rss(pid_t pid);

/* [bytes] Regular files on disk that are deleted but open in the tree, each once. */
uint64_t watch_tree_deleted(pid_t pid);

/* The first child; 0: none. */
pid_t watch_child(pid_t pid);

/*
 * A process that is looked at again and again, below its exec-init: descriptors of /proc that are
 * kept open, and with them the process is the same one for sure.
 */
struct watch_leader {
	pid_t pid, init;                      /* 0: none */
	clockid_t clock;
	int stat_fd, children_fd, init_children_fd;
};

/* init: the exec-init, whose first child it is. Without one pid is 0. */
void watch_leader_open(struct watch_leader *l, pid_t init);
void watch_leader_close(struct watch_leader *l);

struct watch_look {
	int64_t cpu_us;    /* [µs] CPU time of the process */
	int64_t waited_us; /* [µs] and of its children that it has waited for */
	uint32_t children; /* how many processes there are below init, it not counted */
	uint64_t newest_ticks; /* when the last of them, or the process, started; 0: it is alone */
};

/* [µs] CPU time of the process alone; 0 where there is none. */
int64_t watch_leader_cpu_us(const struct watch_leader *l);

/* What has come of it. The whole tree is read only where the first look finds somebody. */
void watch_leader_look(const struct watch_leader *l, struct watch_look *ret);

/* [bytes] Most resident memory of one process so far. Source: proc_pid_status(5) VmHWM. */
uint64_t watch_peak_rss(pid_t pid);

/* Whether /dev/shm below a root descriptor is there and readable and has nothing in it, or is
 * not there. */
bool watch_shm_is_empty(int root_fd);
