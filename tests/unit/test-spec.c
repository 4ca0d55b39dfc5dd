#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/limits.h"
#include "session/spec.h"

static int read_ask(struct spec_ask *a, const char *s, struct fault *f)
{
	spec_ask_init(a);
	return spec_ask_read(a, "f", s, strlen(s), f);
}

static int make(const char *s, struct session_spec *ret, struct fault *f)
{
	struct spec_ask a;
	int r = read_ask(&a, s, f);

	if (!r)
		r = spec_resolve(&a, -1, ret, f);
	spec_ask_done(&a);
	return r;
}

/* The request of the founding article, word for word. */
static void the_body_of_the_article(void **state)
{
	struct session_spec s;
	struct fault f;

	(void)state;
	int r = make("{\"runtime\":\"shell\",\"resources\":{\"cpu\":2,\"memory\":\"2Gi\",\"disk\":\"10Gi\"},"
		     "\"timeout\":600,\"tools\":[\"python_interpreter\",\"file_reader\"]}", &s, &f);
	if (r)
		fail_msg("%s", f.text);
	assert_true(s.limits[LIMIT_CPU] == 2000 && s.limits[LIMIT_MEMORY] == 2 * GIB);
	assert_true(s.limits[LIMIT_DISK] == 10 * GIB && s.lifetime_ms == 600000);
	assert_string_equal(s.tools[1], "file_reader");
	assert_null(s.tools[2]);
	assert_string_equal(s.runtime_resolved, "shell");
	session_spec_done(&s);
}

static void sizes_and_defaults(void **state)
{
	struct session_spec s;
	struct fault f;

	(void)state;
	assert_int_equal(make("runtime: shell", &s, &f), 0);
	assert_int_equal(s.class, CLASS_WORKSPACE);
	assert_true(s.limits[LIMIT_CPU] == 2000 && s.limits[LIMIT_MEMORY] == 2 * GIB &&
		s.limits[LIMIT_DISK] == 10 * GIB && s.limits[LIMIT_PIDS] == 256);
	assert_true(s.lifetime_ms == DEFAULT_LIFETIME_MS && s.exec_timeout_ms == DEFAULT_EXEC_TIMEOUT_MS);
	assert_true(s.idle_timeout_ms == DEFAULT_IDLE_WORKSPACE_MS);
	assert_true(s.output_keep_bytes == DEFAULT_OUTPUT_KEEP_BYTES && !s.require && !s.env);
	session_spec_done(&s);
	assert_int_equal(make("runtime: shell\nsize: small\nclass: task\nresources: {memory: 512Mi}\n"
			      "idle_timeout: 0\n", &s, &f), 0);
	assert_int_equal(s.class, CLASS_TASK);
	assert_true(s.limits[LIMIT_CPU] == 1000 && s.limits[LIMIT_MEMORY] == 512 * MIB &&
		s.limits[LIMIT_DISK] == 2 * GIB && s.limits[LIMIT_PIDS] == 128);
	assert_true(s.idle_timeout_ms == 0);
	session_spec_done(&s);
	assert_int_equal(make("runtime: shell\nclass: task\nsize: large\n", &s, &f), 0);
	assert_true(s.idle_timeout_ms == DEFAULT_IDLE_TASK_MS && s.limits[LIMIT_CPU] == 4000 &&
		s.limits[LIMIT_MEMORY] == 8 * GIB && s.limits[LIMIT_PIDS] == 512);
	session_spec_done(&s);
}

