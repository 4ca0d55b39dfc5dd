/* What the files about one execution do for each other and for the supervisor. */
#pragma once

#include "session/exec.h"

/* --- exec.c: from request to running processes ------------------------------------------ */

/* Takes a request out of a message. Whatever is wrong with it is answered; c may be gone then. */
void exec_accept(struct super *s, struct conn *c, struct msg *m);
void exec_accept_files(struct super *s, struct conn *c, struct msg *m);

/* Empties the temporary directories, as a client could ask for; nobody waits for it. */
void exec_clean(struct super *s);

/* Starts what is queued as far as there is a spare or an idle interpreter for it. */
void exec_start_waiting(struct super *s);

/* Its time begins: limits count from here. Then, when its program or cell really runs. */
void exec_begin(struct exec *e);
void exec_running(struct exec *e);

/* It could not be started at this stage: settles it. sysno 0, why NULL: there is none. */
void exec_fail(struct exec *e, const char *stage, int sysno, const char *why);

/* Init has reaped the exec-init with this number: its execution is over if it was one's own. */
void exec_reaped(struct super *s, uint32_t number, const struct jail_usage *usage);

/* Nobody reads its answer any more: a foreground execution is cancelled. */
void exec_client_gone(struct exec *e);

/* Its client wants it to end, and got this signal; its client's terminal has another size. */
void exec_cancel(struct exec *e, int signal);
void exec_resize(struct exec *e, uint16_t rows, uint16_t columns);

/* A warning of the result; those over WARNINGS_MAX are dropped. */
void exec_warn(struct exec *e, const char *kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An execution_update event. */
void exec_update(struct exec *e, const char *status);

/* Reads the evidence of its memory group, once, while the group is there. */
void exec_read_group(struct exec *e, const struct jail_exec *x);

/* A pipe whose inner end the payload may open again by name; ours does not block. 0, or -errno. */
int exec_pipe(struct super *s, int ret[2], bool to_inside);

/* Drains, then closes every descriptor of it. */
void exec_release(struct exec *e);
void exec_free(struct exec *e);

/* --- exec-io.c: its output and input ---------------------------------------------------- */

/* Output that was read: to the client, the spool and, now and then, an event. */
void exec_output(struct exec *e, int stream, const char *p, size_t n);

/* Whether its pipes are read: not while its client in human form is behind. */
bool exec_may_read(const struct exec *e);
void exec_refresh_reading(struct exec *e);

/* Tells the journal what it does not know yet of a stream. When that is due [ms]; 0: not. */
void exec_output_event(struct exec *e, int stream);
int64_t exec_event_due(const struct exec *e);

/* A chunk of standard input; n 0 ends it. Written as far as the program reads. */
void exec_input(struct exec *e, const void *p, size_t n);
void exec_write_input(struct exec *e);

/* Reads what is left in its pipes once their writers are dead. */
void exec_drain(struct exec *e);

/* Sources of the loop. */
void exec_on_output(void *owner, short revents);
void exec_on_tty(void *owner, short revents);
void exec_on_input(void *owner, short revents);

/* --- settle.c: the end, with all that is said of it -------------------------------------- */

/* Ends it: evidence, changed files, result, record, last event, answer. It is freed by the next
 * exec_collect, which also sees to the next spare. */
void exec_settle(struct exec *e);
void exec_collect(struct super *s);

/* --- limit.c: what ends it, and the evidence --------------------------------------------- */

void limit_begin(struct exec *e);

/* Ends it step by step, with this as the outcome; only the first call counts. */
void limit_stop(struct exec *e, enum exec_status status, enum exec_reason reason);
void exec_stop_step(struct exec *e); /* the next step, for a command */

/* Whatever is due now; and when that is next [ms], 0: never. */
void limit_step(struct super *s);

/* What was written between cells is there, and no scan has seen it: the next execution may not
 * add to it. Called when its writers are dead. */
void limit_recount(struct super *s);
int64_t limit_next_ms(struct super *s);

/* At the end: status and reason from the evidence; then the warnings at 80 % of a limit. */
void limit_judge(struct exec *e);
void limit_warn(struct exec *e);

/* After the answer: what the session has for the crossing of 80 % of memory or disk. */
void limit_act(struct super *s);

/* Memory is kept by looking; something of the inside can write right now. */
bool limit_is_polled(const struct super *s);
bool limit_is_running(const struct super *s);

/* What each process of it is limited to. */
void limit_rlimits(struct super *s, struct exec *e, struct jail_rlimits *ret);

/* --- result.c, artifact.c, hint.c: its result as JSON ------------------------------------ */

enum result_form { RESULT_FULL, RESULT_BRIEF }; /* with output texts, without them */

void result_put(struct exec *e, enum result_form form, struct text *t);
void result_put_files(struct exec *e, struct text *t);
void result_put_log(struct text *t, const char *level, const char *p, size_t n);
int result_exit_code(const struct exec *e);

/* One line for people; "": there is nothing to say. */
void result_message(const struct exec *e, char *buf, size_t room);

/* Adds the size of a file inside to its open artifact, if it is a file. */
void artifact_size(struct exec *e, const char *p, size_t n);

/* Fills in the hint, unless there is one already. */
void result_hint(struct exec *e);

/* --- record.c, repeat.c, environ.c -------------------------------------------------------- */

/* Writes exec/ID/record.json around its result. */
void record_write(struct exec *e, const char *result, size_t n);

/* Answers from the first execution under this request id, or lets the client wait for it.
 * False: there is none that counts, and it runs. */
bool repeat_answer(struct super *s, struct conn *c, struct wire_exec *w);

/* Notes its request id; keeps its answer for later and gives it to those who wait. */
void repeat_note(struct exec *e);
void repeat_settle(struct exec *e, const struct text *reply);

/* A client that waits is gone; those who wait for e are hung up on. */
void repeat_conn_gone(struct conn *c);
void repeat_send_away(struct exec *e);

/* Owned: mem_free_strings. exec_env, term may be NULL: none, no terminal; "": one not known. */
char **environ_make(const struct session_spec *spec, char *const *exec_env, const char *term);
