#include <string.h>

#include "base/near.h"

enum { WORD_MAX = 40 };

/* Levenshtein distance, with a swap of neighbours counted as one. */
static size_t distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	if (na > WORD_MAX || nb > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	memcpy(before, last, sizeof rows[0]);
	for (size_t i = 1; i <= na; i++) {
		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		size_t *spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

const char *near_find(const char *word, const char *const *candidates, size_t n)
{
	const char *best = NULL;
	/* One slip in a short word, two from five letters on: else everything is near. */
	size_t least = (strlen(word) + 1) / 3;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(word, candidates[i]);
		if (d <= least && (!best || d < least)) {
			best = candidates[i];
			least = d;
		}
	}
	return best;
}
