/*
 * A tree of files as a stream of bytes: how cp carries files into and out of a session.
 *
 *	stream_put_entry(&t, &(struct stream_entry){ STREAM_DIR, .path = ".", … });
 *	stream_put_entry(&t, &(struct stream_entry){ STREAM_FILE, .path = "a", .n = 5, … });
 *	stream_put_data(&t, "hello", 5);
 *	stream_put_end(&t);
 *
 *	stream_feed(&r, p, n);
 *	while ((k = stream_next(&r, &item, &f)) > 0) …
 *
 * A record is its kind and the length of its body, both 32 bits, and the body in
 * base/frame.h fields. The first entry is the top, "."; a directory comes before what is in it;
 * the data of a file follow it at once and are exactly as many bytes as it announced. The
 * stream ends with END or FAULT, nothing comes after. The reader takes nothing else: every
 * path that it returns is relative, without "", "." or ".." in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"

enum stream_kind {
	STREAM_DIR = 1, STREAM_FILE, STREAM_LINK, /* entries */
	STREAM_DATA,
	STREAM_SKIPPED, /* path: was left out; text: why */
	STREAM_END,
	STREAM_FAULT,   /* it failed; fault: why */
	STREAM_FREED,   /* n: what was removed took so much; count: so many files and directories */
};

struct stream_entry {
	enum stream_kind kind;
	uint32_t mode;       /* permission bits: 0777 at most; set-id bits do not travel */
	uint64_t n;          /* [bytes] STREAM_FILE */
	int64_t mtime_ns;    /* [ns] wall clock */
	const char *path;    /* bytes; shorter than PATH_MAX */
	const char *target;  /* STREAM_LINK: its text */
};

/* [bytes] Of one record's body. */
enum { STREAM_DATA_MAX = 64 * 1024, STREAM_BODY_MAX = 128 * 1024, STREAM_TARGET_MAX = 4096 };

void stream_put_entry(struct text *t, const struct stream_entry *e);
void stream_put_data(struct text *t, const void *p, size_t n); /* any n; many records */
void stream_put_freed(struct text *t, uint64_t n_bytes, uint64_t count);
void stream_put_skipped(struct text *t, const char *path, const char *why);
void stream_put_end(struct text *t);

/* Instead of the end: why it failed. */
void stream_put_fault(struct text *t, const struct fault *f);

/* Relative, no "", "." or ".." in it, no name longer than 255 bytes, shorter than PATH_MAX. "."
 * alone only with allow_top. */
bool stream_path_is_valid(const char *path, bool allow_top);

struct stream_reader {
	struct text in;
	size_t at;           /* [bytes] of in that are used up */
	bool has_top, is_ended;
	uint64_t n_left;     /* [bytes] of the file that is being read */
};

struct stream_item {
	struct stream_entry entry; /* .kind of every item; strings valid until the next call */
	const char *text;          /* STREAM_SKIPPED */
	uint64_t count;            /* STREAM_FREED; entry.n: [bytes] */
	const void *data;          /* STREAM_DATA: entry.n bytes */
	struct fault fault;        /* STREAM_FAULT */
};

/* Appends bytes that have arrived. At most one record and a chunk are ever kept. */
void stream_feed(struct stream_reader *r, const void *p, size_t n);

/*
 * stream_next - takes the next whole record
 *
 * Returns: 1 an item; 0 more bytes are needed; negative failed.
 * Faults:  FORMAT  it is no such stream, or breaks a rule above.
 */
int stream_next(struct stream_reader *r, struct stream_item *ret, struct fault *f);

/* The stream is whole: END or FAULT was read and nothing follows it. */
bool stream_is_done(const struct stream_reader *r);
void stream_reader_done(struct stream_reader *r);
