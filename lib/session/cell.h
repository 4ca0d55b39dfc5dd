/* Kept interpreters: one context is one exec-init with an interpreter under a driver. */
#pragma once

#include "session/exec.h"

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
	bool is_grouped;                /* it has a memory group of its own */
	bool wanted_fresh;              /* it is being killed because a clean one is wanted */
	char lost_why[120];             /* how the last one died; "": nothing was lost */
	uint64_t oom_seen;              /* kills in its memory group so far */
	int64_t kill_ms;                /* it hung up: when it is killed; 0: it did not */
	size_t n_answer;                /* [bytes] of answers in this cell */
	int64_t poll_ms;                /* when its memory is looked at between cells */
	size_t n_background;            /* [bytes] in events since the last cell */
};

/* --- context.c: its process */
const char *context_own_language(const struct super *s);
struct context *context_find(struct super *s, const char *language, const char *name);
struct context *context_make(struct super *s, const char *language, const char *name);
bool context_is_room_coming(const struct super *s);
struct context_state *context_state(struct context *c);
const char *context_driver(const char *language);
void context_drain(struct context *c);
/* Writes on what is left of a command. */
void context_write(void *owner, short revents);
void context_start(struct context *c, struct exec *e);

/* --- cell.c: what runs in it; answer.c: what its driver says */
void cell_reaped(struct super *s, uint32_t number);
void cell_release(struct exec *e);
void cell_stop_step(struct exec *e);
void cell_begin(struct exec *e);
void cell_interrupt(struct exec *e);
void cell_kill(struct context *c);
void cell_contexts(struct super *s, struct conn *c);
void cell_context_remove(struct super *s, struct conn *c, struct msg *m);
void cell_close_all(struct super *s);
void cell_ready(struct context *c);
void cell_done(struct context *c, const char *status, int code);
int cell_feed(struct context *c, const char *p, size_t n);
