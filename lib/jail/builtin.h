/* Inside: what an exec-init can do without a program. Runs as the payload. */
#pragma once

#include "jail/exec.h"

/* Returns: the exit status. */
int builtin_run(const struct jail_command *c);

int files_get(char *const *argv);
int files_put(char *const *argv);
int files_empty(char *const *argv);
int probe_inside(void);
