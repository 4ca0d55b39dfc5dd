/*
 * Reading a journal while it grows.
 *
 * Bytes are always read again from the start of the first line that is not whole: a writer
 * who runs out of disk cuts a torn line off, and what was seen of it must not stay. At the
 * end of a segment the next one is looked for by name: the number of the next event.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "event/segment.h"

enum { CHUNK_BYTES = 64 * 1024, DRAIN_MAX = 64 };

struct follow {
	int dir, fd, watch;  /* directory, segment, inotify; -1: none */
	uint64_t since;      /* of the last line handed out */
	uint64_t first;      /* name of the segment */
	uint64_t seen;       /* number of the last event in it that was read */
	uint64_t at_file;    /* where buf begins */
	struct text buf;
	size_t at;           /* in buf: the next line */
	bool headed;         /* the schema line was read */
	bool damaged;        /* a line was no event: seen may be too low */
};

static int watch_dir(struct follow *fo, struct fault *f)
{
	char path[64];

	fo->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fo->watch < 0)
		return fault_set(f, FAULT_SYSTEM, errno,
			"follow the journal (limit fs.inotify.max_user_instances)");
	/* On a directory IN_MODIFY also tells of its files: the segments need no watch of
	 * their own. IN_DELETE: the session is being removed; IN_DELETE_SELF does not come
	 * while we hold the directory open. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fo->dir);
	if (inotify_add_watch(fo->watch, path,
		    IN_MODIFY | IN_CREATE | IN_DELETE | IN_ONLYDIR) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "watch the journal");
	return 0;
}

static int enter_segment(struct follow *fo, uint64_t first, struct fault *f)
{
	char name[SEGMENT_NAME];

	segment_name(first, name);
	int fd = openat(fo->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? SEGMENT_NONE
			: fault_set(f, FAULT_SYSTEM, errno, "open events/%s", name);
	drop_fd(&fo->fd);
	fo->fd = fd;
	fo->first = first;
	fo->seen = first - 1;
	fo->at_file = 0;
	fo->at = 0;
	fo->headed = fo->damaged = false;
	text_clear(&fo->buf);
	return 0;
}

static int enter_first(struct follow *fo, struct fault *f)
{
	uint64_t first;
	int r = segment_find(fo->dir, fo->since == UINT64_MAX ? fo->since : fo->since + 1, &first, f);

	return r ? r : enter_segment(fo, first, f);
}

int follow_open(int dir, uint64_t since, bool watch, struct follow **ret, struct fault *f)
{
	struct follow *fo = mem_new(struct follow);
	int r = 0;

	*fo = (struct follow){ .dir = -1, .fd = -1, .watch = -1, .since = since };
	fo->dir = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fo->dir < 0)
		r = fault_set(f, FAULT_SYSTEM, errno, "open events");
	if (r >= 0 && watch)
		r = watch_dir(fo, f); /* before anything is read: nothing is missed between */
	if (r >= 0)
		r = enter_first(fo, f);
	if (r < 0) {
		follow_free(fo);
		return r;
	}
	*ret = fo;
	return 0;
}

struct follow *follow_free(struct follow *fo)
{
	if (!fo)
		return NULL;
	drop_fd(&fo->dir);
	drop_fd(&fo->fd);
	drop_fd(&fo->watch);
	text_done(&fo->buf);
	free(fo);
	return NULL;
}

int follow_fd(const struct follow *fo)
{
	return fo->watch;
}

bool follow_is_gone(const struct follow *fo)
{
	struct stat st;

	if (fo->fd >= 0 && fstat(fo->fd, &st) == 0 && st.st_nlink == 0)
		return true;
	return fstat(fo->dir, &st) < 0 || st.st_nlink == 0;
}

/* Before the read: what is appended after it makes the descriptor readable again. */
static void drain_watch(struct follow *fo)
{
	_Alignas(struct inotify_event) char buf[4096];

	for (int i = 0; fo->watch >= 0 && i < DRAIN_MAX; i++)
		if (read(fo->watch, buf, sizeof buf) <= 0)
			return;
}

