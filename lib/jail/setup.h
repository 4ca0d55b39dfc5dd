/* Inside: what init and the exec-inits do to build their part of the jail. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "jail/jail.h"
#include "jail/plan.h"

/* The way of init through its plan. */
struct setup {
	const struct plan *plan;
	int tree; /* idmapped skeleton, detached; -1: by path */
	int base; /* the same of the runtime's directory */
	int disk; /* detached mount that the upper directory lies on; -1: none, or made here */
	int up;   /* O_PATH of the upper directory where that is made here; -1 */
	int root; /* the new root, from OVERLAY on */
	struct jail_report report;
};

/* No core handler of the host gets to see a crash. */
void setup_limit_core(struct jail_report *report);

/* Before the plan is there: the other namespaces, private mounts, limits. Faults: DENIED,
 * LIMIT, SYSTEM. */
int setup_spaces(int fs, struct setup *s, struct fault *f);

/* Runs the operations of init, in order: those with PLAN_LATE, or those without. Faults:
 * DENIED, SYSTEM; the text names the operation and the path. */
int setup_run(struct setup *s, bool late, struct fault *f);

/* After that: where Landlock cannot keep the root from being changed, it is mounted read-only, with
 * what may be written bound on top. Faults: DENIED, SYSTEM. */
int setup_close_root(struct setup *s, struct fault *f);

/* Of an exec-init: mounts, then the walls. What is in force is written to report. */
int setup_exec(const struct plan *p, struct jail_report *report, struct fault *f);

/* One line more of what is weaker than it should be. */
void setup_note(struct jail_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A fault from -errno, DENIED for EPERM and EACCES. */
int setup_fail(struct fault *f, int error, const char *what, const char *path);
