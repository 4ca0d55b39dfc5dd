#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/id.h"

bool id_is_valid(const char *s)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t n = strlen(s);

	return n && n <= ID_MAX && strchr(first, s[0]) && strspn(s, rest) == n;
}

void id_make(const char *prefix, char ret[ID_TEXT])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char bits[26];

	/* Up to 256 bytes come whole and without a signal between. Source: getrandom(2). */
	if (getrandom(bits, sizeof bits, 0) != sizeof bits)
		abort();
	int n = snprintf(ret, ID_TEXT, "%.16s", prefix);
	for (size_t i = 0; i < sizeof bits; i++)
		ret[n++] = digits[bits[i] & 31];
	ret[n] = 0;
}
