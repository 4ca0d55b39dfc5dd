#include <string.h>

#include "keys.h"

/* One key of n characters as the byte that a terminal sends; -1: it is none. */
static int parse_key(const char *s, size_t n)
{
	if (n == 1 && *s > ' ' && *s <= '~')
		return *s;
	if (n != 6 || strncmp(s, "ctrl-", 5) != 0)
		return -1;
	/* The codes of control characters are those of @ to _ less 64. Source: ascii(7). */
	char c = s[5] >= 'a' && s[5] <= 'z' ? (char)(s[5] - 'a' + 'A') : s[5];
	return c >= '@' && c <= '_' ? c - '@' : -1;
}

int keys_parse(const char *s, struct keys *ret, struct fault *f)
{
	struct keys k = { .n = 0 };

	for (const char *at = s;; at++) {
		size_t n = strcspn(at, ",");
		int key = parse_key(at, n);
		if (key < 0)
			return fault_set(f, FAULT_USAGE, 0, "'%.40s' is no list of keys such as ctrl-p,ctrl-q", s);
		if (k.n == KEYS_MAX)
			return fault_set(f, FAULT_USAGE, 0, "'%.40s' has more than %d keys", s, KEYS_MAX);
		k.sequence[k.n++] = (char)key;
		at += n;
		if (!*at)
			break;
	}
	*ret = k;
	return 0;
}

/* How much of the sequence ends what was matched so far and c: as in Knuth, Morris and Pratt, but
 * found by trying, for it is short. */
static size_t longest_border(const struct keys *k, char c)
{
	for (size_t n = k->matched; n; n--)
		if (k->sequence[n - 1] == c && !memcmp(k->sequence, k->sequence + k->matched - (n - 1), n - 1))
			return n;
	return 0;
}

bool keys_filter(struct keys *k, const char *in, size_t n, char *out, size_t *ret_n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		if (k->n && in[i] == k->sequence[k->matched]) {
			if (++k->matched < k->n)
				continue;
			*ret_n = to;
			return true;
		}
		size_t keep = longest_border(k, in[i]), held = k->matched + 1;
		/* What is held is the sequence's own beginning, and this character. */
		memcpy(out + to, k->sequence, k->matched);
		out[to + k->matched] = in[i];
		to += held - keep;
		k->matched = keep;
	}
	*ret_n = to;
	return false;
}
