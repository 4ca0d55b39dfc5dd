#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/id.h"
#include "base/limits.h"
#include "base/text.h"
#include "fmt/fmt.h"

#define HOSTILE "data/hostile"

static int parse(const char *s, struct fmt_doc **ret, struct fault *f)
{
	return fmt_parse("f", s, strlen(s), ret, f);
}

/* --- what is refused ------------------------------------------------------------------ */

static const struct {
	const char *file, *text;
} hostile[] = {
	{ "alias-bomb.yaml", ":1:4: anchors and tags are refused" },
	{ "alias-of-itself.yaml", ":1:4: anchors and tags are refused" },
	{ "anchor-unused.yaml", ":1:10: anchors and tags are refused" },
	{ "bad-escape.json", ":1:10: no such escape" },
	{ "bare-key.json", ":1:2: a key in double quotes is missing" },
	{ "comment.json", ":1:13: this is no JSON value" },
	{ "complex-key.yaml", ":1:3: a key must be a plain word" },
	{ "depth-block.yaml", ":33:33: nested too deeply" },
	{ "depth-empty.json", ":1:37: nested too deeply" },
	{ "depth-flow.yaml", ":1:35: nested too deeply" },
	{ "depth-open.json", ":1:161: nested too deeply" },
	{ "depth.json", ":1:37: nested too deeply" },
	{ "directive.yaml", ": directives are refused" },
	{ "double-zero.json", ":1:9: this is no JSON value" },
	{ "duplicate-escaped.json", ":1:13: 'name' is here twice, first in line 1" },
	{ "duplicate-kind.json", ":2:2: 'a' is here twice, first in line 1" },
	{ "duplicate-nested.json", ":2:14: 'k' is here twice, first in line 2" },
	{ "duplicate-nested.yaml", ":3:3: 'cpu' is here twice, first in line 2" },
	{ "duplicate.json", ":2:2: 'name' is here twice, first in line 1" },
	{ "duplicate.yaml", ":3:1: 'name' is here twice, first in line 1" },
	{ "empty.yaml", ":1:1: the file is empty" },
	{ "hex.json", ":1:9: this is no JSON value" },
	{ "infinity.json", ":1:9: this is no JSON value" },
	{ "latin1.yaml", ":1:10: a byte that is NUL or not UTF-8" },
	{ "leading-zero.json", ":1:9: this is no JSON value" },
	{ "list.yaml", ":1:1: keys and values are expected, not a list" },
	{ "merge-key.yaml", ":2:3: merge keys are refused" },
	{ "nan.json", ":1:9: this is no JSON value" },
	{ "no-colon.json", ":1:9: ':' is missing behind the key" },
	{ "no-fraction.json", ":1:9: this is no JSON value" },
	{ "no-value.json", ":1:9: a value is missing, or a ',' is too many" },
	{ "nul-byte.json", ":1:11: a byte that is NUL or not UTF-8" },
	{ "nul-byte.yaml", ":1:8: a byte that is NUL or not UTF-8" },
	{ "nul-escape.json", ":1:11: a NUL character" },
	{ "nul-escape.yaml", ":1:7: a NUL character" },
	{ "nul-key.json", ":1:16: a NUL character" },
	{ "only-comment.yaml", ": the file is empty" },
	{ "open-escape.json", ":1:9: the string does not end" },
	{ "open-flow.yaml", ": did not find expected ',' or ']'" },
	{ "open-quote.yaml", ": found unexpected end of stream" },
	{ "open-string.json", ":1:9: the string does not end" },
	{ "open.json", ":1:12: the text ends before the value does" },
	{ "overlong.yaml", ":1:7: a byte that is NUL or not UTF-8" },
	{ "plus.json", ":1:9: this is no JSON value" },
	{ "quote-in-quotes.json", ":1:8: this is no JSON value" },
	{ "raw-newline.json", ":1:11: a control character in a string" },
	{ "scalar.yaml", ":1:1: keys and values are expected, not a text" },
	{ "second.json", ":1:13: there is more behind the value" },
	{ "short-unicode.json", ":1:9: the string does not end" },
	{ "single-quotes.json", ":1:2: a key in double quotes is missing" },
	{ "surrogate-half.json", ":1:10: half of a surrogate pair" },
	{ "surrogate-raw.json", ":1:10: a byte that is NUL or not UTF-8" },
	{ "surrogate-swapped.json", ":1:10: half of a surrogate pair" },
	{ "tab-indent.yaml", ": found character that cannot start any token" },
	{ "tag-binary.yaml", ":1:10: anchors and tags are refused" },
	{ "tag-local.yaml", ":1:7: anchors and tags are refused" },
	{ "tag-object.yaml", ":1:10: anchors and tags are refused" },
	{ "trailing-comma.json", ":1:13: a value is missing, or a ',' is too many" },
	{ "trailing.json", ":1:14: this is no JSON value" },
	{ "two-documents.yaml", ": a second document is refused" },
	{ "utf16.yaml", ":1:1: a byte that is NUL or not UTF-8" },
};

