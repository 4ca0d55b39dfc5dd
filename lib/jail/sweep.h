/* Inside: signals to what is left in the pid namespace of an exec-init. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* SIGKILL to all but the caller, and reaps them. How many it had to kill. */
uint32_t sweep_all(void);

/* A signal to what started after since_ticks [ticks], but the leader. */
void sweep_since(int signal, uint64_t since_ticks, pid_t leader);
