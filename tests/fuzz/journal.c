/* The segments of a journal, whatever is in them: followed, opened, appended to. */
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "event/segment.h"
#include "fuzz.h"

enum { SEGMENTS_MAX = 4 };

/* Every event once, in order. The number of the last. */
static uint64_t follow(int dir, uint64_t since)
{
	struct follow *fo = NULL;
	const char *line;
	uint64_t seq, last = since;
	enum event_type type;
	struct fault f;
	size_t n;
	int r = follow_open(dir, since, false, &fo, &f);

	while (r >= 0 && (r = follow_next(fo, &line, &n, &f)) > 0) {
		fuzz_check(event_peek(line, n, &seq, &type) && seq > last);
		fuzz_check(!memchr(line, '\n', n));
		last = seq;
	}
	if (r < 0)
		fuzz_check_fault(r, &f);
	follow_free(fo);
	return last;
}

/* What is written into it is there, whatever was there before; but where numbers fall, which no
 * writer makes them do, a new one may be none for those who follow. */
static void append(int dir, uint64_t last)
{
	struct journal j = { 0 };
	struct fault f;
	int r = journal_open(dir, &j, &f);

	if (r < 0) {
		fuzz_check_fault(r, &f);
		return;
	}
	uint64_t before = j.seq;
	json_put_string(event_begin(&j, EVENT_LOG, "sess_a", NULL), "message", "here");
	fuzz_check(event_end(&j, &f) == 0);
	fuzz_check(j.seq == before + 1);
	if (last <= before)
		fuzz_check(follow(dir, before) == j.seq);
	journal_close(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct fuzz_rest z = { p, n };
	char names[SEGMENTS_MAX][SEGMENT_NAME];
	int dir = fuzz_dir(), n_names = 0;
	uint64_t first = 1;

	while (z.n && n_names < SEGMENTS_MAX) {
		struct fuzz_rest part = fuzz_take_part(&z);
		segment_name(first, names[n_names]);
		fuzz_write_file(dir, names[n_names++], part.p, part.n);
		uint8_t step = fuzz_take_u8(&z);
		first = step == UINT8_MAX ? fuzz_take_u64(&z) : first + step;
	}
	follow(dir, first);
	append(dir, follow(dir, 0));
	segment_name(1, names[0]); /* of an empty one */
	for (int i = 0; i < n_names || !i; i++)
		unlinkat(dir, names[i], 0);
	return 0;
}