/* Parses and fills, as a caller does. */
static int load(const char *file, struct fault *f)
{
	static const struct fmt_field none[] = { { 0 } };
	static char bytes[64 * 1024];
	auto_doc struct fmt_doc *doc = NULL;
	char path[300];

	snprintf(path, sizeof path, HOSTILE "/%s", file);
	FILE *in = fopen(path, "rb");
	if (!in)
		fail_msg("%s is missing; run in tests/", path);
	size_t n = fread(bytes, 1, sizeof bytes, in);
	fclose(in);
	int r = fmt_parse(file, bytes, n, &doc, f);
	return r < 0 ? r : fmt_fill(doc, none, NULL, f);
}

static void hostile_files_are_refused_in_one_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
		struct fault f = { 0 };
		char want[300];
		snprintf(want, sizeof want, "%s%s", hostile[i].file,
			hostile[i].text[1] == ' ' ? "" : hostile[i].text);
		int r = load(hostile[i].file, &f);
		if (r != -FAULT_FORMAT || strncmp(f.text, want, strlen(want)) != 0 ||
			!strstr(f.text, hostile[i].text) || strchr(f.text, '\n'))
			fail_msg("%s: %d '%s'", hostile[i].file, r, f.text);
	}
}

static void every_hostile_file_is_in_the_table(void **state)
{
	DIR *d = opendir(HOSTILE);
	size_t n = 0;

	(void)state;
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		const char *end = strrchr(e->d_name, '.');
		n += end && (!strcmp(end, ".yaml") || !strcmp(end, ".json"));
	}
	closedir(d);
	assert_int_equal(n, sizeof hostile / sizeof *hostile);
}

static void too_long_and_too_many(void **state)
{
	auto_text struct text t = { 0 };
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	(void)state;
	text_put(&t, "a: ");
	while (t.n < LIMIT_SPEC_BYTES)
		text_put_char(&t, 'x');
	assert_int_equal(fmt_parse("f", t.data, t.n, &doc, &f), 0);
	doc = fmt_free(doc);
	text_put_char(&t, 'x');
	assert_int_equal(fmt_parse("f", t.data, t.n, &doc, &f), -FAULT_LIMIT);
	text_clear(&t);
	text_put(&t, "{\"a\":[0");
	for (int i = 0; i < 9997; i++)
		text_put(&t, ",0");
	text_put(&t, "]}");
	assert_int_equal(fmt_parse("f", t.data, t.n, &doc, &f), 0);
	doc = fmt_free(doc);
	t.n -= 2;
	text_put(&t, ",0]}");
	assert_int_equal(fmt_parse("f", t.data, t.n, &doc, &f), -FAULT_LIMIT);
	assert_null(doc);
}

