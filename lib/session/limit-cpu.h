/* The CPU time of all processes of an execution together. */
#pragma once

#include <stdint.h>

struct exec;

/* Looks, when that is due, and ends what has used more than it may; and when it is due next
 * [ms], 0: never. */
void limit_cpu_step(struct exec *e, int64_t now);
int64_t limit_cpu_next_ms(const struct exec *e);
