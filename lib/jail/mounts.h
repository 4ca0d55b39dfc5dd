/* Inside: the operations of a plan that mount something, and the check afterwards. */
#pragma once

#include <stdbool.h>

#include "jail/plan.h"

/* One operation below root. 0, or -errno. */
int mounts_run(int root, const struct plan_op *op);

/* The part of an exec-init: proc and what is laid over it. */
int mounts_run_proc(const struct plan *p, const struct plan_op **ret_failed);

/* Whether a rule lets a directory be written in: what stays writable when the root is not. */
bool mounts_is_place(const struct plan_rule *rule);

/* Nothing is mounted that the plan does not say, and nothing without nosuid and nodev but
 * devices. 0; -EUCLEAN; -errno. */
int mounts_sweep(const struct plan *p);