/* Each prefix of a file is refused or read, and nothing is read behind its end. */
static void every_prefix_ends(void **state)
{
	static const char *const whole[] = {
		"{\"a\":[1,\"x\\u00e9\\ud83d\\ude00\",true,null,-1.5e+3],\"b\":{\"c\":{}}}",
		"a: [1, \"x\\u00e9\", ~]\nb:\n  - c: 'd'\n  - |\n   e\n  - >-\n   f\n",
	};

	(void)state;
	for (size_t w = 0; w < 2; w++)
		for (size_t n = 0; n <= strlen(whole[w]); n++) {
			char *part = malloc(n ? n : 1);
			struct fmt_doc *doc = NULL;
			struct fault f;
			memcpy(part, whole[w], n);
			int r = fmt_parse("f", part, n, &doc, &f);
			assert_true(!r == (doc != NULL));
			if (w == 0)
				assert_int_equal(!r, n == strlen(whole[w]));
			fmt_free(doc);
			free(part);
		}
}

/* --- what is read --------------------------------------------------------------------- */

static void yaml_and_json_give_the_same_tree(void **state)
{
	static const char *const texts[] = {
		"# c\nname: a b\nlist: [1, \"2\", true, ~]\nmap:\n  deep: {x: -0.5}\nno: no\nempty:\n",
		" \t\r\n{\"name\":\"a b\",\"list\":[1,\"2\",true,null],\"map\":{\"deep\":{\"x\":-0.5}},"
		"\"no\":\"no\",\"empty\":null}",
	};
	static const enum fmt_kind kinds[] = { FMT_NUMBER, FMT_STRING, FMT_BOOL, FMT_NULL };
	struct fault f;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_doc struct fmt_doc *doc = NULL;
		size_t k = 0;
		assert_int_equal(parse(texts[i], &doc, &f), 0);
		const struct fmt_value *root = fmt_root(doc);
		assert_int_equal(fmt_count(root), 5);
		assert_string_equal(fmt_string(fmt_get(root, "name"), ""), "a b");
		FMT_EACH(v, fmt_get(root, "list"))
			assert_int_equal(v->kind, kinds[k++]);
		assert_int_equal(k, 4);
		const struct fmt_value *deep = fmt_get(fmt_get(root, "map"), "deep");
		assert_string_equal(fmt_get(deep, "x")->text, "-0.5");
		assert_int_equal(fmt_get(root, "no")->kind, FMT_STRING);
		assert_int_equal(fmt_get(root, "empty")->kind, FMT_NULL);
	}
}

static void readers_take_what_is_not_there(void **state)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	(void)state;
	assert_int_equal(parse("{\"a\":1,\"s\":\"x\",\"f\":1.5,\"big\":99999999999999999999}", &doc, &f), 0);
	const struct fmt_value *root = fmt_root(doc);
	assert_null(fmt_get(NULL, "a"));
	assert_null(fmt_get(fmt_get(root, "a"), "a"));
	assert_null(fmt_string(NULL, NULL));
	assert_string_equal(fmt_string(fmt_get(root, "a"), "no"), "no");
	assert_int_equal(fmt_int(fmt_get(root, "a"), 7), 1);
	assert_int_equal(fmt_int(fmt_get(root, "s"), 7), 7);
	assert_int_equal(fmt_int(fmt_get(root, "f"), 7), 7);
	assert_int_equal(fmt_int(fmt_get(root, "big"), 7), 7);
	assert_true(fmt_bool(NULL, true));
	assert_int_equal(fmt_count(NULL), 0);
	FMT_EACH(v, NULL)
		fail_msg("%p", (const void *)v);
}

static void escapes_of_json(void **state)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;
	static const char json[] = "{\"s\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\""
				   ",\"z\":\"\\u0000x\"}";

	(void)state;
	assert_int_equal(fmt_parse_json("f", json, strlen(json), &doc, &f), 0);
	assert_string_equal(fmt_string(fmt_get(fmt_root(doc), "s"), ""),
		"\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	/* Our own files may hold a NUL; whoever asks for a string does not get half of one. */
	const struct fmt_value *z = fmt_get(fmt_root(doc), "z");
	assert_int_equal(z->n, 2);
	assert_memory_equal(z->text, "\0x", 3);
	assert_null(fmt_string(z, NULL));
}

