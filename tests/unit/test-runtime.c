#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>

#include "base/clock.h"
#include "session/probe.h"
#include "session/runtime.h"
#include "temp-dir.h"

static void names(void **state)
{
	static const struct {
		const char *name, *language;
		int32_t version[3];
	} good[] = {
		{ "python", "python", { -1, -1, -1 } }, { "python:3", "python", { 3, -1, -1 } },
		{ "python:3.11", "python", { 3, 11, -1 } }, { "python:3.11.2", "python", { 3, 11, 2 } },
		{ "node:20", "node", { 20, -1, -1 } }, { "shell", "shell", { -1, -1, -1 } },
	};
	static const char *const bad[] = { "", ":", "python:", "python:3.", "python:.3", "python:3.11.2.1",
		"python3", "Python", "python:3a", "python 3", "/usr/bin/python3", "python:-3", "python:3:4",
		"python:9999999", "aaaaaaaaaaaaaaaa", "python:3.11-slim" };
	char language[16];
	int32_t v[3];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(runtime_parse_name(good[i].name, language, v));
		assert_string_equal(language, good[i].language);
		assert_memory_equal(v, good[i].version, sizeof v);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (runtime_parse_name(bad[i], language, v))
			fail_msg("'%s' is taken", bad[i]);
}

static void versions(void **state)
{
	static const struct {
		const char *answer;
		uint32_t version[3];
	} good[] = {
		{ "Python 3.11.2\n", { 3, 11, 2 } }, { "v20.20.2\n", { 20, 20, 2 } },
		{ "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\n", { 5, 2, 15 } },
		{ "Python 3.14.0rc1\n", { 3, 14, 0 } }, { "v18.0\n", { 18, 0, 0 } },
		{ "Python 3.13.0+\n", { 3, 13, 0 } },
	};
	static const char *const bad[] = { "", "\n", "Python\n", "error\n3.11.2\n", "20\n", "x 9999999.1\n" };
	uint32_t v[3];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(runtime_parse_version(good[i].answer, v));
		assert_memory_equal(v, good[i].version, sizeof v);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (runtime_parse_version(bad[i], v))
			fail_msg("'%s' is taken", bad[i]);
}

/* bash is there wherever the tests run. */
static void shell_is_here_and_other_versions_are_not(void **state)
{
	struct runtime rt, other;
	struct fault f;

	(void)state;
	assert_int_equal(runtime_resolve(-1, "shell", &rt, &f), 0);
	assert_string_equal(rt.name, "shell");
	assert_string_equal(rt.language, "shell");
	assert_memory_equal(rt.path, "/usr/", 5);
	assert_int_equal(access(rt.path, X_OK), 0);
	assert_int_equal(runtime_find_language(-1, "shell", &other, &f), 0);
	assert_string_equal(rt.path, other.path);
	assert_int_equal(runtime_resolve(-1, "shell:77", &other, &f), -FAULT_NOT_FOUND);
	assert_memory_equal(f.text, "shell:77 is not here; there is ", 31);
	assert_non_null(strstr(f.text, "shell"));
	assert_int_equal(runtime_resolve(-1, "python:2", &other, &f), -FAULT_NOT_FOUND);
	assert_int_equal(runtime_find_language(-1, "shell:5", &other, &f), -FAULT_USAGE);
}

/* A program that counts its calls. */
static void make_program(struct temp_dir *t, const char *name, const char *body)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	dprintf(fd, "#!/bin/sh\necho x >> %s/calls\n%s\n", t->path, body);
	close(fd);
}

static size_t calls(struct temp_dir *t)
{
	struct stat st;

	return fstatat(t->fd, "calls", &st, 0) < 0 ? 0 : (size_t)st.st_size / 2;
}

static bool probe_once(struct temp_dir *t, const char *name, uint32_t v[3])
{
	struct probe p = { .home = t->fd };
	char path[PATH_MAX + 64];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", t->path, name);
	assert_int_equal(stat(path, &st), 0);
	bool r = probe_version(&p, path, &st, v);
	probe_done(&p);
	return r;
}

static void a_version_is_asked_once(void **state)
{
	struct temp_dir *t = *state;
	uint32_t v[3] = { 0 };

	make_program(t, "py", "echo Python 3.99.1");
	for (int i = 0; i < 3; i++) {
		assert_true(probe_once(t, "py", v));
		assert_true(v[0] == 3 && v[1] == 99 && v[2] == 1);
		assert_int_equal(calls(t), 1);
	}
	/* Replaced by a package: asked again. */
	make_program(t, "py", "echo Python 3.100.12");
	assert_true(probe_once(t, "py", v));
	assert_true(v[1] == 100);
	assert_int_equal(calls(t), 2);
}

static void a_damaged_cache_is_asked_around(void **state)
{
	struct temp_dir *t = *state;
	uint32_t v[3] = { 0 };
	int fd = openat(t->fd, "runtimes", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "\0\xff nonsense 3 3\n\n", 18), 18);
	close(fd);
	make_program(t, "py", "echo Python 3.9.1");
	assert_true(probe_once(t, "py", v));
	assert_true(probe_once(t, "py", v));
	assert_int_equal(calls(t), 1);
}

static void strange_programs_are_no_runtimes(void **state)
{
	struct temp_dir *t = *state;
	uint32_t v[3];

	make_program(t, "silent", "exit 0");
	assert_false(probe_once(t, "silent", v));
	make_program(t, "endless", "while echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; do :; done");
	assert_false(probe_once(t, "endless", v));
	make_program(t, "quiet-env", "test -z \"$HOME$SBX_SECRET\" && echo Python 3.9.1");
	setenv("SBX_SECRET", "x", 1);
	assert_true(probe_once(t, "quiet-env", v));
	unsetenv("SBX_SECRET");
}

/* Its child holds the pipe: the time limit ends it, and nothing of it is left. */
static void a_program_that_hangs_is_ended(void **state)
{
	struct temp_dir *t = *state;
	uint32_t v[3];
	int64_t start_ms = clock_now_ms();

	make_program(t, "hang", "sleep 1000 & echo $! > \"${0%/*}/pid\"; wait");
	assert_false(probe_once(t, "hang", v));
	int64_t took_ms = clock_now_ms() - start_ms;
	assert_true(took_ms >= PROBE_LIMIT_MS && took_ms < PROBE_LIMIT_MS + 3000);
	char path[PATH_MAX + 64], proc[64];
	int pid = 0;
	snprintf(path, sizeof path, "%s/pid", t->path);
	FILE *in = fopen(path, "r");
	assert_non_null(in);
	assert_int_equal(fscanf(in, "%d", &pid), 1);
	fclose(in);
	snprintf(proc, sizeof proc, "/proc/%d/exe", pid);
	/* It is killed; the kernel may take a moment, which has no limit but ours. */
	char link[16];
	int64_t end_ms = clock_now_ms() + 10 * 1000;
	while (readlink(proc, link, sizeof link) >= 0 && clock_now_ms() < end_ms)
		poll(NULL, 0, 5);
	assert_true(readlink(proc, link, sizeof link) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(versions),
		cmocka_unit_test(shell_is_here_and_other_versions_are_not),
		test_in_temp_dir(a_version_is_asked_once),
		test_in_temp_dir(a_damaged_cache_is_asked_around),
		test_in_temp_dir(strange_programs_are_no_runtimes),
		test_in_temp_dir(a_program_that_hangs_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
