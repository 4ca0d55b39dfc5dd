/* Files of a session: spec.json, status.json, and what is kept of a request id. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "fuzz.h"
#include "store/inner.h"

static void read_file(int dir, const char *name, struct text *t)
{
	struct fault f;

	text_clear(t);
	fuzz_check(file_read(dir, name, LIMIT_STATE_BYTES, t, &f) == 0);
}

/* What was read is written, read and written again: nothing is lost on the way. */
static void check_spec(int dir, const uint8_t *p, size_t n)
{
	auto_text struct text once = { 0 }, twice = { 0 };
	struct session_spec spec, again;
	struct fault f;

	fuzz_write_file(dir, "spec.json", p, n);
	int r = store_spec_read(dir, &spec, &f);
	unlinkat(dir, "spec.json", 0);
	if (r < 0) {
		fuzz_check_fault(r, &f);
		return;
	}
	fuzz_check(store_spec_write(dir, &spec, &f) == 0);
	read_file(dir, "spec.json", &once);
	fuzz_check(store_spec_read(dir, &again, &f) == 0);
	unlinkat(dir, "spec.json", 0);
	fuzz_check(store_spec_write(dir, &again, &f) == 0);
	read_file(dir, "spec.json", &twice);
	unlinkat(dir, "spec.json", 0);
	fuzz_check_same(&once, &twice);
	session_spec_done(&spec);
	session_spec_done(&again);
}

static void check_status(int dir, const uint8_t *p, size_t n)
{
	auto_text struct text once = { 0 }, twice = { 0 };
	struct session_status status, again;
	struct fault f;

	fuzz_write_file(dir, "status.json", p, n);
	int r = store_status_read_at(dir, &status, &f);
	if (r < 0) {
		fuzz_check_fault(r, &f);
		return;
	}
	fuzz_check(status.pid >= 0 && status.init_pid >= 0 && status.n_contexts <= CONTEXTS_MAX);
	fuzz_check(store_status_write_at(dir, &status, &f) == 0);
	read_file(dir, "status.json", &once);
	fuzz_check(store_status_read_at(dir, &again, &f) == 0);
	fuzz_check(store_status_write_at(dir, &again, &f) == 0);
	read_file(dir, "status.json", &twice);
	fuzz_check_same(&once, &twice);
}

static void check_request(int dir, const uint8_t *p, size_t n)
{
	/* sha256 of the id "a". */
	static const char name[] =
		"requests/ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
	struct store_session s = { .dir = dir };
	char exec[ID_TEXT], body[DIGEST_TEXT];
	struct fault f;

	mkdirat(dir, "requests", 0700);
	fuzz_write_file(dir, name, p, n);
	int r = store_request_find(&s, "a", exec, body, &f);
	if (r < 0)
		fuzz_check_fault(r, &f);
	else
		fuzz_check(r == 1 && id_is_valid(exec) && strlen(body) == DIGEST_TEXT - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	int dir = fuzz_dir();

	check_spec(dir, p, n);
	check_status(dir, p, n);
	check_request(dir, p, n);
	return 0;
}
