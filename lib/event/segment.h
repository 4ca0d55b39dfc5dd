/* The files of a journal: NNNNNNNNNNNNNNNN.jsonl, named by the number of their first event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "event/event.h"

enum { SEGMENT_NAME = 32, SEGMENT_NONE = 1 };

/* First line of every segment, with its newline. A later minor version may add members. */
#define SEGMENT_HEAD      "{\"schema\":\"" EVENT_SCHEMA "\"}\n"
#define SEGMENT_HEAD_KNOWN "{\"schema\":\"" EVENT_SCHEMA "\""

void segment_name(uint64_t first, char ret[SEGMENT_NAME]);

/* A first line that this program understands; n without the newline. */
bool segment_head_is_known(const char *line, size_t n);

/*
 * segment_find - looks for the segment that holds an event
 * @dir:        the events/ directory
 * @seq:        UINT64_MAX: the last segment
 * @ret_first:  its name: the greatest that is not above seq, else the smallest there is
 *
 * Returns: 0; SEGMENT_NONE there is no segment; negative failed.
 * Faults:  SYSTEM  the directory cannot be read.
 */
int segment_find(int dir, uint64_t seq, uint64_t *ret_first, struct fault *f);

/* The smallest segment above after; else as segment_find. */
int segment_find_next(int dir, uint64_t after, uint64_t *ret_first, struct fault *f);