/* 1: buf holds a whole line at fo->at; 0: the segment has none. */
static int refill(struct follow *fo, struct fault *f)
{
	fo->at_file += fo->at;
	fo->at = 0;
	text_clear(&fo->buf);
	for (;;) {
		size_t had = fo->buf.n;
		char *to = text_reserve(&fo->buf, CHUNK_BYTES);
		ssize_t r = pread(fo->fd, to, CHUNK_BYTES, (off_t)(fo->at_file + had));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fault_set(f, FAULT_SYSTEM, errno, "read the journal");
		if (!r)
			break;
		text_grew(&fo->buf, (size_t)r);
		if (memchr(to, '\n', (size_t)r))
			return 1;
		if (fo->buf.n > EVENT_LINE_BYTES)
			return fault_set(f, FAULT_FORMAT, 0,
				"a line of the journal is longer than %llu bytes", EVENT_LINE_BYTES);
	}
	text_clear(&fo->buf);
	return 0;
}

static bool take_line(struct follow *fo, const char **ret_line, size_t *ret_n)
{
	const char *line = fo->buf.data ? fo->buf.data + fo->at : NULL;
	const char *end = line ? memchr(line, '\n', fo->buf.n - fo->at) : NULL;

	if (!end)
		return false;
	*ret_line = line;
	*ret_n = (size_t)(end - line);
	fo->at += *ret_n + 1;
	return true;
}

/* 1: hand it out; 0: not for the caller. */
static int judge(struct follow *fo, const char *line, size_t n, struct fault *f)
{
	enum event_type type;
	uint64_t seq;

	if (!fo->headed) {
		fo->headed = segment_head_is_known(line, n);
		return fo->headed ? 0
			: fault_set(f, FAULT_FORMAT, 0, "the journal is not of " EVENT_SCHEMA);
	}
	if (!event_peek(line, n, &seq, &type) || seq <= fo->seen) {
		fo->damaged = true;
		return 0;
	}
	fo->seen = seq;
	if (seq <= fo->since)
		return 0;
	fo->since = seq;
	return 1;
}

/* Where a line was no event, the number of the next one is not known: by the directory. */
static int enter_next_listed(struct follow *fo, struct fault *f)
{
	uint64_t first;
	int r = segment_find_next(fo->dir, fo->first, &first, f);

	if (r)
		return r;
	/* What was appended between the last read and the change of segments comes first. */
	r = refill(fo, f);
	if (r)
		return r < 0 ? r : 0;
	return enter_segment(fo, first, f);
}

/* 0: there may be something to read; SEGMENT_NONE: there is no next segment yet. */
static int enter_next(struct follow *fo, struct fault *f)
{
	int r = SEGMENT_NONE;

	if (fo->fd < 0)
		return enter_first(fo, f);
	/* Without an event the name of the next one is its own. */
	if (fo->seen + 1 != fo->first)
		r = enter_segment(fo, fo->seen + 1, f);
	return r == SEGMENT_NONE && fo->damaged ? enter_next_listed(fo, f) : r;
}

/* 1: a line for the caller; 0: the buffer holds no more. */
static int take_event(struct follow *fo, const char **ret_line, size_t *ret_n, struct fault *f)
{
	const char *line;
	size_t n;

	while (take_line(fo, &line, &n)) {
		int r = judge(fo, line, n, f);
		if (r > 0) {
			*ret_line = line;
			*ret_n = n;
		}
		if (r)
			return r;
	}
	return 0;
}

int follow_next(struct follow *fo, const char **ret_line, size_t *ret_n, struct fault *f)
{
	for (;;) {
		int r = take_event(fo, ret_line, ret_n, f);
		if (r)
			return r;
		drain_watch(fo);
		r = fo->fd < 0 ? 0 : refill(fo, f);
		if (r > 0)
			continue;
		if (!r)
			r = enter_next(fo, f);
		if (r)
			return r < 0 ? r : 0;
	}
}
