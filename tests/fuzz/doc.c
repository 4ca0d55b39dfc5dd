/* YAML and JSON, before anybody looks at what is in them. */
#include <string.h>

#include "base/json.h"
#include "fmt/fmt.h"
#include "fuzz.h"

enum { DEPTH = 33, VALUES = 10000 };

static size_t check_value(const struct fmt_value *v, bool strict, unsigned depth)
{
	size_t n = 1;

	fuzz_check(depth <= DEPTH && v->line && v->column);
	if (v->kind != FMT_LIST && v->kind != FMT_MAP) {
		fuzz_check(!v->first && !v->text[v->n]);
		fuzz_check(!strict || strlen(v->text) == v->n);
	}
	for (const struct fmt_value *item = v->first; item; item = item->next) {
		fuzz_check(!item->key == (v->kind == FMT_LIST));
		if (item->key)
			fuzz_check(fmt_get(v, item->key) == item);
		n += check_value(item, strict, depth + 1);
	}
	return n;
}

static void put_value(struct text *t, const struct fmt_value *v)
{
	if (v->kind == FMT_STRING) {
		json_bytes(t, v->text, v->n);
		return;
	}
	if (v->kind != FMT_LIST && v->kind != FMT_MAP) {
		json_raw(t, v->text, v->n);
		return;
	}
	json_open(t, v->kind == FMT_MAP ? '{' : '[');
	for (const struct fmt_value *item = v->first; item; item = item->next) {
		if (item->key)
			json_key(t, item->key);
		put_value(t, item);
	}
	json_close(t, v->kind == FMT_MAP ? '}' : ']');
}

/* What this program reads it writes, and reads the same again. */
static bool check_json(const uint8_t *p, size_t n, struct text *ret)
{
	auto_text struct text once = { 0 }, twice = { 0 };
	auto_doc struct fmt_doc *doc = NULL, *again = NULL;
	struct fault f;
	int r = fmt_parse_json("f", p, n, &doc, &f);

	if (r < 0) {
		fuzz_check_fault(r, &f);
		return false;
	}
	check_value(fmt_root(doc), false, 1);
	put_value(&once, fmt_root(doc));
	fuzz_check(fmt_parse_json("f", once.data, once.n, &again, &f) == 0);
	put_value(&twice, fmt_root(again));
	fuzz_check_same(&once, &twice);
	text_put_bytes(ret, once.data, once.n);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	auto_text struct text own = { 0 }, outside = { 0 };
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;
	int r = fmt_parse("f", p, n, &doc, &f);
	bool is_json = check_json(p, n, &own);

	if (r < 0)
		fuzz_check_fault(r, &f);
	else
		fuzz_check(check_value(fmt_root(doc), true, 1) <= VALUES);
	/* json-c and the reader of our own agree on what a document says. */
	if (r == 0 && fmt_is_json(p, n)) {
		fuzz_check(is_json);
		put_value(&outside, fmt_root(doc));
		fuzz_check_same(&own, &outside);
	}
	return 0;
}
