#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

char *text_reserve(struct text *t, size_t n)
{
	size_t need = t->n + n + 1;

	if (need > t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		t->room = room > need ? room : need;
		t->data = mem_resized(t->data, t->room, 1);
		t->data[t->n] = 0;
	}
	return t->data + t->n;
}

void text_grew(struct text *t, size_t n)
{
	t->n += n;
	t->data[t->n] = 0;
}

void text_put_bytes(struct text *t, const void *p, size_t n)
{
	char *to = text_reserve(t, n);

	if (n)
		memcpy(to, p, n);
	text_grew(t, n);
}

void text_put(struct text *t, const char *s)
{
	text_put_bytes(t, s, strlen(s));
}

void text_put_char(struct text *t, char c)
{
	text_put_bytes(t, &c, 1);
}

void text_format(struct text *t, const char *format, ...)
{
	va_list ap;
	char *to = text_reserve(t, 128);

	va_start(ap, format);
	int n = vsnprintf(to, 129, format, ap);
	va_end(ap);
	if (n > 128) {
		to = text_reserve(t, (size_t)n);
		va_start(ap, format);
		vsnprintf(to, (size_t)n + 1, format, ap);
		va_end(ap);
	}
	text_grew(t, n > 0 ? (size_t)n : 0);
}

void text_clear(struct text *t)
{
	t->n = 0;
	if (t->data)
		t->data[0] = 0;
}

void text_done(struct text *t)
{
	free(t->data);
	*t = (struct text){ 0 };
}

const char *text_string(const struct text *t)
{
	return t->data ? t->data : "";
}
