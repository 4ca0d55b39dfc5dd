/* One execution in the supervisor, begin to end: exec.c, exec-io.c, settle.c, limit.c,
 * result.c, record.c, repeat.c. */
#pragma once

#include "jail/exec.h"
#include "session/changes.h"
#include "session/loop.h"
#include "session/spool.h"
#include "session/wire.h"
#include "sys/cgroup.h"

struct super;
struct conn;
struct context;

enum { OVERLAPS_MAX = 16, WARNINGS_MAX = 12 };

enum exec_status {
	EXEC_RUNNING, EXEC_SUCCESS, EXEC_ERROR, EXEC_TIMEOUT, EXEC_OOM, EXEC_LIMIT, EXEC_KILLED,
	EXEC_CANCELLED, EXEC_SETUP_FAILED, EXEC_LOST,
};

enum exec_reason {
	REASON_EXIT, REASON_SIGNAL, REASON_TIMEOUT_WALL, REASON_TIMEOUT_CPU, REASON_OOM, REASON_PIDS,
	REASON_DISK, REASON_OUTPUT, REASON_POLICY, REASON_CANCELLED, REASON_SETUP,
	REASON_INTERPRETER_DIED,
};

extern const char *const exec_status_names[], *const exec_reason_names[];

struct warning {
	const char *kind;
	char message[200];
};

/* One of the two output streams of an execution. */
struct stream {
	struct exec *exec;
	struct source source;   /* its pipe; contexts own theirs */
	int fd;
	struct spool spool;
	uint64_t event_from;    /* [bytes] offset of the first byte not yet in an event */
	int64_t event_ms;       /* when the last output event was written */
};

enum exec_phase { PHASE_QUEUED, PHASE_STARTING, PHASE_RUNNING, PHASE_ENDED };

/* How far the ending of a running execution by force has gone. */
enum stop_stage { STOP_NOT, STOP_ASKED, STOP_OWN, STOP_TERMINATED, STOP_KILLED };

struct exec {
	struct super *s;
	struct exec *next;
	char id[ID_TEXT];
	struct wire_exec w;
	struct conn *conn;             /* NULL: the client is gone */
	enum files_kind files;         /* with is_files */
	bool is_files, is_cell;
	enum exec_phase phase;
	int slot;                      /* of gate_take; 0: none */
	int dir;                       /* exec/ID */

	struct jail_exec *x;           /* a command's own; of a cell: its context's */
	struct source control;         /* the exec-init's socket */
	struct context *context;
	uint32_t cell;                 /* number in the context */
	struct stream out[2];
	struct source input;           /* stdin pipe or pty, while there is something to write */
	int input_fd, tty_fd;
	struct source tty;
	struct text input_left;

	int64_t created_us, started_us; /* [µs] wall clock */
	int64_t begin_us, end_us;       /* [µs] monotonic; while it ran */
	uint64_t begin_ticks;
	int64_t deadline_ms, stage_ms;  /* monotonic; 0: none */
	uint64_t timeout_ms;
	enum stop_stage stage;
	int cancel_signal;              /* that its client got; 0: none */

	enum exec_status status;
	enum exec_reason reason;
	int wait_status, exit_code, sysno;
	bool has_status;                /* wait_status is evidence */
	char stage_text[16];            /* of a failed set-up */
	struct cgroup_usage group;      /* of its memory group, read before that was removed */
	bool is_grouped;                /* it has a memory group of its own */
	bool has_group, client_gone, input_ended, end_typed, at_line_start;
	uint64_t keep_bytes;            /* [bytes] output kept on disk */
	struct waiter *waiters;         /* connections that gave the same request id */
	char request_body[DIGEST_TEXT];
	int64_t poll_ms, cpu_poll_ms;   /* when memory, and CPU time, are looked at next */
	uint64_t oom_before;            /* kills in the context's group before this cell */
	uint64_t peak_memory;           /* [bytes] */
	uint64_t pids_peak;
	const char *enforced_by;
	uint64_t limit, peak;
	uint32_t leftovers, children;
	int64_t cpu_us, rss_bytes;
	bool rss_is_session, ambiguous;
	struct change_list changes;
	char overlaps[OVERLAPS_MAX][ID_TEXT];
	uint32_t n_overlaps;
	struct warning warnings[WARNINGS_MAX];
	uint32_t n_warnings;
	char digests[2][DIGEST_TEXT];
	char hint[400];

	/* of a cell */
	const char *interpreter;        /* none started kept restarted */
	uint32_t epoch;
	struct text value, error_name, error_value, traceback, artifacts, lost, logs;
	bool has_value, has_error, has_answer, state_gone;
};
