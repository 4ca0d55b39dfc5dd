/*
 * Appending to a journal.
 *
 * There is one writer, the holder of the session's lock, and n_segment is where the last
 * whole line ends: whatever a failed write left behind it is cut off before the next one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/segment.h"

/* [bytes] Enough of a line for event_peek but its end; also the step of the walk backwards. */
enum { TAIL_BYTES = 64 * 1024 };

static int open_segment(int dir, uint64_t first, int *ret_fd, struct fault *f)
{
	char name[SEGMENT_NAME];

	segment_name(first, name);
	/* O_RDWR: the end is read when the journal is opened again. */
	int fd = openat(dir, name, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "open events/%s", name);
	*ret_fd = fd;
	return 0;
}

static int cut(int fd, uint64_t n, struct fault *f)
{
	int r;

	do
		r = ftruncate(fd, (off_t)n);
	while (r < 0 && errno == EINTR);
	return r < 0 ? fault_set(f, FAULT_SYSTEM, errno, "cut a torn line off the journal") : 0;
}

/* Also over what a kill in the middle of it has left. */
static int write_head(int fd, uint64_t *ret_n, struct fault *f)
{
	int r = cut(fd, 0, f);

	if (r < 0)
		return r;
	r = fd_write_all(fd, SEGMENT_HEAD, strlen(SEGMENT_HEAD));
	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, -r, "write to the journal");
	*ret_n = strlen(SEGMENT_HEAD);
	return 0;
}

static int read_at(int fd, char *p, size_t n, uint64_t at, struct fault *f)
{
	while (n) {
		ssize_t r = pread(fd, p, n, (off_t)at);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return fault_set(f, FAULT_SYSTEM, r ? errno : EIO, "read the journal");
		p += r;
		n -= (size_t)r;
		at += (uint64_t)r;
	}
	return 0;
}

/* Behind the last newline of the first n bytes; 0 when there is none. */
static int find_line_end(int fd, uint64_t n, uint64_t *ret, struct fault *f)
{
	auto_free char *buf = (char *)mem_zeroed(TAIL_BYTES, 1);

	while (n) {
		size_t want = n < TAIL_BYTES ? (size_t)n : TAIL_BYTES;
		int r = read_at(fd, buf, want, n - want, f);
		if (r < 0)
			return r;
		const char *end = memrchr(buf, '\n', want);
		if (end) {
			*ret = n - want + (uint64_t)(end - buf) + 1;
			return 0;
		}
		n -= want;
	}
	*ret = 0;
	return 0;
}

/* The number of the event in the line at [from, end), end behind its newline; 0: it is no
 * event. The bytes between the head of the line and its last one are not looked at. */
static int read_seq(int fd, uint64_t from, uint64_t end, uint64_t *ret_seq, struct fault *f)
{
	char head[256];
	uint64_t n = end - from - 1;
	size_t want = n < sizeof head ? (size_t)n : sizeof head;
	enum event_type type;
	int r = read_at(fd, head, want, from, f);

	if (r >= 0 && want == sizeof head)
		r = read_at(fd, head + want - 1, 1, end - 2, f);
	if (r < 0)
		return r;
	if (!event_peek(head, want, ret_seq, &type))
		*ret_seq = 0;
	return 0;
}

static int check_head(int fd, uint64_t end, struct fault *f)
{
	char head[256];
	size_t want = end - 1 < sizeof head ? (size_t)(end - 1) : sizeof head;
	int r = read_at(fd, head, want, 0, f);

	if (r < 0)
		return r;
	return segment_head_is_known(head, want) ? 0
		: fault_set(f, FAULT_FORMAT, 0, "the journal has no schema line of " EVENT_SCHEMA);
}

/*
 * Walks back to the last line that is an event. What lies behind it was torn by a kill, or
 * by a power loss that left blocks of zeros; it was never told to anyone as an event.
 */
static int find_last(int fd, uint64_t size, uint64_t first, struct journal *j, struct fault *f)
{
	uint64_t end, from, seq = 0;
	int r = find_line_end(fd, size, &end, f);

	while (r >= 0 && end) {
		r = find_line_end(fd, end - 1, &from, f);
		if (r < 0 || !from)
			break;
		r = read_seq(fd, from, end, &seq, f);
		if (r < 0 || seq >= first)
			break;
		end = from;
	}
	if (r < 0)
		return r;
	j->n_segment = end;
	j->seq = seq >= first ? seq : first - 1;
	return 0;
}

