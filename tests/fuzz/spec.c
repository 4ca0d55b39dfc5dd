/* A session's file, YAML or JSON, as create -f takes it. */
#include <string.h>

#include "fuzz.h"
#include "session/spec.h"

static bool is_in(uint64_t v, uint64_t min, uint64_t max)
{
	return v == SPEC_UNSET || (v >= min && v <= max);
}

static void check_env(char *const *env)
{
	for (; env && *env; env++)
		fuzz_check(strchr(*env, '=') && **env != '=');
}

static void check(const struct spec_ask *a)
{
	fuzz_check(!a->name[0] || id_is_valid(a->name));
	fuzz_check(a->class >= -1 && a->class <= SPEC_WORKSPACE);
	fuzz_check(a->size >= -1 && a->size <= SIZE_LARGE);
	fuzz_check(is_in(a->limits[LIMIT_CPU], SPEC_CPU_MIN, SPEC_CPU_MAX));
	fuzz_check(is_in(a->limits[LIMIT_MEMORY], SPEC_MEMORY_MIN, SPEC_BYTES_MAX));
	fuzz_check(is_in(a->limits[LIMIT_DISK], SPEC_DISK_MIN, SPEC_BYTES_MAX));
	fuzz_check(is_in(a->limits[LIMIT_PIDS], SPEC_PIDS_MIN, SPEC_PIDS_MAX));
	fuzz_check(is_in(a->limits[LIMIT_NOFILE], SPEC_NOFILE_MIN, SPEC_NOFILE_MAX));
	fuzz_check(is_in(a->lifetime_ms, 0, SPEC_TIME_MAX_MS));
	fuzz_check(is_in(a->idle_timeout_ms, 0, SPEC_TIME_MAX_MS));
	fuzz_check(is_in(a->dormant_after_ms, 0, SPEC_TIME_MAX_MS));
	fuzz_check(is_in(a->exec_timeout_ms, 0, SPEC_TIME_MAX_MS));
	fuzz_check(is_in(a->output_keep_bytes, SPEC_KEEP_MIN, SPEC_BYTES_MAX));
	check_env(a->env);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct spec_ask a;
	struct fault f;

	spec_ask_init(&a);
	int r = spec_ask_read(&a, "job.yaml", p, n, &f);
	if (r < 0)
		fuzz_check_fault(r, &f);
	else
		check(&a);
	for (char **word = a.require; word && *word; word++) {
		uint32_t bits = 0;
		r = spec_parse_require(*word, &bits, &f);
		if (r < 0)
			fuzz_check_fault(r, &f);
	}
	spec_ask_done(&a);
	return 0;
}
