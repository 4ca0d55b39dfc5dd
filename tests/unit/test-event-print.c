#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "event/event.h"

static const char head[] = "{\"seq\":7,\"timestamp\":\"2026-11-29T19:15:12.123456Z\",\"type\":\"log\"";

static bool peek(const char *line, uint64_t *seq, enum event_type *type)
{
	return event_peek(line, strlen(line), seq, type);
}

static void peek_takes_what_is_written(void **state)
{
	uint64_t seq = 0;
	enum event_type type = EVENT_MAX;

	(void)state;
	assert_true(peek("{\"seq\":18446744073709551615,\"timestamp\":\"x\",\"type\":\"log\"}", &seq, &type));
	assert_true(seq == UINT64_MAX);
	assert_int_equal(type, EVENT_LOG);
	assert_true(peek("{\"seq\":1,\"timestamp\":\"x\",\"type\":\"file_changed\",\"a\":1}", &seq, &type));
	assert_int_equal(seq, 1);
	assert_int_equal(type, EVENT_FILE_CHANGED);
	assert_true(peek("{\"seq\":2,\"timestamp\":\"x\",\"type\":\"of_tomorrow\"}", &seq, &type));
	assert_int_equal(type, EVENT_MAX);
}

static void peek_refuses_everything_else(void **state)
{
	static const char *const bad[] = {
		"", "{", "}", "{}", "{\"schema\":\"sbx.events/1\"}",
		"{\"seq\":,\"timestamp\":\"x\",\"type\":\"log\"}",
		"{\"seq\":0,\"timestamp\":\"x\",\"type\":\"log\"}",
		"{\"seq\":-1,\"timestamp\":\"x\",\"type\":\"log\"}",
		"{\"seq\":18446744073709551616,\"timestamp\":\"x\",\"type\":\"log\"}",
		"{\"seq\":1,\"timestamp\":\"x\\\",\"type\":\"log\"}",
		"{\"seq\":1,\"timestamp\":\"x\",\"type\":\"log\"",
		"{\"seq\":1,\"timestamp\":\"x\",\"type\":\"log",
		"{\"seq\":1,\"timestamp\":\"x\",\"type\":\"log\"]}",
		"{\"seq\": 1,\"timestamp\":\"x\",\"type\":\"log\"}",
		" {\"seq\":1,\"timestamp\":\"x\",\"type\":\"log\"}",
		"{\"type\":\"log\",\"seq\":1,\"timestamp\":\"x\"}",
	};
	uint64_t seq = 42;
	enum event_type type = EVENT_ARTIFACT;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(peek(bad[i], &seq, &type));
	assert_int_equal(seq, 42);
	assert_int_equal(type, EVENT_ARTIFACT);
}

/* Every cut of a good line is refused, and read within its bounds (ASan). */
static void peek_of_every_prefix(void **state)
{
	const char *line = "{\"seq\":1,\"timestamp\":\"x\",\"type\":\"log\",\"m\":\"y\"}";
	uint64_t seq;
	enum event_type type;

	(void)state;
	for (size_t n = 0; n < strlen(line); n++) {
		char *copy = malloc(n ? n : 1);
		memcpy(copy, line, n);
		assert_false(event_peek(copy, n, &seq, &type));
		free(copy);
	}
}

static void sse_is_three_fields(void **state)
{
	auto_text struct text t = { 0 }, line = { 0 };

	(void)state;
	text_format(&line, "%s}", head);
	event_put_sse(&t, line.data, line.n);
	text_put(&line, "\n\n");
	assert_true(strncmp(t.data, "id: 7\nevent: log\ndata: {", 24) == 0);
	assert_string_equal(t.data + 23, line.data);
}

static void sse_has_no_line_break_in_its_data(void **state)
{
	auto_text struct text t = { 0 };
	const char line[] = "a\rb\nc\0d";

	(void)state;
	event_put_sse(&t, line, sizeof line - 1);
	assert_string_equal(t.data, "data: a b c d\n\n");
}

