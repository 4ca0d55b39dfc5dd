/* A stream of files, as it comes out of a session or goes in. */
#include <string.h>

#include "base/mem.h"
#include "base/stream.h"
#include "fuzz.h"

static void put_item(struct text *t, const struct stream_item *i)
{
	switch (i->entry.kind) {
	case STREAM_DATA:
		stream_put_data(t, i->data, i->entry.n);
		break;
	case STREAM_SKIPPED:
		stream_put_skipped(t, i->entry.path, i->text);
		break;
	case STREAM_END:
		stream_put_end(t);
		break;
	case STREAM_FAULT:
		stream_put_fault(t, &i->fault);
		break;
	default:
		fuzz_check(stream_path_is_valid(i->entry.path, true));
		fuzz_check(i->entry.mode <= 0777 && i->entry.n <= INT64_MAX);
		stream_put_entry(t, &i->entry);
	}
}

/* Reads all in pieces of so many bytes, and writes it again; the value of the last call. */
static int copy(const uint8_t *p, size_t n, size_t piece, struct text *t)
{
	struct stream_reader reader = { 0 };
	struct stream_item item;
	struct fault f;
	int r = 0;

	while (n && r >= 0) {
		size_t now = n < piece ? n : piece;
		stream_feed(&reader, p, now);
		p += now;
		n -= now;
		while ((r = stream_next(&reader, &item, &f)) > 0)
			put_item(t, &item);
	}
	if (r < 0)
		fuzz_check_fault(r, &f);
	r = r < 0 ? r : stream_is_done(&reader);
	stream_reader_done(&reader);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	auto_text struct text whole = { 0 }, parts = { 0 }, again = { 0 };
	size_t piece = n ? 1 + p[n - 1] % 64u : 1;
	int r = copy(p, n, SIZE_MAX, &whole);

	fuzz_check(copy(p, n, piece, &parts) == r);
	fuzz_check_same(&whole, &parts);
	if (r > 0) {
		fuzz_check(copy((const uint8_t *)whole.data, whole.n, SIZE_MAX, &again) == 1);
		fuzz_check_same(&whole, &again);
	}
	return 0;
}
