/*
 * Inside: the step from exec-init to program, on memory that both share (vfork).
 *
 *	struct child c = { .command = &command, … };
 *	child_prepare(&c);
 *	pid_t pid = child_start(&c);
 *	if (c.stage) … c.sysno
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "jail/exec.h"

/* Above every descriptor that a program is given: where ours have to be. */
enum { CHILD_FIRST_FD = 32 };

struct child {
	const struct jail_command *command;
	bool has_ids;  /* a block of ids, so groups can be given up */
	int null;      /* /dev/null */
	int tty;       /* the payload's side of the pty; -1 */
	int landlock;  /* -1, or what it gets with the plan's filter once it is the payload */
	const struct plan *plan;
	char **script; /* room for "/bin/sh", the file and argv[1…] */
	char path[4096];
	const char *volatile stage; /* where it failed; NULL: the program runs */
	volatile int sysno;
};

/* What may not happen on shared memory: allocation. */
void child_prepare(struct child *c);

/* The program's pid once its exec is done; with .stage set it has ended or will at once. */
pid_t child_start(struct child *c);
