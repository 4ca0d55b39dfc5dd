/* A tar of the caller's, on its way into a session. */
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/stream.h"
#include "fuzz.h"
#include "pack/pack.h"

/* [bytes] A sparse file may announce as much as it likes. */
enum { ENOUGH_BYTES = 4 * 1024 * 1024 };

static void check_item(const struct stream_item *i)
{
	if (i->entry.kind <= STREAM_LINK)
		fuzz_check(stream_path_is_valid(i->entry.path, true));
	fuzz_check(i->entry.kind != STREAM_FAULT);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct stream_reader reader = { 0 };
	auto_text struct text t = { 0 };
	struct pack_source *s = NULL;
	struct stream_item item;
	struct fault f, f2;
	auto_fd int fd = fuzz_open(p, n);
	size_t total = 0;
	int r = pack_source_tar(fd, &s, &f), r2;

	r = r < 0 ? r : 1;
	while (r > 0 && total < ENOUGH_BYTES) {
		r = pack_next(s, &t, &f);
		total += t.n;
		stream_feed(&reader, t.data, t.n);
		while ((r2 = stream_next(&reader, &item, &f2)) > 0)
			check_item(&item);
		fuzz_check(r2 == 0);
	}
	if (r < 0)
		fuzz_check_fault(r, &f);
	if (r == 0)
		fuzz_check(stream_is_done(&reader));
	stream_reader_done(&reader);
	pack_source_free(s);
	return 0;
}
