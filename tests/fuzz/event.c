/* One line of a journal: read, and shown to people and to browsers. */
#include <string.h>

#include "base/utf8.h"
#include "event/event.h"
#include "fuzz.h"

static void check_text(const uint8_t *p, size_t n)
{
	auto_text struct text t = { 0 };

	event_put_text(&t, (const char *)p, n);
	fuzz_check(t.n && t.data[t.n - 1] == '\n' && utf8_is_valid(t.data, t.n));
	for (size_t i = 0; i + 1 < t.n; i++)
		fuzz_check((unsigned char)t.data[i] >= 0x20 && t.data[i] != 0x7f);
}

/* Its last line is empty, and no other one is. */
static void check_sse(const uint8_t *p, size_t n)
{
	auto_text struct text t = { 0 };

	event_put_sse(&t, (const char *)p, n);
	fuzz_check(strlen(t.data) == t.n && strstr(t.data, "\n\n") == t.data + t.n - 2);
	fuzz_check(!strchr(t.data, '\r'));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char *const keys[] = { "seq", "type", "execution_id", "changes", "no" };
	enum event_type type = EVENT_MAX;
	uint64_t seq = 0;

	if (event_peek((const char *)p, n, &seq, &type))
		fuzz_check(seq && type <= EVENT_MAX);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		auto_text struct text value = { 0 };
		if (!event_get((const char *)p, n, keys[i], &value))
			fuzz_check(!value.n);
	}
	check_text(p, n);
	check_sse(p, n);
	return 0;
}
