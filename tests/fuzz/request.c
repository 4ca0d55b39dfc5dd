/* The body of exec --request. */
#include <string.h>

#include "fuzz.h"
#include "session/spec.h"

static void check(const struct exec_ask *a)
{
	fuzz_check(!a->code != !a->command);
	fuzz_check(!a->command || a->command[0]);
	fuzz_check(!a->session_id[0] || id_is_valid(a->session_id));
	fuzz_check(!a->context[0] || id_is_valid(a->context));
	fuzz_check(!a->workdir || (a->workdir[0] == '/' && strlen(a->workdir) < 4096));
	fuzz_check(!a->request_id || strlen(a->request_id) <= 256);
	fuzz_check(a->timeout_ms == SPEC_UNSET || a->timeout_ms <= SPEC_TIME_MAX_MS);
	fuzz_check(a->cpu_limit_ms == SPEC_UNSET || a->cpu_limit_ms <= SPEC_TIME_MAX_MS);
	for (char **e = a->env; e && *e; e++)
		fuzz_check(strchr(*e, '=') && **e != '=');
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct exec_ask a;
	struct fault f;
	int r = exec_ask_read(&a, "request.json", p, n, &f);

	if (r < 0)
		fuzz_check_fault(r, &f);
	else
		check(&a);
	exec_ask_done(&a);
	return 0;
}