/* Whoever reads one decides what fits. */
static void numbers_keep_their_text(void **state)
{
	static const char *const numbers[] = { "99999999999999999999", "-99999999999999999999",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e400" };
	static const char *const kept[] = { "1.50", "-0", "1E+2", "9223372036854775807",
		"-9223372036854775808" };
	char json[100];
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		auto_doc struct fmt_doc *doc = NULL;
		snprintf(json, sizeof json, "{\"n\":%s}", numbers[i]);
		assert_int_equal(parse(json, &doc, &f), 0);
		assert_string_equal(fmt_get(fmt_root(doc), "n")->text, numbers[i]);
		assert_int_equal(fmt_int(fmt_get(fmt_root(doc), "n"), 7), 7);
	}
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		auto_doc struct fmt_doc *doc = NULL;
		assert_int_equal(fmt_parse_json("f", kept[i], strlen(kept[i]), &doc, &f), 0);
		assert_int_equal(fmt_root(doc)->kind, FMT_NUMBER);
		assert_string_equal(fmt_root(doc)->text, kept[i]);
	}
}

static void what_stands_alone(void **state)
{
	static const struct {
		const char *in;
		enum fmt_kind kind;
		const char *text; /* of the value, or of the fault */
	} rows[] = {
		{ "12", FMT_NUMBER, "12" }, { " true\n", FMT_BOOL, "true" }, { "null", FMT_NULL, "null" },
		{ "\"a\"", FMT_STRING, "a" }, { "[]\n\n", FMT_LIST, NULL }, { "{ }", FMT_MAP, NULL },
		{ "", -1, "f:1:1: the text ends before the value does" },
		{ "1 2", -1, "f:1:3: there is more behind the value" },
		{ "[1]\n]", -1, "f:2:1: there is more behind the value" },
		{ "[1\n2]", -1, "f:2:1: ',' or ']' is missing" },
		{ "[1,]", -1, "f:1:4: a value is missing, or a ',' is too many" },
		{ "{\"a\":1,\"a\":1}", -1, "f:1:8: 'a' is here twice, first in line 1" },
	};
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_doc struct fmt_doc *doc = NULL;
		int r = fmt_parse_json("f", rows[i].in, strlen(rows[i].in), &doc, &f);
		assert_int_equal(r, rows[i].kind == (enum fmt_kind)-1 ? -FAULT_FORMAT : 0);
		if (r < 0)
			assert_string_equal(f.text, rows[i].text);
		else
			assert_int_equal(fmt_root(doc)->kind, rows[i].kind);
		if (!r && rows[i].text)
			assert_string_equal(fmt_root(doc)->text, rows[i].text);
	}
}

static void json_keeps_every_place(void **state)
{
	static const char json[] = "{ \"a\" : [1, {\"b\":\"x,]}\\\"\"},\n\t\"Ã©\"],\n \"c\":{},\"d\":\n  -1}";
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	(void)state;
	assert_int_equal(parse(json, &doc, &f), 0);
	const struct fmt_value *a = fmt_get(fmt_root(doc), "a"), *d = fmt_get(fmt_root(doc), "d");
	const struct fmt_value *b = fmt_get(a->first->next, "b"), *e = a->first->next->next;
	assert_true(a->key_line == 1 && a->key_column == 3 && a->line == 1 && a->column == 9);
	assert_true(b->key_line == 1 && b->key_column == 14 && b->line == 1 && b->column == 18);
	assert_string_equal(b->text, "x,]}\"");
	assert_true(e->line == 2 && e->column == 2);
	assert_true(d->key_line == 3 && d->key_column == 9 && d->line == 4 && d->column == 3);
}

static void a_long_line_is_read_in_linear_time(void **state)
{
	auto_text struct text t = { 0 };
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	(void)state;
	text_put(&t, "[\"\xc3\xa9\"");
	for (int i = 0; i < 500000; i++)
		text_put(&t, ",\"abcdefg\"");
	text_put(&t, ",x]");
	clock_t start = clock();
	assert_int_equal(fmt_parse_json("f", t.data, t.n, &doc, &f), -FAULT_FORMAT);
	assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
	assert_string_equal(f.text, "f:1:5000006: this is no JSON value");
}

