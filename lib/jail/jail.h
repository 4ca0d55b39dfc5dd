/*
 * A jail: one tree of namespaces with its init, which makes exec-inits.
 *
 *	struct jail_spec spec = { .fs_fd = …, .skel_fd = …, … };
 *	jail_start(&spec, &j, &f);           clone, maps, plan sent; returns at once
 *	jail_release(j, doors, n, door, &f); init enters its control groups, and may fork from here on
 *	… poll jail_fd(j) …
 *	jail_read(j, &ev, &f)                READY, then a SPARE: an exec-init that waits
 *	…                                    jail/exec.h: the spare becomes an execution
 *	jail_want_spare(j, door, &f)         off the hot path: the next one
 *	j = jail_free(j);                    kills what is left
 *
 * Nothing here blocks but jail_free. Everything that comes back from inside is checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/text.h"

enum {
	JAIL_UID = 1000,        /* the payload's uid and gid inside, in every mode */
	JAIL_ID_COUNT = 65536,  /* ids of a block */
};

/* A read-only file shown below /run/sbx (drivers). */
struct jail_file {
	const char *name;
	const void *data;
	size_t n; /* [bytes] */
};

/* Where the upper directory lies. */
enum jail_disk {
	JAIL_DISK_PLAIN, /* fs/up */
	JAIL_DISK_MOUNT, /* a file system that the caller has made */
	JAIL_DISK_TMPFS, /* memory; gone with the jail */
};

struct jail_spec {
	const char *id;       /* for titles of processes */
	const char *hostname;
	int fs_fd;            /* the session's fs/: holds up, wk, root, low; becomes init's cwd */
	int skel_fd;          /* the lower directory */
	bool has_base;        /* base_fd, a root file system of its own, lies below it; nothing of
	                         the host's /usr is shown then */
	int base_fd;
	enum jail_disk disk;
	int disk_fd;          /* JAIL_DISK_MOUNT: a detached mount with up and wk in it */
	uint64_t disk_bytes;  /* [bytes] JAIL_DISK_TMPFS: its size */
	uint32_t id_base;     /* first host id of the block of JAIL_ID_COUNT; 0: a single map of
	                         the caller's own id */
	uint64_t shm_bytes;   /* [bytes] size of /dev/shm */
	bool is_weak;         /* no namespaces: Landlock and seccomp alone, on the host's own paths */
	bool deny_fallocate;  /* disk limit is polled: fallocate gives EOPNOTSUPP */
	const struct jail_file *files;
	size_t n_files;
};

/* What came to be. All of it is shown by doctor, create --json and show. */
struct jail_report {
	char overlay_volatile;     /* each: 1 in force, 0 not */
	char proc_masked;
	char seccomp;
	char landlock_abi;         /* 0: none */
	int landlock_errno;        /* inside only: why there is none */
	char userns_limited;       /* max_user_namespaces is 0 inside */
	char sealed;               /* init runs from a sealed memfd */
	char private_keyring;
	char net_loopback;
	char fallbacks[512];       /* one line each, "" if there was none */
};

struct jail;
struct jail_exec;

enum jail_event_kind {
	JAIL_EVENT_NONE,   /* nothing more to read now */
	JAIL_EVENT_READY,  /* built; .report, .root_fd, .up_fd */
	JAIL_EVENT_SPARE,  /* .exec, the caller's */
	JAIL_EVENT_REAPED, /* an exec-init is gone: .number, .usage */
	JAIL_EVENT_FAILED, /* .fault; .number 0: set-up failed, DEAD follows; else that spare */
	JAIL_EVENT_DEAD,   /* init is gone */
};

struct jail_usage {
	int64_t cpu_us;        /* [µs] user and system time of everything that was waited for */
	int64_t max_rss_bytes; /* [bytes] of the largest process */
};

struct jail_event {
	enum jail_event_kind kind;
	struct jail_report report;
	struct fault fault;
	struct jail_exec *exec;
	struct jail_usage usage;
	uint32_t number; /* which exec-init; counts from 1 in a jail */
	int root_fd;     /* O_PATH of the new root, the caller's */
	int up_fd;       /* the same of the upper directory with JAIL_DISK_TMPFS; else -1 */
};

/*
 * jail_plan_print - writes the plan of a jail as JSON, without touching the system
 * @s:  the descriptors may be -1
 * @t:  gets one JSON object
 */
void jail_plan_print(const struct jail_spec *s, struct text *t);

/*
 * jail_start - clones init into new namespaces and sends it the plan
 * @s:    copied; the descriptors stay the caller's
 * @ret:  the jail; set on 0 only
 *
 * Returns: 0, or negative.
 * Faults:  DENIED  the kernel or a policy refuses user namespaces; the text names the
 *                  cause (sysctl, AppArmor, container) and the fix.
 *          LIMIT   too many processes or namespaces.
 *          SYSTEM  anything else.
 */
int jail_start(const struct jail_spec *s, struct jail **ret, struct fault *f);

pid_t jail_pid(const struct jail *j);   /* of init, on the host */
int jail_fd(const struct jail *j);      /* readable: call jail_read */

/* Lets init go on past its set-up and fork. Before that it writes "0" to each of the doors,
 * and the first spare to its own (-1: none): sys/cgroup.h. All stay the caller's. Faults: SYSTEM. */
int jail_release(struct jail *j, const int *doors, size_t n_doors, int spare_door, struct fault *f);

/* The number of the spare that jail_want_spare asks for next; the first of all has 1. */
uint32_t jail_next_number(const struct jail *j);

/* Takes the next event without blocking; JAIL_EVENT_NONE when there is none.
 * Faults: BUG init sent what it never may; the caller ends the jail. */
int jail_read(struct jail *j, struct jail_event *ret, struct fault *f);

/* Asks for one more spare, which enters by a door as above. Faults: SYSTEM. */
int jail_want_spare(struct jail *j, int door, struct fault *f);

/* A path that a program inside names, as one below the root that READY came with. Owned. */
char *jail_path_inside(const struct jail *j, const char *path);

/* SIGKILL to init, which takes everything inside with it. */
void jail_kill(struct jail *j);

/* Kills, reaps for at most REAP_LIMIT_MS, and frees. Returns NULL. */
struct jail *jail_free(struct jail *j);
