/* What the files that make a plan share; on the host only. */
#pragma once

#include "jail/plan.h"

/* One operation more; texts that are not given are "". */
void plan_add(struct plan *p, struct plan_op op);

/* All of a weak jail: operations and rules. names: the paths of the files, one behind another. */
void plan_add_weak(struct plan *p, const struct jail_spec *s, const char *names);
