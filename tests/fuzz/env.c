/* An --env-file. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "session/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *s = fuzz_string(p, n), **env = NULL;
	struct fault f;
	int r = spec_read_env(&env, "job.env", s, &f);

	if (r < 0)
		fuzz_check_fault(r, &f);
	for (char **e = env; e && *e; e++) {
		size_t name = strcspn(*e, "=");
		fuzz_check(name && (*e)[name] && !strchr(*e, '\n'));
		for (char **other = env; other != e; other++)
			fuzz_check(strncmp(*other, *e, name + 1) != 0);
	}
	mem_free_strings(env);
	free(s);
	return 0;
}
