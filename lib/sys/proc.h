/* What /proc says of a process. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* When a process started, in ticks since boot; 0 when there is none. With its pid it is an
 * identity. Source: proc_pid_stat(5) field 22. */
uint64_t proc_start_ticks(pid_t pid);

/* The present in the same unit. */
uint64_t proc_now_ticks(void);

/* The parent of a process; 0 when there is none. Source: proc_pid_stat(5) field 4. */
pid_t proc_parent(pid_t pid);
