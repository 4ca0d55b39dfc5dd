/*
 * Small files below a directory descriptor.
 *
 * Names are made by this program, never by what runs in a session: one component, no
 * links followed.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/text.h"

/*
 * file_read - appends the content of a small file to a text
 * @dir:        directory descriptor
 * @name:       one component; the last one may not be a link
 * @max_bytes:  [bytes] more than this is refused
 *
 * Returns: 0, or negative.
 * Faults:  NOT_FOUND  there is no such file.
 *          LIMIT      it is larger than max_bytes.
 *          SYSTEM     open or read failed.
 */
int file_read(int dir, const char *name, size_t max_bytes, struct text *t, struct fault *f);

/*
 * file_replace - puts a file in place in one step
 *
 * Readers see the old or the new content, never a part. Not synced to disk: a power loss
 * may lose it, a kill may not. Mode 0600.
 *
 * Returns: 0, or negative.
 * Faults:  SYSTEM  a step failed; the old file is still there and no temporary file is left.
 */
int file_replace(int dir, const char *name, const void *p, size_t n, struct fault *f);

/* Opens a file for reading, no link followed; -1 with errno. */
int file_open_read(int dir, const char *name);

/* mkdir that is content with an existing directory, then opens it O_DIRECTORY|O_NOFOLLOW.
 * Faults: SYSTEM. */
int file_make_dir(int dir, const char *name, mode_t mode, int *ret_fd, struct fault *f);

/* Opens an existing directory. Faults: NOT_FOUND it is not there; SYSTEM anything else. */
int file_open_dir(int dir, const char *name, int *ret_fd, struct fault *f);
