/*
 * The supervisor of one session, inside: what its files share. One process, one loop.
 *
 *	super.c    start, jail, timers, end         conn.c    clients
 *	exec.c     one execution, begin to end      cell.c    kept interpreters
 *	limit.c    time, CPU, memory, disk          result.c  what is said of it
 */
#pragma once

#include "event/event.h"
#include "jail/jail.h"
#include "session/changes.h"
#include "session/loop.h"
#include "session/spool.h"
#include "session/watch.h"
#include "session/wire.h"
#include "sys/cgroup.h"

enum { CONNS_MAX = 256, OVERLAPS_MAX = 16, WARNINGS_MAX = 12, DEFAULT_GRACE_MS = 200 };

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
enum stop_stage { STOP_NOT, STOP_ASKED, STOP_GROUP, STOP_TERMINATED, STOP_KILLED };

struct exec {
	struct super *s;
	struct exec *next;
	char id[ID_TEXT];
	struct wire_exec w;
	struct conn *conn;             /* NULL: the client is gone */
	enum files_kind files;         /* with is_files */
	bool is_files, is_cell, scan;
	enum exec_phase phase;
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
	int64_t cpu_before_us;

	enum exec_status status;
	enum exec_reason reason;
	int wait_status, exit_code, sysno;
	bool has_status;                /* wait_status is evidence */
	char stage_text[16];            /* of a failed set-up */
	struct cgroup_usage group;      /* of its memory group, read before that was removed */
	bool has_group, client_gone, input_ended, queued_event;
	uint64_t keep_bytes;            /* [bytes] output kept on disk */
	struct waiter *waiters;         /* connections that gave the same request id */
	char request_body[DIGEST_TEXT];
	int64_t poll_ms;                /* when memory is polled next */
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

enum context_phase { CONTEXT_DEAD, CONTEXT_STARTING, CONTEXT_IDLE, CONTEXT_BUSY };

/* One kept interpreter. */
struct context {
	struct super *s;
	enum context_phase phase;       /* its state in status.json has the same index */
	struct jail_exec *x;
	struct source control, answer, out[2];
	int command_fd, answer_fd, out_fd[2];
	struct text in;                 /* bytes of an answer that is not whole yet */
	struct text command;            /* bytes of a command that are not written yet */
	struct source writing;
	struct exec *current;           /* the cell that runs */
	struct exec *starter;           /* the cell that waits for its start */
	uint32_t n_cells;
	pid_t leader;                   /* on the host */
	bool wanted_fresh;              /* it is being killed because a clean one is wanted */
	char lost_why[120];             /* how the last one died; "": nothing was lost */
	uint64_t oom_seen;              /* kills in its memory group so far */
	size_t n_answer;                /* [bytes] of answers in this cell */
};

struct conn {
	struct super *s;
	struct conn *next;
	struct source source;
	int fd;
	struct exec *exec;
	struct exec *waits_for;         /* it gave the request id of a running execution */
	bool closing;                   /* close when everything is sent */
	bool waits_ready;               /* to be told when the jail is built */
	struct packet *first, *last;    /* not sent yet */
	size_t n_waiting;               /* [bytes] in them */
};

struct super {
	struct store *store;
	struct store_session *session;
	struct loop loop;
	struct journal journal;
	int events_dir;
	struct jail *jail;
	struct jail_report report;
	struct source jail_source, listen;
	int listen_fd, fs_fd, up_fd, lower_fd, root_fd;
	struct jail_exec *spare;
	bool spare_asked, ready, last_done;
	struct cgroup *cgroup;
	struct cgroup_limits cgroup_limits;
	struct changes *changes;
	struct watch_disk disk;
	struct conn *conns;
	uint32_t n_conns;
	struct exec *execs;
	struct context contexts[CONTEXTS_MAX];
	int64_t idle_since_ms, expires_ms;
	bool ending;                    /* no new work */
	enum wire_stop stop;
	struct conn *stop_conn;
	bool memory_warned, disk_warned, pids_warned;
	uint64_t pids_denied;          /* forks refused so far */
	struct fault fault;
};

/* --- super.c */
void super_spare_wanted(struct super *s);
int64_t super_now_ms(void);
void super_journal(struct super *s, struct exec *e);   /* ends the event that was begun */
struct text *super_event(struct super *s, enum event_type type, struct exec *e);
void super_save_status(struct super *s);
void super_stop(struct super *s, enum wire_stop how, struct conn *c);
bool super_is_busy(const struct super *s);

/* --- conn.c */
void conn_accept(void *owner, short revents);
struct conn *conn_new(struct super *s, int fd);
void conn_send(struct conn *c, enum wire_type type, const struct text *t);
void conn_fault(struct conn *c, const struct fault *f);
void conn_done(struct conn *c, const struct text *answer); /* sends the answer, then closes */
void conn_finish(struct conn *c);  /* closes once everything is sent */
void conn_free(struct conn *c);
bool conn_is_full(const struct conn *c);

/* --- exec.c */
void exec_free(struct exec *e);
void exec_update(struct exec *e, const char *status);
void exec_output_event(struct exec *e, int stream);
int64_t exec_event_due(const struct exec *e);
void exec_reaped(struct super *s, uint32_t number, const struct jail_usage *usage);
void exec_release(struct exec *e);
void exec_accept(struct super *s, struct conn *c, struct msg *m);
void exec_accept_files(struct super *s, struct conn *c, struct msg *m);
void exec_start_waiting(struct super *s);
void exec_output(struct exec *e, int stream, const char *p, size_t n);
bool exec_may_read(const struct exec *e);
void exec_input(struct exec *e, const void *p, size_t n);
void exec_client_gone(struct exec *e);
void exec_begin(struct exec *e);
void exec_running(struct exec *e);
void exec_fail(struct exec *e, const char *stage, int sysno, const char *why);
void exec_warn(struct exec *e, const char *kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void exec_refresh_reading(struct exec *e);
int exec_pipe(struct super *s, int ret[2], bool to_inside);

/* --- settle.c */
void exec_settle(struct exec *e);
void exec_collect(struct super *s);

/* --- cell.c */
void cell_reaped(struct super *s, uint32_t number);
void cell_release(struct exec *e);
void cell_stop_step(struct exec *e);
void cell_free_all(struct super *s);
void cell_begin(struct exec *e);
void cell_interrupt(struct exec *e);
void cell_kill(struct context *c);
void cell_contexts(struct super *s, struct conn *c);
void cell_context_remove(struct super *s, struct conn *c, struct msg *m);
void cell_close_all(struct super *s);
void cell_ready(struct context *c);
void cell_done(struct context *c, const char *status, int code);
int cell_feed(struct context *c, const char *p, size_t n);

/* --- limit.c */
void limit_begin(struct exec *e);
void limit_stop(struct exec *e, enum exec_status status, enum exec_reason reason);
int64_t limit_next_ms(struct super *s);
void limit_step(struct super *s);
void limit_judge(struct exec *e);
void limit_warn(struct exec *e);
void limit_rlimits(struct super *s, struct exec *e, struct jail_rlimits *ret);

/* --- result.c */
enum result_form { RESULT_FULL, RESULT_BRIEF };
void result_put(struct exec *e, enum result_form form, struct text *t);
void result_put_log(struct text *t, const char *level, const char *p, size_t n);
void artifact_size(struct exec *e, const char *p, size_t n);
void result_put_files(struct exec *e, struct text *t);
void result_hint(struct exec *e);
int result_exit_code(const struct exec *e);
void result_message(const struct exec *e, char *buf, size_t room);

/* --- record.c */
void record_write(struct exec *e, const char *result, size_t n);

/* --- repeat.c */
bool repeat_answer(struct super *s, struct conn *c, struct wire_exec *w);
void repeat_note(struct exec *e);
void repeat_settle(struct exec *e, const struct text *reply);
void repeat_conn_gone(struct conn *c);

/* --- environ.c */
char **environ_make(const struct session_spec *spec, char *const *exec_env, bool tty);
void environ_free(char **env);