static int reopen(struct journal *j, int fd, uint64_t first, struct fault *f)
{
	struct stat st;
	uint64_t head_end;

	if (fstat(fd, &st) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "look at the journal");
	int r = find_last(fd, (uint64_t)st.st_size, first, j, f);
	if (r < 0)
		return r;
	if (!j->n_segment)
		return write_head(fd, &j->n_segment, f);
	/* The head is short: were the first line long, it would be none that is known. */
	head_end = j->n_segment < TAIL_BYTES ? j->n_segment : TAIL_BYTES;
	r = check_head(fd, head_end, f);
	if (r < 0)
		return r;
	return j->n_segment < (uint64_t)st.st_size ? cut(fd, j->n_segment, f) : 0;
}

int journal_open(int dir, struct journal *j, struct fault *f)
{
	auto_fd int fd = -1;
	struct journal made = { .dir = dir, .fd = -1 };
	uint64_t first;

	if (dir < 0) {
		*j = made;
		return 0;
	}
	int r = segment_find(dir, UINT64_MAX, &first, f);

	if (r < 0)
		return r;
	if (r == SEGMENT_NONE)
		first = 1;
	r = open_segment(dir, first, &fd, f);
	if (r < 0)
		return r;
	r = reopen(&made, fd, first, f);
	if (r < 0)
		return r;
	made.fd = take_fd(&fd);
	*j = made;
	return 0;
}

void journal_close(struct journal *j)
{
	drop_fd(&j->fd);
	text_done(&j->line);
}

struct text *event_begin(struct journal *j, enum event_type type, const char *session_id,
	const char *execution_id)
{
	struct text *t = &j->line;
	char time[CLOCK_TEXT_MAX];

	text_clear(t);
	text_format(t, "{\"seq\":%" PRIu64 ",\"timestamp\":\"%s\",\"type\":\"%s\"", j->seq + 1,
		clock_format(clock_wall_us(), time), event_type_name(type));
	json_put_string(t, "session_id", session_id);
	if (execution_id)
		json_put_string(t, "execution_id", execution_id);
	return t;
}

/* The next segment is named by the event that it begins with, so that a follower who has
 * read the one before knows its name. */
static int rotate(struct journal *j, struct fault *f)
{
	auto_fd int fd = -1;
	uint64_t n;
	int r = open_segment(j->dir, j->seq + 1, &fd, f);

	if (r < 0)
		return r;
	r = write_head(fd, &n, f);
	if (r < 0) {
		char name[SEGMENT_NAME];
		segment_name(j->seq + 1, name);
		unlinkat(j->dir, name, 0);
		return r;
	}
	drop_fd(&j->fd);
	j->fd = take_fd(&fd);
	j->n_segment = n;
	return 0;
}

static int make_ready(struct journal *j, struct fault *f)
{
	int r;

	if (j->torn) {
		r = cut(j->fd, j->n_segment, f);
		if (r < 0)
			return r;
		j->torn = false;
	}
	return j->n_segment > JOURNAL_SEGMENT_BYTES ? rotate(j, f) : 0;
}

int event_end(struct journal *j, struct fault *f)
{
	struct fault ignored;
	int r;

	json_close(&j->line, '}');
	text_put_char(&j->line, '\n');
	if (j->line.n > EVENT_LINE_BYTES)
		return fault_set(f, FAULT_LIMIT, 0, "an event is longer than %llu bytes",
			EVENT_LINE_BYTES);
	if (j->fd < 0) {
		j->seq++;
		return 0;
	}
	r = make_ready(j, f);
	if (r < 0)
		return r;
	r = fd_write_all(j->fd, j->line.data, j->line.n);
	if (r < 0) {
		j->torn = cut(j->fd, j->n_segment, &ignored) < 0;
		return fault_set(f, FAULT_SYSTEM, -r, "write to the journal");
	}
	j->n_segment += j->line.n;
	j->seq++;
	return 0;
}
