/*
 * Where there is no pid namespace: the descendants of a process, found through /proc and killed
 * until none is left. Whatever loses its parent becomes the child of the nearest process that has
 * PR_SET_CHILD_SUBREAPER, so nothing gets out of the tree.
 *
 * Used inside, by a weak init and its exec-inits, and by the supervisor for what they leave.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Signals all descendants of the caller that started after since_ticks [ticks] (0: all), but
 * those below or equal to one of the kept. How many there were. */
uint32_t weak_tree_signal(int signal, uint64_t since_ticks, const pid_t *kept, size_t n_kept);

/* SIGKILL to all descendants and reaps them, until there is none or a bounded time has passed.
 * How many it had to kill. */
uint32_t weak_tree_sweep(void);
