#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "keys.h"

static struct keys parsed(const char *s)
{
	struct keys k;
	struct fault f;

	if (keys_parse(s, &k, &f) < 0)
		fail_msg("%s: %s", s, f.text);
	return k;
}

static void lists_of_keys(void **state)
{
	static const char *const wrong[] = { "", ",", "a,", ",a", "ab", "ctrl-", "ctrl-1", "ctrl-ab", "Ctrl-a",
		" ", "\x7f", "\xc3\xa4", "a,,b", "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a" };
	struct fault f;

	(void)state;
	struct keys k = parsed("ctrl-p,ctrl-q");
	assert_int_equal(k.n, 2);
	assert_memory_equal(k.sequence, "\x10\x11", 2);
	k = parsed("a,ctrl-@,ctrl-_,ctrl-[,~,ctrl-Z");
	assert_int_equal(k.n, 6);
	assert_memory_equal(k.sequence, "a\0\x1f\x1b~\x1a", 6);
	assert_int_equal(parsed("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a").n, KEYS_MAX);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (keys_parse(wrong[i], &k, &f) != -FAULT_USAGE)
			fail_msg("'%s' was taken", wrong[i]);
}

/* What goes on of what is typed, in pieces of n bytes; *ret_n its length. True: it was found. */
static bool typed(const char *keys, const char *in, size_t n, char *out, size_t *ret_n)
{
	struct keys k = keys ? parsed(keys) : (struct keys){ .n = 0 };
	size_t left = strlen(in), n_out;
	bool found = false;

	*ret_n = 0;
	for (; left && !found; in += n, left -= n) {
		n = n < left ? n : left;
		found = keys_filter(&k, in, n, out + *ret_n, &n_out);
		*ret_n += n_out;
	}
	return found;
}

static void keys_are_found_in_what_is_typed(void **state)
{
	static const struct {
		const char *keys, *in, *out;
		bool found;
	} cases[] = {
		{ NULL, "anything\x10\x11", "anything\x10\x11", false },
		{ "ctrl-p,ctrl-q", "ls\r\x10\x11more", "ls\r", true },
		{ "ctrl-p,ctrl-q", "\x10\x10\x11", "\x10", true },
		{ "ctrl-p,ctrl-q", "a\x10z\x11", "a\x10z\x11", false },
		{ "ctrl-p,ctrl-q", "a\x10", "a", false },
		{ "x", "abxc", "ab", true },
		{ "a,a,b", "aaaab", "aa", true },
		{ "a,b,a,c", "ababac", "ab", true },
		{ "a,b,a,b,c", "abababc", "ab", true },
		{ "a,b,a,c", "abad", "abad", false },
		{ "a,a,a", "aabaa", "aab", false },
	};
	char out[64];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t piece = 1; piece < 8; piece++) {
			bool found = typed(cases[i].keys, cases[i].in, piece, out, &n);
			if (found != cases[i].found || n != strlen(cases[i].out) || memcmp(out, cases[i].out, n) != 0)
				fail_msg("case %zu in pieces of %zu: '%.*s'", i, piece, (int)n, out);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_keys),
		cmocka_unit_test(keys_are_found_in_what_is_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