static void a_byte_order_mark_is_skipped(void **state)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	(void)state;
	assert_int_equal(parse("\xef\xbb\xbf{\"a\":1}", &doc, &f), 0);
	assert_int_equal(fmt_int(fmt_get(fmt_root(doc), "a"), 0), 1);
}

/* --- tables --------------------------------------------------------------------------- */

struct job {
	char *text;
	char id[ID_TEXT];
	uint64_t n, bytes, ms, cpu;
	bool flag;
	int color;
	char **list, **env;
	struct {
		uint64_t x;
	} inner;
	const struct fmt_value *any;
};

static const char *const colors[] = { "red", "green", NULL };
#define AT(f) offsetof(struct job, f)
static const struct fmt_field inner[] = { { "x", FMT_TYPE_UINT, 0 }, { 0 } };
static const struct fmt_field fields[] = {
	{ "text", FMT_TYPE_TEXT, AT(text), .max = 8 },
	{ "id", FMT_TYPE_ID, AT(id) },
	{ "n", FMT_TYPE_UINT, AT(n), 1, 10 },
	{ "size", FMT_TYPE_SIZE, AT(bytes) },
	{ "time", FMT_TYPE_TIME, AT(ms) },
	{ "timeout", FMT_TYPE_TIME, AT(ms) },
	{ "cpu", FMT_TYPE_CPU, AT(cpu) },
	{ "flag", FMT_TYPE_BOOL, AT(flag) },
	{ "color", FMT_TYPE_ENUM, AT(color), .choices = colors },
	{ "list", FMT_TYPE_TEXTS, AT(list) },
	{ "env", FMT_TYPE_ENV, AT(env) },
	{ "inner", FMT_TYPE_TABLE, AT(inner), .fields = inner },
	{ "any", FMT_TYPE_ANY, AT(any) },
	{ 0 },
};

static void fills_every_kind(void **state)
{
	static const char *const texts[] = {
		"text: 2024\nid: a.b\nn: 10\nsize: 2Gi\ntime: 1.5\ncpu: 0.5\nflag: true\ncolor: green\n"
		"list: [a, 1]\nenv: {A: 1, B: ''}\ninner: {x: 3}\nany: [1]\n",
		"{\"text\":\"2024\",\"id\":\"a.b\",\"n\":10,\"size\":\"2Gi\",\"time\":\"1500ms\",\"cpu\":0.5,"
		"\"flag\":true,\"color\":\"green\",\"list\":[\"a\",\"1\"],\"env\":[\"A=1\",\"B=\"],"
		"\"inner\":{\"x\":3},\"any\":[1]}",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_doc struct fmt_doc *doc = NULL;
		struct job j = { .color = -1 };
		struct fault f;
		assert_int_equal(parse(texts[i], &doc, &f), 0);
		if (fmt_fill(doc, fields, &j, &f) < 0)
			fail_msg("%s", f.text);
		assert_string_equal(j.text, "2024");
		assert_string_equal(j.id, "a.b");
		assert_int_equal(j.n, 10);
		assert_true(j.bytes == 2 * GIB && j.ms == 1500 && j.cpu == 500 && j.flag);
		assert_int_equal(j.color, 1);
		assert_string_equal(j.list[0], "a");
		assert_string_equal(j.list[1], "1");
		assert_null(j.list[2]);
		assert_string_equal(j.env[0], "A=1");
		assert_string_equal(j.env[1], "B=");
		assert_int_equal(j.inner.x, 3);
		assert_int_equal(fmt_count(j.any), 1);
		fmt_drop(fields, &j);
		assert_null(j.text);
	}
}

