/*
 * Streams of files (base/stream.h) from and to the host: directories, files and tar.
 *
 *	pack_sink_dir(dir, "name", &k, &f);         or pack_sink_tar(1, "name", &k, &f)
 *	pack_feed(k, p, n, &f) …                    what a session sends
 *	k = pack_sink_end(k, &stats, &r, &f);
 *
 *	pack_source_path("dir/x", false, &s, &f);   or pack_source_tar(0, &s, &f)
 *	while ((r = pack_next(s, &t, &f)) > 0) …    what a session gets
 *	s = pack_source_free(s);
 *
 * What comes from a session is hostile: nothing is followed and nothing is written outside of
 * the one name below the one descriptor that the caller gave. libarchive is loaded when the first
 * tar is read or written, and never else: it would triple the start-up of the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"

/* As many as a session can have. */
enum { PACK_ENTRIES_MAX = 2000000 };

struct pack_stats {
	uint64_t entries, bytes, skipped; /* bytes: of content */
	char first_skipped[256];          /* "path: why", printable; "" */
};

struct pack_sink;

/*
 * pack_sink_dir - writes a stream below a directory
 * @dir:   descriptor; stays the caller's
 * @name:  one component: what the top of the stream becomes; "name/": it must be a directory;
 *         ".": the directory itself, which then takes the content of the top directory
 *
 * Files are written under a temporary name and renamed; existing directories are kept with
 * their modes, existing links are never followed. Set-id bits do not arrive, and the
 * umask applies.
 *
 * Returns: 0, or negative.
 * Faults:  USAGE   name is no single component.
 *          SYSTEM  the directory cannot be used.
 */
int pack_sink_dir(int dir, const char *name, struct pack_sink **ret, struct fault *f);

/* False in a program without libarchive: there the two functions for tar refuse. */
extern const bool pack_has_tar;

/* Writes a stream as a tar (pax restricted) to a descriptor; every path begins with prefix.
 * Faults: SYSTEM; NOT_FOUND libarchive is not there. */
int pack_sink_tar(int fd, const char *prefix, struct pack_sink **ret, struct fault *f);

/*
 * pack_feed - takes the next bytes of the stream
 *
 * Returns: 0, or negative; after a failure only pack_sink_end is allowed.
 * Faults:  FORMAT  it is no such stream; an entry leads elsewhere.
 *          LIMIT   more than PACK_ENTRIES_MAX entries.
 *          DENIED  something of another kind is in the way, or the host does not allow it.
 *          SYSTEM  writing failed. And every kind that the stream itself reports.
 */
int pack_feed(struct pack_sink *k, const void *p, size_t n, struct fault *f);

/*
 * pack_sink_end - finishes and frees
 * @ret_stats:  filled in any case; may be NULL
 * @ret:        0, or negative: a stream that was cut off is a failure
 *
 * Returns: NULL.
 * Faults:  FORMAT  the stream is not whole. DENIED, SYSTEM  writing failed.
 */
struct pack_sink *pack_sink_end(struct pack_sink *k, struct pack_stats *ret_stats, int *ret,
	struct fault *f);

struct pack_source;

/*
 * pack_source_path - reads a file or a tree of the host
 * @path:    as the user gave it
 * @follow:  a link at its end is followed; below it links are always copied as links
 *
 * Returns: 0, or negative.
 * Faults:  NOT_FOUND  there is nothing. DENIED  it may not be read. SYSTEM  it cannot be read.
 */
int pack_source_path(const char *path, bool follow, struct pack_source **ret, struct fault *f);

/* Reads a tar, plain or compressed with gzip or zstd, as the content of a directory.
 * Faults: NOT_FOUND libarchive is not there; FORMAT it is no tar. */
int pack_source_tar(int fd, struct pack_source **ret, struct fault *f);

/*
 * pack_next - makes the next part of the stream
 * @t:  emptied, then filled with about 64 KiB
 *
 * Returns: 1 there is more; 0 it was the last; negative failed.
 * Faults:  SYSTEM  reading failed. DENIED  it may not be read. FORMAT the archive is damaged, or leads elsewhere.
 *          LIMIT   more than PACK_ENTRIES_MAX entries.
 */
int pack_next(struct pack_source *s, struct text *t, struct fault *f);
const struct pack_stats *pack_source_stats(const struct pack_source *s);
struct pack_source *pack_source_free(struct pack_source *s);
