/* Whole reads and writes on descriptors. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/text.h"

/* Writes all n bytes; 0, or -errno. For callers that have no fault to fill. */
int fd_write_all(int fd, const void *p, size_t n);

/*
 * fd_read_to_end - appends what is left in fd to a text
 * @fd:         any readable descriptor
 * @max_bytes:  [bytes] more than this is refused
 * @what:       how to call it in the message
 * @t:          gets the bytes; may have grown even on failure
 *
 * Returns: 0, or negative.
 * Faults:  SYSTEM  read failed.
 *          LIMIT   there is more than max_bytes.
 */
int fd_read_to_end(int fd, size_t max_bytes, const char *what, struct text *t, struct fault *f);

/* Sets or clears O_NONBLOCK on the open file description. 0, or -errno. */
int fd_set_nonblock(int fd, int on);

/* Fills standard descriptors that are closed, so that no later file becomes one of them: reading
 * or writing them goes on to fail with EBADF. 0, or -errno. */
int fd_fill_standard(void);
