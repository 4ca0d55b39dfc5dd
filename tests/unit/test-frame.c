#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/auto.h"
#include "base/frame.h"

static void put_all(struct text *t)
{
	char *list[] = { (char *)"x", (char *)"", (char *)"yz", NULL };

	frame_put_u32(t, 0xdeadbeef);
	frame_put_u64(t, 0x0123456789abcdefull);
	frame_put_string(t, "abc");
	frame_put_string(t, NULL);
	frame_put_bytes(t, "a\0b", 3);
	frame_put_strings(t, list);
	frame_put_strings(t, NULL);
}

/* True when all came as put_all wrote it. */
static bool get_all(struct frame *r)
{
	size_t n;
	bool same = frame_get_u32(r) == 0xdeadbeef;

	same &= frame_get_u64(r) == 0x0123456789abcdefull;
	same &= !strcmp(frame_get_string(r), "abc");
	same &= !strcmp(frame_get_string(r), "");
	const void *p = frame_get_bytes(r, &n);
	same &= n == 3 && !memcmp(p, "a\0b", 3);
	auto_free char **list = frame_get_strings(r, 10);
	auto_free char **none = frame_get_strings(r, 10);
	same &= list[0] && !strcmp(list[0], "x") && !list[1][0] && !strcmp(list[2], "yz") && !list[3];
	return same && !none[0];
}

static void comes_back_as_it_was_put(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	put_all(&t);
	struct frame r = { (unsigned char *)t.data, t.n, false };
	assert_true(get_all(&r));
	assert_true(frame_is_done(&r));
}

static void every_cut_is_noticed(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	put_all(&t);
	for (size_t n = 0; n < t.n; n++) {
		/* A copy of the exact size: the sanitizer sees a read past its end. */
		unsigned char *part = malloc(n ? n : 1);
		memcpy(part, t.data, n);
		struct frame r = { part, n, false };
		frame_get_u32(&r);
		frame_get_u64(&r);
		frame_get_string(&r);
		frame_get_string(&r);
		size_t got;
		frame_get_bytes(&r, &got);
		free(frame_get_strings(&r, 10));
		free(frame_get_strings(&r, 10));
		assert_false(frame_is_done(&r));
		free(part);
	}
}

static void what_is_left_is_noticed(void **state)
{
	struct frame r = { (const unsigned char *)"\1\0\0\0x", 5, false };

	(void)state;
	assert_int_equal(frame_get_u32(&r), 1);
	assert_false(frame_is_done(&r));
}

static void hostile_lengths(void **state)
{
	static const unsigned char huge[] = { 0xff, 0xff, 0xff, 0xff, 'a', 0 };
	static const unsigned char open[] = { 2, 0, 0, 0, 'a', 'b' };
	static const unsigned char inner[] = { 3, 0, 0, 0, 'a', 0, 0 };
	static const unsigned char empty[] = { 0, 0, 0, 0 };
	struct frame r = { huge, sizeof huge, false };

	(void)state;
	assert_string_equal(frame_get_string(&r), "");
	assert_true(r.bad);
	r = (struct frame){ huge, sizeof huge, false };
	auto_free char **list = frame_get_strings(&r, SIZE_MAX);
	assert_null(list[0]);
	assert_true(r.bad);
	r = (struct frame){ open, sizeof open, false };
	assert_string_equal(frame_get_string(&r), "");
	assert_true(r.bad);
	r = (struct frame){ inner, sizeof inner, false };
	assert_string_equal(frame_get_string(&r), "");
	assert_true(r.bad);
	r = (struct frame){ empty, sizeof empty, false };
	assert_string_equal(frame_get_string(&r), "");
	assert_true(r.bad);
}

static void too_many_strings(void **state)
{
	auto_text struct text t = { 0 };
	char *list[] = { (char *)"a", (char *)"b", (char *)"c", NULL };

	(void)state;
	frame_put_strings(&t, list);
	struct frame r = { (unsigned char *)t.data, t.n, false };
	auto_free char **got = frame_get_strings(&r, 2);
	assert_null(got[0]);
	assert_false(frame_is_done(&r));
}

static void a_fault_comes_back_checked(void **state)
{
	auto_text struct text t = { 0 };
	struct fault put;

	(void)state;
	fault_set(&put, FAULT_LIMIT, 28, "no\troom");
	frame_put_fault(&t, &put);
	frame_put_u32(&t, FAULT_MAX);
	frame_put_u32(&t, 70000);
	frame_put_string(&t, "x");
	struct frame r = { (unsigned char *)t.data, t.n, false };
	struct fault got = frame_get_fault(&r);
	assert_int_equal(got.kind, FAULT_LIMIT);
	assert_int_equal(got.sysno, 28);
	assert_int_equal(strncmp(got.text, "no?room: ", 9), 0);
	got = frame_get_fault(&r);
	assert_int_equal(got.kind, FAULT_BUG);
	assert_int_equal(got.sysno, 0);
	assert_true(frame_is_done(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was_put),
		cmocka_unit_test(every_cut_is_noticed),
		cmocka_unit_test(what_is_left_is_noticed),
		cmocka_unit_test(hostile_lengths),
		cmocka_unit_test(too_many_strings),
		cmocka_unit_test(a_fault_comes_back_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
