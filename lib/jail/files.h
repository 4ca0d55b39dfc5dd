/*
 * Inside: what the file builtins share. They run as the payload, below the jail's root and
 * behind all its walls; a path that leads elsewhere only leads elsewhere in the jail.
 *
 * GET: the top is the last component itself; "follow" goes through it when it is a link.
 *   What is no file, directory or link, cannot be read or lies too deep is SKIPPED.
 * PUT: a file is written beside its place and renamed; what is there must be a regular file
 *   or nothing. Files already put stay when a later one fails. A stream that ends early and a
 *   TERM leave no half of a file. It has a name from the start: the limit on the size of a
 *   tree is kept by looking at it, and a file of O_TMPFILE would not be seen.
 * EMPTY: what could not be removed is SKIPPED; FREED says how much was. GET ends with END or
 *   FAULT, PUT writes nothing when there is nothing to say.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fault.h"
#include "base/text.h"

/* Levels of directories. Source: two descriptors a level, of the 1024 that everybody has. */
enum { FILES_DEPTH_MAX = 256, FILES_PATH_BYTES = 4096, FILES_DONE = 0, FILES_FAILED = 1, FILES_SKIPPED = 2 };

struct files_out {
	struct text t; /* not yet written */
	bool skipped;
};

/* Writes when enough is waiting. Faults: SYSTEM nobody reads any more. */
int files_flush(struct files_out *o, bool all, struct fault *f);

/* Leaves something out, and says so. */
void files_skip(struct files_out *o, const char *path, const char *why);

/* Writes what is waiting, and f when r is negative. Returns the exit status. */
int files_end(struct files_out *o, int r, struct fault *f);

/* Opens below dir, not through /proc's links; beneath: nor through any, nor upwards. */
int files_open(int dir, const char *path, int flags, bool beneath);

/* The path as seen from the root, for people: who gave a relative one may not know what it is
 * relative to. */
void files_show(const char *path, char ret[FILES_PATH_BYTES]);

/* A fault from errno with the path as shown: NOT_FOUND, DENIED, LIMIT or SYSTEM. */
int files_fail(struct fault *f, int sysno, const char *what, const char *path);

int64_t files_mtime_ns(const struct stat *st);

/* For utimensat(2): access time now, modification time as given [ns], before 1970 too. */
void files_times(int64_t mtime_ns, struct timespec ret[2]);

/* "a FIFO", "a socket", …: what no stream carries. */
const char *files_kind_name(mode_t mode);
