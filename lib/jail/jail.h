/*
 * A jail: one tree of namespaces with its init, and executions in it.
 *
 *	struct jail_spec spec = { .fs_fd = …, .skel_fd = …, … };
 *	jail_start(&spec, &j, &f);           clone, maps, plan sent; returns at once
 *	jail_release(j, doors, n, door, &f); init enters its control groups, and may fork from here on
 *	… poll jail_fd(j) …
 *	jail_read(j, &ev, &f)                READY, then a SPARE: an exec-init that waits
 *	jail_exec_start(x, &command, &f)     the spare becomes an execution
 *	… poll jail_exec_fd(x) …             STARTED or FAILED, then ENDED
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

struct jail_spec {
	const char *id;       /* for titles of processes */
	const char *hostname;
	int fs_fd;            /* the session's fs/: holds up, wk, root, low; becomes init's cwd */
	int skel_fd;          /* the lower directory */
	uint32_t id_base;     /* first host id of the block of JAIL_ID_COUNT; 0: a single map of
	                         the caller's own id */
	uint64_t shm_bytes;   /* [bytes] size of /dev/shm */
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
	JAIL_EVENT_READY,  /* built; .report, .root_fd */
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
int jail_pidfd(const struct jail *j);   /* readable: init is gone */

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

/* SIGKILL to init, which takes everything inside with it. */
void jail_kill(struct jail *j);

/* Kills, reaps for at most REAP_LIMIT_MS, and frees. Returns NULL. */
struct jail *jail_free(struct jail *j);

/* Limits of one process, applied inside the user namespace. 0: leave as it is. */
struct jail_rlimits {
	uint64_t nproc;
	uint64_t nofile;
	uint64_t fsize_bytes; /* [bytes] */
	uint64_t data_bytes;  /* [bytes] RLIMIT_DATA: the fallback for a memory limit */
	uint64_t cpu_s;
};

enum jail_command_kind {
	JAIL_RUN,        /* execve of argv[0], looked for in PATH of env */
	/* Builtins, as the payload and behind its walls. Files travel as base/stream.h. Exit
	 * status: 0 all done; 1 failed, and the last record on descriptor 1 is a FAULT; 2 some was
	 * left out, and a SKIPPED record says what. */
	JAIL_FILES_GET,  /* argv PATH ["follow"]: writes what is at PATH to descriptor 1 */
	JAIL_FILES_PUT,  /* argv PATH NAME: reads from descriptor 0, puts it where docker cp
	                    would; NAME "": the content of the top into the directory PATH */
	JAIL_FILES_EMPTY,/* argv DIRECTORY…: removes what is in them */
	JAIL_PROBE,      /* tries what must be refused; one JSON object on descriptor 1:
	                    {"mount":{"held":true,"observed":"EPERM"},…} */
};

struct jail_command {
	enum jail_command_kind kind;
	char *const *argv;
	char *const *env;
	const char *cwd;           /* absolute, inside; NULL: / */
	struct jail_rlimits rlimits;
	uint32_t uid, gid;         /* inside; with a single map only JAIL_UID */
	int oom_score_adj;
	bool tty;                  /* own pty inside: 0, 1 and 2; STARTED carries its master */
	uint16_t rows, columns;
	const int *fds;            /* descriptor i inside is fds[i]; -1: /dev/null */
	size_t n_fds;
};

enum jail_exec_event_kind {
	JAIL_EXEC_NONE,
	JAIL_EXEC_STARTED, /* execve succeeded; .tty_fd (caller's) with .tty */
	JAIL_EXEC_FAILED,  /* .stage, .sysno: never the program's own exit */
	JAIL_EXEC_ENDED,   /* the leader is gone and so is its tree */
	JAIL_EXEC_DEAD,    /* its socket has closed: it was killed, or it has said all */
};

struct jail_exec_event {
	enum jail_exec_event_kind kind;
	int status;              /* wait status of the leader, as of waitpid(2) */
	int sysno;
	char stage[16];          /* "cwd", "exec", "rlimit", "ids", "pty", … */
	uint32_t leftovers;      /* survivors that were killed */
	struct jail_usage usage; /* of the leader and what it waited for */
	int tty_fd;
};

enum jail_target { JAIL_TO_LEADER, JAIL_TO_GROUP, JAIL_TO_ALL };

uint32_t jail_exec_number(const struct jail_exec *x);
pid_t jail_exec_pid(const struct jail_exec *x); /* of the exec-init, on the host */
int jail_exec_fd(const struct jail_exec *x);
int jail_exec_pidfd(const struct jail_exec *x); /* readable: all of it is gone */

/* Faults: SYSTEM the spare is gone or its socket is full; LIMIT the command is too long. */
int jail_exec_start(struct jail_exec *x, const struct jail_command *c, struct fault *f);

/* Faults: BUG it sent what it never may; the caller kills it. */
int jail_exec_read(struct jail_exec *x, struct jail_exec_event *ret, struct fault *f);

/* Asks the exec-init to send a signal; it may be too late. */
void jail_exec_signal(struct jail_exec *x, int signal, enum jail_target to);

/* Asks it to SIGKILL every process that started after since_ticks (proc_pid_stat(5) field
 * 22), but the leader. */
void jail_exec_kill_since(struct jail_exec *x, uint64_t since_ticks);

void jail_exec_resize(struct jail_exec *x, uint16_t rows, uint16_t columns);

/* SIGKILL to the exec-init: the whole tree is gone soon after. */
void jail_exec_kill(struct jail_exec *x);

/* Kills and frees. Returns NULL. */
struct jail_exec *jail_exec_free(struct jail_exec *x);

/*
 * jail_probe - says whether jails can be made here, from making one
 *
 * Returns: 0, or negative.
 * Faults:  as of jail_start.
 */
int jail_probe(struct fault *f);
