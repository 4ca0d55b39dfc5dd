/*
 * Owners that let go by themselves.
 *
 *	auto_free char *name = NULL;
 *	auto_fd int fd = open(…);
 *	…
 *	*ret_fd = take_fd(&fd);      success hands over
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define auto_free __attribute__((cleanup(auto_free_do)))
#define auto_fd   __attribute__((cleanup(auto_fd_do)))

/* Frees what the pointer variable at p holds. */
static inline void auto_free_do(void *p)
{
	free(*(void **)p);
}

/* Closes the descriptor at fd, if it is one; errno stays. */
static inline void auto_fd_do(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

/* Gives the descriptor away: the variable holds -1 afterwards. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Closes and forgets. */
static inline void drop_fd(int *fd)
{
	auto_fd_do(fd);
	*fd = -1;
}

/* Gives the pointer away: the variable holds NULL afterwards. */
#define take_ptr(p)                       \
	({                                \
		__typeof__(*(p)) taken_ = *(p); \
		*(p) = NULL;              \
		taken_;                   \
	})

#define array_size(a) (sizeof(a) / sizeof(*(a)))
