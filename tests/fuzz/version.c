/* What interpreters say of themselves, what was kept of it, and names of runtimes. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "session/probe.h"
#include "session/runtime.h"

/* HOME/runtimes: a damaged one is as good as none. No interpreter has this name. */
static void check_kept(const uint8_t *p, size_t n)
{
	struct probe kept = { .home = -1, .loaded = true };
	struct stat st = { 0 };
	uint32_t v[3];

	text_put_bytes(&kept.kept, p, strnlen((const char *)p, n));
	if (probe_version(&kept, "/none", &st, v))
		fuzz_check(strstr(kept.kept.data, "/none 0 0 0 "));
	fuzz_check(!kept.changed);
	probe_done(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *s = fuzz_string(p, n), language[16];
	uint32_t version[3];
	int32_t wanted[3];

	runtime_parse_version(s, version);
	if (runtime_parse_name(s, language, wanted)) {
		fuzz_check(!strncmp(language, s, strlen(language)));
		for (int i = 0; i < 3; i++)
			fuzz_check(wanted[i] >= -1);
	}
	check_kept(p, n);
	free(s);
	return 0;
}
