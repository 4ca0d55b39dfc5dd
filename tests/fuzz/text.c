/* Bytes of a program on their way to a terminal, to JSON and into a failure. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "fmt/fmt.h"
#include "fuzz.h"

static void check_visible(const uint8_t *p, size_t n)
{
	auto_text struct text t = { 0 };

	utf8_put_visible(&t, p, n);
	fuzz_check(utf8_is_valid(t.data, t.n));
	for (size_t i = 0; i < t.n; i++)
		fuzz_check((unsigned char)t.data[i] >= 0x20 && t.data[i] != 0x7f);
}

/* A text may be cut anywhere: the parts that are left are whole. */
static void check_cut(const uint8_t *p, size_t n, size_t at)
{
	size_t tail = utf8_cut_tail(p, at), head = utf8_cut_head(p + at, n - at);

	fuzz_check(tail <= 3 && tail <= at && head <= 3 && head <= n - at);
	if (utf8_is_valid(p, n))
		fuzz_check(utf8_is_valid(p, at - tail) && utf8_is_valid(p + at + head, n - at - head));
}

static void check_json(const uint8_t *p, size_t n)
{
	auto_text struct text t = { 0 };
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	json_open(&t, '{');
	json_put_name(&t, "a", p, n);
	json_close(&t, '}');
	fuzz_check(fmt_parse_json("f", t.data, t.n, &doc, &f) == 0);
	const struct fmt_value *v = fmt_get(fmt_root(doc), "a");
	fuzz_check(v && v->kind == FMT_STRING);
	bool is_valid = utf8_is_valid(p, n);
	if (is_valid)
		fuzz_check(v->n == n && !memcmp(v->text, p, n));
	fuzz_check(is_valid == !fmt_get(fmt_root(doc), "a_base64"));
}

static void check_fault(const uint8_t *p, size_t n)
{
	struct fault f = { .kind = FAULT_SYSTEM };

	memcpy(f.text, p, n < sizeof f.text ? n : sizeof f.text);
	fuzz_check(fault_import(&f) == -(int)FAULT_SYSTEM);
	fault_wrap(&f, "%.*s", (int)(n < 1000 ? n : 1000), (const char *)p);
	fuzz_check(strlen(f.text) < sizeof f.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	check_visible(p, n);
	check_cut(p, n, n / 2);
	if (n)
		check_cut(p + 1, n - 1, p[0] < n - 1 ? p[0] : n - 1);
	check_json(p, n);
	check_fault(p, n);
	return 0;
}
