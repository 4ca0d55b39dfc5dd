#include <linux/limits.h>
#include <string.h>

#include "base/frame.h"
#include "base/stream.h"

enum { HEAD_BYTES = 8, NAME_BYTES_MAX = 255 };

/* --- writing --------------------------------------------------------------------------------- */

/* A record's head; its length is filled in by record_end. */
static size_t record_begin(struct text *t, enum stream_kind kind)
{
	frame_put_u32(t, kind);
	frame_put_u32(t, 0);
	return t->n;
}

static void record_end(struct text *t, size_t body)
{
	uint32_t n = (uint32_t)(t->n - body);

	for (int i = 0; i < 4; i++)
		t->data[body - 4 + (size_t)i] = (char)(n >> 8 * i);
}

void stream_put_entry(struct text *t, const struct stream_entry *e)
{
	size_t body = record_begin(t, e->kind);

	frame_put_u32(t, e->mode & 0777);
	frame_put_u64(t, e->kind == STREAM_FILE ? e->n : 0);
	frame_put_u64(t, (uint64_t)e->mtime_ns);
	frame_put_string(t, e->path);
	frame_put_string(t, e->kind == STREAM_LINK ? e->target : "");
	record_end(t, body);
}

void stream_put_data(struct text *t, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		size_t now = n < STREAM_DATA_MAX ? n : STREAM_DATA_MAX;
		size_t body = record_begin(t, STREAM_DATA);
		text_put_bytes(t, at, now);
		record_end(t, body);
		at += now;
		n -= now;
	}
}

void stream_put_skipped(struct text *t, const char *path, const char *why)
{
	size_t body = record_begin(t, STREAM_SKIPPED);

	frame_put_string(t, path);
	frame_put_string(t, why);
	record_end(t, body);
}

void stream_put_freed(struct text *t, uint64_t n_bytes, uint64_t count)
{
	size_t body = record_begin(t, STREAM_FREED);

	frame_put_u64(t, n_bytes);
	frame_put_u64(t, count);
	record_end(t, body);
}

void stream_put_end(struct text *t)
{
	record_end(t, record_begin(t, STREAM_END));
}

void stream_put_fault(struct text *t, const struct fault *f)
{
	size_t body = record_begin(t, STREAM_FAULT);

	frame_put_fault(t, f);
	record_end(t, body);
}

/* --- reading --------------------------------------------------------------------------------- */

bool stream_path_is_valid(const char *path, bool allow_top)
{
	if (!strcmp(path, "."))
		return allow_top;
	if (strlen(path) >= PATH_MAX)
		return false;
	for (const char *p = path;; p++) {
		size_t n = strcspn(p, "/");
		if (!n || n > NAME_BYTES_MAX || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
		if (!*p)
			return true;
	}
}

void stream_feed(struct stream_reader *r, const void *p, size_t n)
{
	if (r->at) {
		memmove(r->in.data, r->in.data + r->at, r->in.n - r->at);
		r->in.n -= r->at;
		r->at = 0;
	}
	text_put_bytes(&r->in, p, n);
}

static int bad(struct fault *f, const char *what)
{
	return fault_set(f, FAULT_FORMAT, 0, "stream of files: %s", what);
}

static int read_entry(struct stream_reader *r, struct frame *b, struct stream_item *ret,
	struct fault *f)
{
	struct stream_entry *e = &ret->entry;

	e->mode = frame_get_u32(b);
	e->n = frame_get_u64(b);
	e->mtime_ns = (int64_t)frame_get_u64(b);
	e->path = frame_get_string(b);
	e->target = frame_get_string(b);
	if (!frame_is_done(b))
		return bad(f, "an entry is damaged");
	if (e->mode > 0777 || e->n > INT64_MAX || (e->n && e->kind != STREAM_FILE))
		return bad(f, "an entry has a wrong mode or size");
	if (!stream_path_is_valid(e->path, !r->has_top) || (!r->has_top && strcmp(e->path, ".")))
		return bad(f, "an entry has a path that leads elsewhere");
	size_t n_target = strlen(e->target);
	if (n_target >= STREAM_TARGET_MAX || (n_target > 0) != (e->kind == STREAM_LINK))
		return bad(f, "a link has a wrong target");
	r->has_top = true;
	r->n_left = e->n;
	return 1;
}

static int read_data(struct stream_reader *r, const struct frame *b, struct stream_item *ret,
	struct fault *f)
{
	if (!b->n || b->n > r->n_left)
		return bad(f, "a file is longer than it said");
	r->n_left -= b->n;
	ret->entry.n = b->n;
	ret->data = b->p;
	return 1;
}

static int read_fault(struct frame *b, struct stream_item *ret, struct fault *f)
{
	ret->fault = frame_get_fault(b);
	return frame_is_done(b) ? 1 : bad(f, "a failure is damaged");
}

static int read_record(struct stream_reader *r, struct frame *b, struct stream_item *ret,
	struct fault *f)
{
	enum stream_kind kind = ret->entry.kind;

	if (r->is_ended)
		return bad(f, "something follows its end");
	/* A failure may come in the middle of a file. */
	if (r->n_left && kind != STREAM_DATA && kind != STREAM_FAULT)
		return bad(f, "a file is shorter than it said");
	switch (kind) {
	case STREAM_DIR:
	case STREAM_FILE:
	case STREAM_LINK:
		return read_entry(r, b, ret, f);
	case STREAM_DATA:
		return read_data(r, b, ret, f);
	case STREAM_SKIPPED:
		ret->entry.path = frame_get_string(b);
		ret->text = frame_get_string(b);
		return frame_is_done(b) ? 1 : bad(f, "an entry is damaged");
	case STREAM_FREED:
		ret->entry.n = frame_get_u64(b);
		ret->count = frame_get_u64(b);
		if (!frame_is_done(b) || ret->entry.n > INT64_MAX || ret->count > INT64_MAX)
			return bad(f, "what was freed is damaged");
		return 1;
	case STREAM_END:
		r->is_ended = true;
		return !b->n && r->has_top ? 1 : bad(f, "it has no content");
	case STREAM_FAULT:
		r->is_ended = true;
		return read_fault(b, ret, f);
	default:
		return bad(f, "a record of an unknown kind");
	}
}

int stream_next(struct stream_reader *r, struct stream_item *ret, struct fault *f)
{
	if (r->in.n - r->at < HEAD_BYTES)
		return 0;
	struct frame head = { (const unsigned char *)r->in.data + r->at, r->in.n - r->at, false };
	uint32_t kind = frame_get_u32(&head), n = frame_get_u32(&head);
	if (n > STREAM_BODY_MAX)
		return bad(f, "a record is too long");
	if (head.n < n)
		return 0;
	struct frame body = { head.p, n, false };
	*ret = (struct stream_item){ .entry = { .kind = (enum stream_kind)kind, .path = "", .target = "" },
		.text = "" };
	r->at += HEAD_BYTES + n;
	return read_record(r, &body, ret, f);
}

bool stream_is_done(const struct stream_reader *r)
{
	return r->is_ended && r->at == r->in.n;
}

void stream_reader_done(struct stream_reader *r)
{
	text_done(&r->in);
}
