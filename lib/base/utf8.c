#include <stdint.h>

#include "base/utf8.h"

size_t utf8_sequence(const unsigned char *p, size_t n)
{
	/* The second byte's range depends on the first. Source: RFC 3629 section 4. */
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (!n)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		len = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return len;
}

size_t utf8_write(uint32_t code, char *to)
{
	static const unsigned char marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i; i--, code >>= 6)
		to[i] = (char)(0x80 | (code & 0x3f));
	to[0] = (char)(marks[n] | code);
	return n;
}

bool utf8_is_valid(const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_sequence(b + i, n - i);
		if (!len)
			return false;
		i += len;
	}
	return true;
}

size_t utf8_cut_tail(const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = b[n - back];
		if (c < 0x80)
			return 0;
		if (c < 0xc0)
			continue;
		size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
		return len > back ? back : 0;
	}
	return 0;
}

size_t utf8_cut_head(const void *p, size_t n)
{
	const unsigned char *b = p;
	size_t i = 0;

	while (i < 3 && i < n && (b[i] & 0xc0) == 0x80)
		i++;
	return i;
}

static bool is_control(uint32_t c)
{
	/* C0, DEL, C1; and what turns the direction of writing, by which a line can be made to
	 * read as another one. */
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
		(c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029;
}

static uint32_t decode(const unsigned char *p, size_t n)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = p[0] & mask[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

void utf8_put_visible(struct text *t, const void *s, size_t n)
{
	const unsigned char *p = s;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_sequence(p + i, n - i);
		if (len && !is_control(decode(p + i, len))) {
			text_put_bytes(t, p + i, len);
			i += len;
			continue;
		}
		for (size_t end = i + (len ? len : 1); i < end; i++)
			text_format(t, "\\x%02x", p[i]);
	}
}