static void missing_and_null_leave_the_field(void **state)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct job j = { .n = 77, .color = -1 };
	struct fault f;

	(void)state;
	assert_int_equal(parse("n: ~\ncolor:\n", &doc, &f), 0);
	assert_int_equal(fmt_fill(doc, fields, &j, &f), 0);
	assert_int_equal(j.n, 77);
	assert_int_equal(j.color, -1);
}

static void wrong_values_are_named_with_their_place(void **state)
{
	static const struct {
		const char *in, *text;
	} rows[] = {
		{ "a: 1\n", "f:1:1: 'a' is no key here" },
		{ "n: 1\ncolour: red\n", "f:2:1: 'colour' is no key here; did you mean 'color'?" },
		{ "inner: {y: 1}\n", "f:1:9: 'y' is no key here" },
		{ "\"a\\n\\e[31m\": 1\n", "f:1:1: 'a??[31m' is no key here" },
		{ "n: 11\n", "f:1:4: n: '11' is out of range; from 1 to 10 is possible" },
		{ "n: [1]\n", "f:1:4: 'n' must be a number, not a list" },
		{ "n: true\n", "f:1:4: 'n' must be a number, not true or false" },
		{ "size: 2Gx\n", "f:1:7: size: '2Gx' is not a size; write it as 512Mi or 2G" },
		{ "{\"n\":99999999999999999999}",
			"f:1:6: n: '99999999999999999999' is out of range; from 1 to 10 is possible" },
		{ "{\"size\":18446744073709551616}", "f:1:9: size: '18446744073709551616' is out of range; "
			"from 0 B to 8388608 TiB is possible" },
		{ "{\"n\":1,\n\"colour\":\"red\"}", "f:2:1: 'colour' is no key here; did you mean 'color'?" },
		{ "flag: yes\n", "f:1:7: 'flag' must be true or false, not a text" },
		{ "color: gren\n", "f:1:8: color: 'gren' is not possible; did you mean 'green'?" },
		{ "id: A\n", "f:1:5: id: 'A' is no name; [a-z0-9][a-z0-9_.-]{0,63} is" },
		{ "text: 123456789\n", "f:1:7: text: longer than 8 bytes" },
		{ "{\"text\":5}", "f:1:9: 'text' must be a text, not a number" },
		{ "list: a\n", "f:1:7: 'list' must be a list, not a text" },
		{ "list: [[a]]\n", "f:1:8: 'the item' must be a text, not a list" },
		{ "env: [A]\n", "f:1:7: 'A' is no NAME=VALUE" },
		{ "env: {'A=B': c}\n", "f:1:7: 'A=B' is no NAME" },
		{ "env: {A: [b]}\n", "f:1:10: 'A' must be a text, not a list" },
		{ "inner: 5\n", "f:1:8: 'inner' must be a map, not a number" },
		{ "time: 1\ntimeout: 2\n", "f:2:1: 'time' and 'timeout' say the same; give one" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_doc struct fmt_doc *doc = NULL;
		struct job j = { 0 };
		struct fault f = { 0 };
		assert_int_equal(parse(rows[i].in, &doc, &f), 0);
		assert_int_equal(fmt_fill(doc, fields, &j, &f), -FAULT_FORMAT);
		assert_string_equal(f.text, rows[i].text);
		fmt_drop(fields, &j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_files_are_refused_in_one_line),
		cmocka_unit_test(every_hostile_file_is_in_the_table),
		cmocka_unit_test(too_long_and_too_many),
		cmocka_unit_test(every_prefix_ends),
		cmocka_unit_test(yaml_and_json_give_the_same_tree),
		cmocka_unit_test(readers_take_what_is_not_there),
		cmocka_unit_test(escapes_of_json),
		cmocka_unit_test(numbers_keep_their_text),
		cmocka_unit_test(what_stands_alone),
		cmocka_unit_test(json_keeps_every_place),
		cmocka_unit_test(a_long_line_is_read_in_linear_time),
		cmocka_unit_test(a_byte_order_mark_is_skipped),
		cmocka_unit_test(fills_every_kind),
		cmocka_unit_test(missing_and_null_leave_the_field),
		cmocka_unit_test(wrong_values_are_named_with_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
