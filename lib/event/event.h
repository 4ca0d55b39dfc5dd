/*
 * The journal of a session: numbered lines of JSON in segments.
 *
 *	journal_open(dir, &j, &f);                    the holder of the session's lock
 *	struct text *t = event_begin(&j, EVENT_LOG, session, exec);
 *	json_put_string(t, "message", …);
 *	event_end(&j, &f);                            one write(2)
 *
 *	follow_open(dir, since, &fo, &f);             any reader, any time
 *	while ((r = follow_next(fo, &line, &n, &f)) > 0) …
 *	poll(follow_fd(fo)) …                         inotify: wakes on append
 *
 * Segment files are named by the number of their first event, zero-padded to 16 digits
 * (0000000000000001.jsonl), begin with {"schema":"sbx.events/1"} and are never renamed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"

enum event_type {
#define X(name, json, text) EVENT_##name,
#include "event/event.def"
#undef X
	EVENT_MAX,
};

/* "unknown" for one of a newer version. */
const char *event_type_name(enum event_type type);

#define EVENT_SCHEMA "sbx.events/1"

/* [bytes] Longest line. Source: a list of LIMIT_FILES_LISTED names of PATH_MAX bytes, each
 * byte escaped (\\u00XX) and once more in base64. */
#define EVENT_LINE_BYTES (32ull * 1024 * 1024)

/* [bytes] A segment is closed when it is longer. Source: a follower re-reads at most one. */
#define JOURNAL_SEGMENT_BYTES (8ull * 1024 * 1024)

struct journal {
	int dir;            /* the events/ directory */
	int fd;             /* the open segment */
	uint64_t seq;       /* of the last event; 0: none */
	uint64_t n_segment; /* [bytes] of whole lines in the open segment */
	bool torn;          /* a failed write could not be cut off yet */
	struct text line;
};

/*
 * journal_open - opens the journal in a directory for appending
 * @dir:  descriptor of the session's events/ directory; stays the caller's. -1: a journal that
 *        numbers events and writes them nowhere
 * @j:    zeroed; filled
 *
 * Finds the last number, and cuts off what lies behind the last event: a torn line.
 *
 * Returns: 0, or negative.
 * Faults:  SYSTEM  open, read, truncate or create failed.
 *          FORMAT  the last segment has no schema line that this program knows.
 */
int journal_open(int dir, struct journal *j, struct fault *f);
void journal_close(struct journal *j);

/* Starts a line with seq, timestamp, type, session_id and, unless NULL, execution_id. The
 * caller adds members to the open object; event_end closes and writes it. */
struct text *event_begin(struct journal *j, enum event_type type, const char *session_id,
	const char *execution_id);

/* Faults: SYSTEM the write failed; what was written of the line is cut off again and the
 * number is not used up. LIMIT the line is longer than EVENT_LINE_BYTES; nothing is written. */
int event_end(struct journal *j, struct fault *f);

struct follow;

/*
 * follow_open - starts reading a journal behind an event
 * @dir:    descriptor of the events/ directory; stays the caller's
 * @since:  the number of the last event that is already known; 0: from the first
 * @watch:  also watch for new ones (inotify)
 *
 * Returns: 0, or negative.
 * Faults:  SYSTEM  open or inotify failed.
 */
int follow_open(int dir, uint64_t since, bool watch, struct follow **ret, struct fault *f);
struct follow *follow_free(struct follow *fo);

/* Readable when there may be something new; -1 without watch. */
int follow_fd(const struct follow *fo);

/* The journal was removed with its session: nothing more will come. */
bool follow_is_gone(const struct follow *fo);

/*
 * follow_next - takes the next whole line
 * @ret_line:  without its newline, valid until the next call
 *
 * Returns: 1 a line; 0 none now (torn lines are left for later); negative failed.
 * Faults:  SYSTEM  read failed.
 *          FORMAT  a line is longer than any event, or a segment's schema is unknown.
 */
int follow_next(struct follow *fo, const char **ret_line, size_t *ret_n, struct fault *f);

/* Reads seq and type out of a line that event_end wrote. False when it is none. EVENT_MAX is
 * a type of a newer version. */
bool event_peek(const char *line, size_t n, uint64_t *ret_seq, enum event_type *ret_type);

/* Appends the value of a member of a line's object: the text of a string, else its JSON.
 * False when it is not there. */
bool event_get(const char *line, size_t n, const char *key, struct text *t);

/* "id: SEQ\nevent: TYPE\ndata: LINE\n\n". Source: HTML living standard, 9.2.6. */
void event_put_sse(struct text *t, const char *line, size_t n);

/* One line for people: time, type, what it says. Control characters are made visible. */
void event_put_text(struct text *t, const char *line, size_t n);
