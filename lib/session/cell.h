/*
 * Kept interpreters: a context is one exec-init with an interpreter under a driver; a cell is
 * an execution in it (exec.h, .is_cell).
 */
#pragma once

#include "session/exec.h"
#include "session/watch.h"

enum context_phase { CONTEXT_DEAD, CONTEXT_STARTING, CONTEXT_IDLE, CONTEXT_BUSY };

/* One kept interpreter. Its state in status.json has the same index; that of the last place, which
 * belongs to no context yet, is nowhere. */
enum { CONTEXT_WARM = CONTEXTS_MAX, CONTEXT_PLACES };

struct context {
	struct super *s;
	enum context_phase phase;
	struct jail_exec *x;
	struct source control, answer, out[2];
	int command_fd, answer_fd, out_fd[2];
	struct text in;                 /* bytes of an answer that is not whole yet */
	struct text command;            /* a command that is not all written yet */
	size_t n_written;               /* [bytes] of it */
	struct source writing;
	struct exec *current;           /* the cell that runs */
	struct exec *starter;           /* the cell that waits for its start */
	uint32_t n_cells;
	struct watch_leader leader;     /* the interpreter, once it is ready */
	bool is_grouped;                /* it has a memory group of its own */
	bool wanted_fresh;              /* it is being killed because a clean one is wanted */
	char lost_why[120];             /* how the last one died; "": nothing was lost */
	int64_t cpu_seen_us;            /* CPU time so far: up to this cell, or its end */
	int64_t waited_us;              /* as much of it is of children of the interpreter */
	uint64_t newest_ticks;          /* when the last process that cells left started; 0: none */
	uint64_t oom_seen;              /* kills in its memory group so far */
	int64_t kill_ms;                /* it hung up: when it is killed; 0: it did not */
	size_t n_answer;                /* [bytes] of answers in this cell */
	int64_t poll_ms;                /* when its memory is looked at between cells */
	size_t n_background;            /* [bytes] in events since the last cell */
};

/* --- context.c: its process -------------------------------------------------------------- */

/* The language that the session's runtime is of. */
const char *context_own_language(const struct super *s);

/* Its driver's path inside; NULL: there is no such language. Its program is named as one looks for
 * it on a PATH. */
const char *context_driver(const char *language, const char **ret_program);

/* NULL: there is none; there is no room for one more. */
struct context *context_find(struct super *s, const char *language, const char *name);
struct context *context_make(struct super *s, const char *language, const char *name);

/* One that is being ended will leave its place. */
bool context_is_room_coming(const struct super *s);

/* As it is kept in status.json. */
struct context_state *context_state(struct context *c);

/* Whether this is the one that is started ahead. */
bool context_is_warm(const struct context *c);

/* Hears what its exec-init says and what it writes. */
void context_listen(struct context *c);

/* Takes all descriptors from it; it is dead then. */
void context_close(struct context *c);

/* All variables are gone, and why. */
void exec_lost(struct exec *e, const char *why);

/* Reads what is in its output pipes. */
void context_drain(struct context *c);

/* Its variables are lost when init has reaped it: context_reaped. */
void context_kill(struct context *c);
void context_reaped(struct super *s, uint32_t number, const struct jail_usage *usage);
void context_close_all(struct super *s, const char *why);

/* Takes a request to end one out of a message, and answers it. */
void context_remove(struct super *s, struct conn *conn, struct msg *m);

/* --- context-start.c: its begin ----------------------------------------------------------- */

/* Gives it the interpreter that was started ahead, or makes the spare one; e is the cell that
 * waits for it. */
void context_start(struct context *c, struct exec *e);

/* Source of the loop, and called at once: writes on what is left of a command. */
void context_write(void *owner, short revents);

/* The steps of it: the time of its first cell begins; the spare becomes an interpreter (it is dead
 * where that fails; Faults: SYSTEM); what it is from now on, and what was lost before. */
void context_begin(struct context *c, struct exec *e);
int context_launch(struct context *c, const char *interpreter, struct fault *f);
void context_started(struct context *c, struct exec *e);

/* --- warm.c: one that is started ahead, with the modules of --preload ---------------------- */

/* Starts it, if it is wanted and nobody waits for the spare. */
void warm_want(struct super *s);

/* It is ready; it died unused; a context had to begin without it. */
void warm_ready(struct context *w);
void warm_lost(struct super *s);
void warm_missed(struct super *s);

/* Whether a dead context can have it; makes it that of c, for e. */
bool warm_is_for(struct context *c);
void warm_take(struct context *c, struct exec *e);

/* --- cell.c: what runs in it ------------------------------------------------------------- */

/* Runs it in its context, if that can take it now; else it stays queued. */
void cell_begin(struct exec *e);

/* Ends it by force: the first step, and each later one when its time has come. */
void cell_interrupt(struct exec *e);
void cell_stop_step(struct exec *e);

/* Lets go of the context when its cell is settled. */
void cell_release(struct exec *e);

/* --- answer.c: what its driver says ------------------------------------------------------ */

/* Takes bytes of the driver. -1: it is not one that talks our language. */
int answer_feed(struct context *c, const char *p, size_t n);

/* What it says goes to cell.c: it is ready for the first cell; the cell has ended. */
void cell_ready(struct context *c);
void cell_done(struct context *c, const char *status, int code);
