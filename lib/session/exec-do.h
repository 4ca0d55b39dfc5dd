/* What the files about one execution do for each other and for the supervisor. */
#pragma once

#include "session/exec.h"

/* --- exec.c: from request to running processes */
void exec_free(struct exec *e);
void exec_update(struct exec *e, const char *status);
void exec_output_event(struct exec *e, int stream);
int64_t exec_event_due(const struct exec *e);
void exec_reaped(struct super *s, uint32_t number, const struct jail_usage *usage);
void exec_release(struct exec *e);
void exec_accept(struct super *s, struct conn *c, struct msg *m);
void exec_accept_files(struct super *s, struct conn *c, struct msg *m);
void exec_start_waiting(struct super *s);
void exec_read_group(struct exec *e, const struct jail_exec *x);
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

/* --- exec-io.c: its output and input */
void exec_on_output(void *owner, short revents);
void exec_on_tty(void *owner, short revents);
void exec_on_input(void *owner, short revents);
void exec_write_input(struct exec *e);
void exec_drain(struct exec *e);

/* --- settle.c: the end, with all that is said of it */
void exec_settle(struct exec *e);
void exec_collect(struct super *s);

/* --- limit.c: what ends it, and the evidence */
void limit_begin(struct exec *e);
void limit_stop(struct exec *e, enum exec_status status, enum exec_reason reason);
int64_t limit_next_ms(struct super *s);
void limit_step(struct super *s);
void limit_judge(struct exec *e);
void limit_warn(struct exec *e);
void limit_rlimits(struct super *s, struct exec *e, struct jail_rlimits *ret);

/* --- result.c, hint.c */
enum result_form { RESULT_FULL, RESULT_BRIEF };
void result_put(struct exec *e, enum result_form form, struct text *t);
void result_put_log(struct text *t, const char *level, const char *p, size_t n);
void artifact_size(struct exec *e, const char *p, size_t n);
void result_put_files(struct exec *e, struct text *t);
void result_hint(struct exec *e);
int result_exit_code(const struct exec *e);
void result_message(const struct exec *e, char *buf, size_t room);

/* --- record.c, repeat.c, environ.c */
void record_write(struct exec *e, const char *result, size_t n);
bool repeat_answer(struct super *s, struct conn *c, struct wire_exec *w);
void repeat_note(struct exec *e);
void repeat_settle(struct exec *e, const struct text *reply);
void repeat_conn_gone(struct conn *c);
void repeat_send_away(struct exec *e);
char **environ_make(const struct session_spec *spec, char *const *exec_env, bool tty);
void environ_free(char **env);