static void text_shows_members(void **state)
{
	auto_text struct text t = { 0 }, line = { 0 };

	(void)state;
	text_put(&line, head);
	json_put_string(&line, "session_id", "sess_a");
	json_put_string(&line, "execution_id", "exec_b");
	json_put_string(&line, "status", "output");
	json_put_int(&line, "offset", 12);
	json_key(&line, "files");
	json_raw(&line, "[{\"path\":\"a,}b\"}]", 17);
	json_put_bool(&line, "last", true);
	text_put(&line, "}");
	event_put_text(&t, line.data, line.n);
	assert_string_equal(t.data, "2026-11-29T19:15:12.123456Z      7 log exec_b output offset=12 "
				    "files=[{\"path\":\"a,}b\"}] last=true\n");
}

static void text_makes_controls_visible(void **state)
{
	auto_text struct text t = { 0 }, line = { 0 };
	const char evil[] = "\x1b[2J\r\n\0\x7f\xc2\x9b" "31m\xff \xe2\x80\xae \xc3\xa4 \\x41";

	(void)state;
	text_put(&line, head);
	json_key(&line, "message");
	json_bytes(&line, evil, sizeof evil - 1);
	text_put(&line, "}");
	event_put_text(&t, line.data, line.n);
	assert_string_equal(strstr(t.data, "log ") + 4,
		"\\x1b[2J\\x0d\\x0a\\x00\\x7f\\xc2\\x9b31m\xef\xbf\xbd \\xe2\\x80\\xae \xc3\xa4 \\x41\n");
	for (size_t i = 0; i + 1 < t.n; i++)
		assert_true((unsigned char)t.data[i] >= 0x20);
}

static void text_decodes_surrogates_and_stops_at_damage(void **state)
{
	auto_text struct text t = { 0 }, line = { 0 };

	(void)state;
	text_put(&line, head);
	text_put(&line, ",\"message\":\"\\ud83d\\ude00\",\"a\":\"\\ud83d\"}");
	event_put_text(&t, line.data, line.n);
	assert_non_null(strstr(t.data, "log \xf0\x9f\x98\x80 a="));
	text_clear(&t);
	text_clear(&line);
	text_put(&line, head);
	text_put(&line, ",\"a\":1,\"b\":\"\\q\",\"c\":2}");
	event_put_text(&t, line.data, line.n);
	assert_string_equal(strstr(t.data, "log "), "log a=1\n");
}

/* No cut and no flipped byte of a line may lead out of it. */
static void text_of_damaged_lines(void **state)
{
	auto_text struct text line = { 0 };

	(void)state;
	text_put(&line, head);
	text_put(&line, ",\"a\":[{\"b\":\"\\u00e4\\ud83d\\ude00\"},1],\"c\":\"\\n\"}");
	for (size_t at = 0; at < line.n; at++)
		for (int flip = 1; flip < 256; flip <<= 1) {
			auto_text struct text t = { 0 };
			char *copy = malloc(line.n);
			memcpy(copy, line.data, line.n);
			copy[at] = (char)(copy[at] ^ flip);
			event_put_text(&t, copy, line.n);
			assert_true(t.n > 0 && !memchr(t.data, '\n', t.n - 1));
			free(copy);
		}
}

static void members_are_found(void **state)
{
	auto_text struct text t = { 0 }, line = { 0 };

	(void)state;
	text_format(&line, "%s,\"a\":{\"status\":\"x\"},\"status\":\"runn\\u0069ng\",\"n\":12}", head);
	assert_true(event_get(line.data, line.n, "status", &t));
	assert_string_equal(t.data, "running");
	assert_true(event_get(line.data, line.n, "n", &t));
	assert_string_equal(t.data, "running12");
	assert_false(event_get(line.data, line.n, "none", &t));
	assert_false(event_get("", 0, "a", &t));
	assert_string_equal(t.data, "running12");
}

static void every_type_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_MAX; i++)
		assert_true(strlen(event_type_name((enum event_type)i)) > 2);
	assert_string_equal(event_type_name(EVENT_MAX), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peek_takes_what_is_written),
		cmocka_unit_test(peek_refuses_everything_else),
		cmocka_unit_test(peek_of_every_prefix),
		cmocka_unit_test(sse_is_three_fields),
		cmocka_unit_test(sse_has_no_line_break_in_its_data),
		cmocka_unit_test(text_shows_members),
		cmocka_unit_test(text_makes_controls_visible),
		cmocka_unit_test(text_decodes_surrogates_and_stops_at_damage),
		cmocka_unit_test(text_of_damaged_lines),
		cmocka_unit_test(members_are_found),
		cmocka_unit_test(every_type_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