static void everything_that_can_be_said(void **state)
{
	struct session_spec s;
	struct fault f;

	(void)state;
	int r = make("runtime: shell\nname: job-1\nclass: workspace\nsize: medium\npids: 99\nnofile: 77\n"
		     "lifetime: 2h\nidle_timeout: 5m\ndormant_after: 10\nexec_timeout: 1.5\noutput_keep: 1Mi\n"
		     "env: {A: 1, B: x y}\nrequire: [memory, 'pids,cpu', network]\nnetwork: none\n"
		     "tools: [shell]\nresources:\n  cpu: 0.5\n", &s, &f);
	if (r)
		fail_msg("%s", f.text);
	assert_string_equal(s.name, "job-1");
	assert_true(s.limits[LIMIT_PIDS] == 99 && s.limits[LIMIT_NOFILE] == 77 && s.limits[LIMIT_CPU] == 500);
	assert_true(s.lifetime_ms == 7200000 && s.idle_timeout_ms == 300000 && s.dormant_after_ms == 10000 &&
		s.exec_timeout_ms == 1500 && s.output_keep_bytes == MIB);
	assert_string_equal(s.env[0], "A=1");
	assert_string_equal(s.env[1], "B=x y");
	assert_int_equal(s.require, 1u << LIMIT_MEMORY | 1u << LIMIT_PIDS | 1u << LIMIT_CPU);
	session_spec_done(&s);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *in, *text;
		int r;
	} rows[] = {
		{ "memory: 2Gi", "f:1:1: 'memory' is no key here", -FAULT_FORMAT },
		{ "resources: {memroy: 2Gi}", "f:1:13: 'memroy' is no key here; did you mean 'memory'?",
			-FAULT_FORMAT },
		{ "resources: {memory: 2Gx}", "f:1:21: memory: '2Gx' is not a size", -FAULT_FORMAT },
		{ "resources: {memory: 1Mi}", "f:1:21: memory: '1Mi' is out of range", -FAULT_FORMAT },
		{ "resources: {cpu: 0}", "f:1:18: cpu: '0' is out of range", -FAULT_FORMAT },
		{ "timeout: -1", "f:1:10: timeout: '-1' is not a time", -FAULT_FORMAT },
		{ "timeout: 1\nlifetime: 2", "f:2:1: 'timeout' and 'lifetime' say the same; give one",
			-FAULT_FORMAT },
		{ "pids: 9\nresources: {pids: 9}", "f:2:19: 'pids' is here twice; give one", -FAULT_FORMAT },
		{ "class: ephemeral", "f:1:8: class: 'ephemeral' is not possible", -FAULT_FORMAT },
		{ "name: ../x", "f:1:7: name: '../x' is no name", -FAULT_FORMAT },
		{ "network: host", "f:1:10: network: only 'none' is possible", -FAULT_DENIED },
		{ "network: {allow: [a]}", "f:1:10: network: only 'none' is possible", -FAULT_DENIED },
		{ "runtime: shell\ntools: [file_raeder]",
			"tools: 'file_raeder' is not known; did you mean 'file_reader'?", -FAULT_USAGE },
		{ "runtime: shell\nrequire: [memori]",
			"require: 'memori' is none of cpu, memory, disk, pids, nofile, network; "
			"did you mean 'memory'?", -FAULT_USAGE },
		{ "runtime: ruby", "runtime: ruby is not here; there is ", -FAULT_NOT_FOUND },
		{ "runtime: ../../bin/sh", "runtime: '../../bin/sh' is no runtime", -FAULT_USAGE },
		{ "- runtime", "f:1:1: keys and values are expected, not a list", -FAULT_FORMAT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct session_spec s;
		struct fault f = { 0 };
		int r = make(rows[i].in, &s, &f);
		if (r != rows[i].r || strncmp(f.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("'%s' gave %d '%s'", rows[i].in, r, f.text);
	}
}

static void env_of_a_later_source_wins(void **state)
{
	char **env = NULL;
	struct fault f;

	(void)state;
	assert_int_equal(spec_put_env(&env, "A=1", &f), 0);
	assert_int_equal(spec_put_env(&env, "AB=2", &f), 0);
	assert_int_equal(spec_read_env(&env, "e", "# c\n\nA=3=4\r\nC=\nAB=5", &f), 0);
	assert_string_equal(env[0], "A=3=4");
	assert_string_equal(env[1], "AB=5");
	assert_string_equal(env[2], "C=");
	assert_null(env[3]);
	assert_int_equal(spec_put_env(&env, "=x", &f), -FAULT_USAGE);
	assert_int_equal(spec_put_env(&env, "x", &f), -FAULT_USAGE);
	assert_int_equal(spec_read_env(&env, "e", "A=1\nx y\n", &f), -FAULT_FORMAT);
	assert_string_equal(f.text, "e:2: 'x y' is no NAME=VALUE");
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
}

static void instructions_say_the_limits(void **state)
{
	struct session_spec s;
	auto_text struct text t = { 0 };
	struct fault f;

	(void)state;
	assert_int_equal(make("runtime: shell\ntools: [shell, file_reader]\nexec_timeout: 90", &s, &f), 0);
	spec_instructions(&s, &t);
	static const char *const parts[] = { "with shell", "/workspace", "no network", "2 CPUs", "2 GiB of memory",
		"10 GiB of disk", "256 processes", "1.5 min for one execution", "shell (commands), file_reader (" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strstr(t.data, parts[i]))
			fail_msg("'%s' is not in '%s'", parts[i], t.data);
	session_spec_done(&s);
}

static void a_request_of_the_article(void **state)
{
	static const char json[] = "{\"session_id\":\"sess_1\",\"code\":\"print(1)\\n\",\"workdir\":\"/workspace\","
				   "\"env\":{\"PYTHONUNBUFFERED\":\"1\"}}";
	struct exec_ask a;
	struct fault f;

	(void)state;
	assert_int_equal(exec_ask_read(&a, "r", json, strlen(json), &f), 0);
	assert_string_equal(a.session_id, "sess_1");
	assert_string_equal(a.code, "print(1)\n");
	assert_string_equal(a.workdir, "/workspace");
	assert_string_equal(a.env[0], "PYTHONUNBUFFERED=1");
	assert_true(a.timeout_ms == SPEC_UNSET && !a.command && !a.fresh);
	exec_ask_done(&a);
}

static void wrong_requests(void **state)
{
	static const struct {
		const char *in, *text;
	} rows[] = {
		{ "{}", "r:1:1: exactly one of 'code' and 'command' is needed" },
		{ "{\"code\":\"a\",\"command\":[\"b\"]}", "r:1:1: exactly one of" },
		{ "{\"command\":[]}", "r:1:12: command: the list is empty" },
		{ "{\"command\":\"ls -l\"}", "r:1:12: 'command' must be a list, not a text" },
		{ "{\"command\":[\"a\"],\"language\":\"node\"}", "r:1:12: language, context and fresh go with" },
		{ "{\"code\":\"a\",\"cpu_limit\":1}", "r:1:25: cpu_limit goes with 'command'" },
		{ "{\"code\":\"a\",\"language\":\"ruby\"}", "r:1:24: language: 'ruby' is none of" },
		{ "{\"code\":\"a\",\"workdir\":\"x\"}", "r:1:23: workdir: 'x' must begin with '/'" },
		{ "{\"code\":\"a\",\"session_id\":\"..\"}", "r:1:26: session_id: '..' is no name" },
		{ "{\"code\":\"a\",\"tiemout\":5}", "r:1:13: 'tiemout' is no key here; did you mean 'timeout'?" },
		{ "{\"code\":42}", "r:1:9: 'code' must be a text, not a number" },
		{ "{\"code\":\"a\",\"fresh\":\"yes\"}", "r:1:21: 'fresh' must be true or false, not a text" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct exec_ask a;
		struct fault f = { 0 };
		int r = exec_ask_read(&a, "r", rows[i].in, strlen(rows[i].in), &f);
		if (r != -FAULT_FORMAT || strncmp(f.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("'%s' gave %d '%s'", rows[i].in, r, f.text);
		exec_ask_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_body_of_the_article),
		cmocka_unit_test(sizes_and_defaults),
		cmocka_unit_test(everything_that_can_be_said),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(env_of_a_later_source_wins),
		cmocka_unit_test(instructions_say_the_limits),
		cmocka_unit_test(a_request_of_the_article),
		cmocka_unit_test(wrong_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
