/*
 * What the supervisor looks at while something runs and no controller does it: room on
 * the disk, memory and processes of a tree.
 *
 *	watch_disk_init(&w, limit_bytes);
 *	watch_disk_begin(&w, now_ms);                    something starts to run
 *	… at watch_disk_next_ms(&w): watch_disk_step(&w, changes, up_fd, now_ms, &used)
 *
 * No threads, no timers of its own, every step bounded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/changes.h"

enum { WATCH_OVER = 1 };

/* statvfs is the trigger, a walk the proof. Source: 9-jail-measured.md section 7. */
struct watch_disk {
	uint64_t limit_bytes;  /* [bytes] 0: none */
	uint64_t known_bytes;  /* [bytes] in use at the last walk */
	uint64_t free_bytes;   /* [bytes] of the file system at the last walk */
	int64_t next_ms, begin_ms;
};

void watch_disk_init(struct watch_disk *w, uint64_t limit_bytes);
void watch_disk_begin(struct watch_disk *w, int64_t now_ms);

/*
 * watch_disk_step - looks when it is time
 * @c:         for its walk and what is known of upper
 * @ret_used:  [bytes] in use; set on WATCH_OVER only
 *
 * Returns: 0, or WATCH_OVER: a walk has proven that the limit is passed.
 */
int watch_disk_step(struct watch_disk *w, struct changes *c, int up_fd, int64_t now_ms,
	uint64_t *ret_used);

/* [ms] monotonic; 0: never. */
int64_t watch_disk_next_ms(const struct watch_disk *w);

/* Of the tree below a process of the host (itself not counted for memory): resident bytes,
 * shared pages once where the kernel tells; how many processes, itself included. At most
 * 4096 processes are looked at. 0 when it is gone. */
uint64_t watch_tree_rss(pid_t pid);
uint32_t watch_tree_count(pid_t pid);

/* The first child of a process; 0: none. Source: /proc/PID/task/PID/children, proc(5). */
pid_t watch_child(pid_t pid);

/* [µs] CPU time of one process with its threads. Source: clock_getcpuclockid(3). */
int64_t watch_cpu_us(pid_t pid);

/* [bytes] VmHWM of one process. */
uint64_t watch_peak_rss(pid_t pid);

/* Nothing lies in dev/shm below a root. True when it cannot be told. */
bool watch_shm_is_empty(int root_fd);
