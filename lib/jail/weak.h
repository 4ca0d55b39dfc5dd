/* Inside, without namespaces: what init and exec-inits do in place of setup.h. */
#pragma once

#include "jail/child.h"
#include "jail/setup.h"

/* Before the plan is there: the session's fs is the directory, orphans come to this process.
 * Faults: SYSTEM. */
int weak_spaces(int fs, struct setup *s, struct fault *f);

/* One operation of the plan, below the session's fs; what the payload may have put in the place
 * of a directory is never followed. 0, or -errno. */
int weak_run(const struct setup *s, const struct plan_op *op);

/* Gives up what is not needed from here on. Faults: DENIED, SYSTEM. */
int weak_drop(struct fault *f);

/* Of an exec-init: makes the walls that each of its programs gets, and tries them in a child.
 * *ret_landlock is the rule set. Faults: DENIED, SYSTEM. */
int weak_walls(const struct plan *p, struct jail_report *report, int *ret_landlock,
	struct fault *f);

/* In the child, after it has become the payload: Landlock and the filter. 0, or -errno. */
int weak_confine(int landlock, const struct plan *p);
