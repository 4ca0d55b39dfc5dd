/*
 * An execution in a jail: one exec-init and what it runs.
 *
 *	jail_exec_start(x, &command, &f)     x as jail_read gave it
 *	… poll jail_exec_fd(x) …
 *	jail_exec_read(x, &ev, &f)           STARTED or FAILED, then ENDED
 *	x = jail_exec_free(x);               kills what is left
 *
 * Nothing here blocks. Everything that comes back from inside is checked.
 */
#pragma once

#include "jail/jail.h"

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
	JAIL_FILES_EMPTY,/* argv DIRECTORY…: removes what is in them; ends with FREED */
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

/* Asks it to send a signal to every process that started after since_ticks (proc_pid_stat(5)
 * field 22), but the leader. */
void jail_exec_signal_since(struct jail_exec *x, int signal, uint64_t since_ticks);

void jail_exec_resize(struct jail_exec *x, uint16_t rows, uint16_t columns);

/* SIGKILL to the exec-init: the whole tree is gone soon after. */
void jail_exec_kill(struct jail_exec *x);

/* Kills and frees. Returns NULL. */
struct jail_exec *jail_exec_free(struct jail_exec *x);
