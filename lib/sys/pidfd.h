/* Processes by descriptor: a pid alone is no identity. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Sends a signal; it may be too late. 0, or -errno. */
int pidfd_kill(int fd, int signal);

/*
 * pidfd_check - reads whose pidfd it is, and that it is one
 * @fd:            from an untrusted process
 * @ret_pid:       in the caller's pid namespace
 * @ret_is_first:  it is process 1 of a pid namespace below the caller's
 *
 * Returns: 0, or -errno; -EBADF when it is no pidfd; -ESRCH when the process is gone.
 * Source:  pidfd_open(2), /proc/PID/fdinfo.
 */
int pidfd_check(int fd, pid_t *ret_pid, bool *ret_is_first);

/* Waits for a child for at most timeout_ms [ms] and reaps it. 0 reaped; -ETIMEDOUT;
 * -errno. ret_status as of waitpid(2), may be NULL. */
int pidfd_wait(int fd, int timeout_ms, int *ret_status);

/* A pidfd of a process, -1 with errno where there is none (any more). */
int pidfd_find(pid_t pid);
