/* What is kept of a session: what was asked for, and what is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/id.h"

enum session_class { CLASS_EPHEMERAL, CLASS_TASK, CLASS_WORKSPACE };
enum session_state { STATE_CREATING, STATE_READY, STATE_STOPPED, STATE_EXPIRED };
extern const char *const session_class_names[], *const session_state_names[];

enum limit_kind { LIMIT_CPU, LIMIT_MEMORY, LIMIT_DISK, LIMIT_PIDS, LIMIT_NOFILE, LIMIT_KINDS };
extern const char *const limit_names[]; /* "cpu" "memory" "disk" "pids" "nofile" */

/* Where a session's files lie: in the home directory, in a file with a file system of its own, or
 * in memory. The second and the third cannot grow over their size. */
enum disk_kind { DISK_PLAIN, DISK_LOOP, DISK_TMPFS };
extern const char *const session_disk_names[]; /* "plain" "loop" "tmpfs" */

/* What happens when an execution ends above 80 % of memory or disk, besides the warning. */
enum session_threshold { THRESHOLD_WARN, THRESHOLD_CLEAN, THRESHOLD_STOP };
extern const char *const session_threshold_names[];

/* What keeps a session in: namespaces with everything else, or Landlock and seccomp alone. */
enum isolation_kind { ISOLATION_STRONG, ISOLATION_WEAK };
extern const char *const session_isolation_names[]; /* "strong" "weak" */

/* What was asked for: spec.json. Filled by cmd/ from options and YAML or JSON. */
struct session_spec {
	char id[ID_TEXT];
	char name[ID_TEXT];          /* "" without a name */
	char runtime[64];            /* as asked: "python:3" */
	char runtime_resolved[64];   /* "python:3.11" */
	char *runtime_dir;           /* "dir:/srv/image": a root file system of its own; NULL: none */
	char interpreter[256];       /* "/usr/bin/python3.11"; "" with a runtime_dir */
	char skeleton[ID_TEXT];      /* directory in layers/ */
	enum session_class class;
	bool one_command;            /* one-off, and no code: no interpreter is started in it. Not
	                                written down: only the fork of who asked needs it */
	bool foreign_ids;            /* some of its files have ids that do not exist inside */
	enum disk_kind disk;
	enum session_threshold on_threshold;

	enum isolation_kind isolation;
	uint64_t limits[LIMIT_KINDS];   /* thousandths of a CPU, bytes, bytes, n, n; 0: none */
	uint32_t require;               /* bit i: refuse where limit i is not enforced */
	uint64_t lifetime_ms, idle_timeout_ms, dormant_after_ms, exec_timeout_ms; /* [ms] 0: none */
	uint64_t output_keep_bytes;     /* [bytes] */
	char **env;                     /* K=V, NULL-terminated */
	char **tools;                   /* recorded, not enforced */
	char **preload;                 /* modules that an interpreter has imported ahead; NULL: none */
	int64_t created_us;             /* [µs] wall clock */
};

void session_spec_done(struct session_spec *s);

/* What it is built on, as people know it: "python:3.11", "dir:/srv/image". */
const char *session_spec_runtime(const struct session_spec *s);

/* The directory of runtime_dir, or NULL. */
const char *session_spec_base(const struct session_spec *s);

/* One kept interpreter as it was last known. */
struct context_state {
	char name[ID_TEXT];
	char language[16]; /* "python" "node" "shell" */
	uint32_t epoch;    /* counts from 1: the first start */
	bool alive;        /* it was running when this was written */
	char lost[120];    /* why the variables of the last one are gone; "": they are not, or were given up */
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

/* Declared here, with what makes it needed: ISOLATION_WEAK. */
struct store_session;
struct fault;

/* Lets an id of the block pass through to fs/ (by its group), where no namespace brings it there;
 * an ordinary user's may. Faults: DENIED others may not pass above the home directory; SYSTEM. */
int store_session_let_in(struct store_session *s, uint32_t id, struct fault *f);
