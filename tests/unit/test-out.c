#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "out.h"

struct row {
	const char *id;
	uint64_t n, bytes, ms, cpu;
	int64_t when;
	bool live;
};

static const struct column columns[] = {
	COLUMN(struct row, id, TEXT, "id", "ID", 6, "id"),
	COLUMN(struct row, n, UINT, "n", "N", 0, "number"),
	COLUMN(struct row, bytes, SIZE, "memory_bytes", "MEMORY", 0, "size"),
	COLUMN(struct row, ms, TIME, "age_ms", "AGE", 0, "time"),
	COLUMN(struct row, cpu, CPU, "cpu", "CPU", 0, "cpus"),
	COLUMN(struct row, when, WHEN, "created_at", "CREATED", 0, "when"),
	{ .key = "live", .head = "LIVE", .kind = COLUMN_BOOL, .at = offsetof(struct row, live), .extra = true,
		.help = "whether" },
	{ 0 },
};

static const struct row rows[] = {
	{ "a", 7, 1536, 90000, 1500, 1764443712123456, true },
	{ "caf\xc3\xa9\x1b[31m\n", 12345, 0, 0, 0, 0, false },
	{ NULL, 0, 1, 1, 1, 1, false },
};

/* What a table writes, through a pipe in the place of standard output. */
static void print(const char *names, const char *schema, char *ret, size_t room)
{
	struct out o;
	struct fault f;
	int fds[2], saved = dup(1);

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fflush(stdout);
	dup2(fds[1], 1);
	int r = out_init(&o, columns, names, schema, &f);
	for (size_t i = 0; !r && i < sizeof rows / sizeof *rows; i++)
		out_row(&o, &rows[i]);
	out_done(&o);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	close(fds[1]);
	ssize_t n = read(fds[0], ret, room - 1);
	close(fds[0]);
	assert_int_equal(r, 0);
	ret[n > 0 ? n : 0] = 0;
}

static void text_is_aligned_and_harmless(void **state)
{
	char text[4096];

	(void)state;
	print(NULL, NULL, text, sizeof text);
	assert_string_equal(text,
		"ID                    N   MEMORY  AGE        CPU  CREATED\n"
		"a                     7  1.5 KiB  1.5 min    1.5  2025-11-29T19:15:12Z\n"
		"caf\xc3\xa9\\x1b[31m\\x0a  12345        -  -            -  -\n"
		"-                     0      1 B  1 ms     0.001  1970-01-01T00:00:00Z\n");
}

static void json_has_one_object_a_line(void **state)
{
	char text[4096];

	(void)state;
	print(NULL, "sbx.row/1", text, sizeof text);
	static const char want[] =
		"{\"schema\":\"sbx.row/1\",\"id\":\"a\",\"n\":7,\"memory_bytes\":1536,\"age_ms\":90000,"
		"\"cpu\":1.5,\"created_at\":\"2025-11-29T19:15:12.123456Z\",\"live\":true}\n"
		"{\"schema\":\"sbx.row/1\",\"id\":\"caf\xc3\xa9\\u001b[31m\\n\",\"n\":12345,"
		"\"memory_bytes\":null,\"age_ms\":null,\"cpu\":null,\"created_at\":null,\"live\":false}\n";
	assert_memory_equal(text, want, sizeof want - 1);
}

static void columns_are_chosen_by_name(void **state)
{
	struct out o;
	struct fault f;
	char text[4096];

	(void)state;
	print("live,id", NULL, text, sizeof text);
	assert_memory_equal(text, "LIVE  ID\nyes   a\nno    caf", 26);
	assert_int_equal(out_init(&o, columns, "id,livee", NULL, &f), -FAULT_USAGE);
	assert_string_equal(f.text, "--columns: 'livee' is no column; did you mean live?");
	assert_int_equal(out_init(&o, columns, "", NULL, &f), -FAULT_USAGE);
	assert_int_equal(out_init(&o, columns, "id,", NULL, &f), -FAULT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_aligned_and_harmless),
		cmocka_unit_test(json_has_one_object_a_line),
		cmocka_unit_test(columns_are_chosen_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
