/*
 * The control groups of one session: v1, v2 or none behind one header.
 *
 *	cgroup_make("sess_…", &limits, &cg, &f);   every value is read back
 *	cgroup_open_doors(cg, fds, &n, &f);        init writes "0" to each; children inherit
 *	fd = cgroup_child_make(cg, n);             memory evidence of one exec-init: the same
 *	…
 *	cg = cgroup_remove(cg);
 *
 * A process enters by writing "0", itself, to a descriptor that was opened here. With v1 that
 * file is "tasks": a single thread that moves itself needs none of the kernel's global locks
 * (30 µs), where writing its number to cgroup.procs from outside waits for a grace period after
 * idle (5 to 19 ms, Linux 6.18). Source: cgroup_procs_write_start, Linux 5.5.
 *
 * Groups are made below the caller's own group of each hierarchy and named sbx-ID.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/text.h"

struct cgroup_limits {
	uint64_t cpu_milli;     /* thousandths of a CPU; 0: none */
	uint64_t memory_bytes;  /* [bytes] 0: none */
	uint64_t pids;          /* 0: none */
};

enum cgroup_controller { CGROUP_CPU, CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CONTROLLERS };

struct cgroup;

/*
 * cgroup_make - makes the groups of a session, limits written and read back
 *
 * A controller that cannot be used is left out, not an error: cgroup_enforced says "none"
 * and cgroup_why says why.
 *
 * Returns: 0, or negative.
 * Faults:  LIMIT  a value was written and another one read back.
 */
int cgroup_make(const char *id, const struct cgroup_limits *l, struct cgroup **ret, struct fault *f);

/* "cgroup-v2", "cgroup-v1" or "none". */
const char *cgroup_enforced(const struct cgroup *cg, enum cgroup_controller c);
const char *cgroup_why(const struct cgroup *cg, enum cgroup_controller c);

/*
 * cgroup_fix - what the caller, or root, can do so that a controller is in use
 * @ret:  one command line, or a few words
 *
 * Returns: whether there is anything to do.
 */
bool cgroup_fix(const struct cgroup *cg, enum cgroup_controller c, struct text *ret);

/* One in each hierarchy: three of v1, and v2. */
enum { CGROUP_DOORS = 4 };

/* Opens what a process writes "0" to; the descriptors are the caller's. Faults: SYSTEM. */
int cgroup_open_doors(const struct cgroup *cg, int ret[CGROUP_DOORS], size_t *ret_n, struct fault *f);

struct cgroup_usage {
	uint64_t memory_bytes, memory_peak_bytes; /* [bytes] */
	uint64_t cpu_us;                          /* [µs] */
	uint64_t pids, pids_peak, pids_denied;    /* forks that were refused */
	uint64_t oom_kills;
	bool has_memory, has_cpu, has_pids;       /* the numbers above are evidence */
};

/* Of the whole session. What cannot be read is left 0 with its has_ false. */
void cgroup_read(struct cgroup *cg, struct cgroup_usage *ret);

/* A child memory group without a limit for exec-init n: the descriptor that it writes "0" to.
 * -errno; -ENOENT where there is no memory controller. */
int cgroup_child_make(struct cgroup *cg, uint32_t n);
void cgroup_child_read(struct cgroup *cg, uint32_t n, struct cgroup_usage *ret);
void cgroup_child_remove(struct cgroup *cg, uint32_t n);

/* Where the groups lie, one directory a line, for status.json. */
void cgroup_paths(const struct cgroup *cg, char *buf, size_t room);

/* Removal by that text after a crash: kills what is left in it (cgroup.kill, else by pidfd), then
 * rmdir. Faults: FORMAT a line is no group of a session; SYSTEM one stays. */
int cgroup_remove_paths(const char *paths, struct fault *f);

/* The same where it was not even written down: what a session of this id has below the
 * caller's own group. */
void cgroup_remove_id(const char *id);

/* Removes the groups; retries EBUSY for at most 500 ms. Returns NULL. */
struct cgroup *cgroup_remove(struct cgroup *cg);
