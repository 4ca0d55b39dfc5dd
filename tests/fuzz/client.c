/* Requests of clients, as a supervisor takes them out of messages. */
#include <string.h>

#include "fuzz.h"
#include "fuzz-msg.h"
#include "session/wire.h"

static void check(const struct exec_request *r)
{
	fuzz_check(!r->argv || r->argv[0]);
	fuzz_check(!r->workdir[0] || r->workdir[0] == '/');
	fuzz_check(!r->context[0] || id_is_valid(r->context));
	for (char **e = r->env; *e; e++)
		fuzz_check(strchr(*e, '='));
}

static void check_files(const uint8_t *p, size_t n)
{
	auto_text struct text t = { 0 };
	enum files_kind kind;
	struct wire_exec w;
	struct fault f;
	struct msg m;

	fuzz_msg(&m, WIRE_FILES, p, n);
	int r = wire_get_files(&m, &w, &kind, &f);
	msg_done(&m);
	if (r < 0) {
		fuzz_check_fault(r, &f);
		return;
	}
	fuzz_check(kind <= FILES_PROBE && w.r.argv[0]);
	wire_put_files(&t, kind, w.r.argv);
	fuzz_check(t.n == n && !memcmp(t.data, p, n));
	wire_exec_done(&w);
}

static void check_exec(const uint8_t *p, size_t n)
{
	auto_text struct text once = { 0 }, twice = { 0 };
	struct wire_exec w, again;
	struct fault f;
	struct msg m;

	fuzz_msg(&m, WIRE_EXEC, p, n);
	int r = wire_get_exec(&m, &w, &f);
	msg_done(&m);
	if (r < 0) {
		fuzz_check_fault(r, &f);
		return;
	}
	check(&w.r);
	wire_put_exec(&once, &w.r);
	fuzz_msg(&m, WIRE_EXEC, once.data, once.n);
	fuzz_check(wire_get_exec(&m, &again, &f) == 0);
	wire_put_exec(&twice, &again.r);
	fuzz_check_same(&once, &twice);
	wire_exec_done(&w);
	wire_exec_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	check_exec(p, n);
	check_files(p, n);
	return 0;
}
