#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

static void *kept(void *p)
{
	if (!p) {
		fputs(SBX_PROGRAM ": out of memory\n", stderr);
		abort();
	}
	return p;
}

void *mem_zeroed(size_t n, size_t size)
{
	return kept(calloc(n ? n : 1, size));
}

void *mem_resized(void *p, size_t n, size_t size)
{
	return kept(reallocarray(p, n ? n : 1, size));
}

char *mem_string(const char *s)
{
	return s ? kept(strdup(s)) : NULL;
}

void mem_free_strings(char **list)
{
	for (char **s = list; s && *s; s++)
		free(*s);
	free(list);
}

char *mem_bytes(const void *p, size_t n)
{
	char *copy = mem_zeroed(n + 1, 1);

	if (n)
		memcpy(copy, p, n);
	return copy;
}

char *mem_format(const char *format, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, format);
	int n = vasprintf(&s, format, ap);
	va_end(ap);
	return kept(n < 0 ? NULL : s);
}

/* Of glibc alone; its numbers. Source: mallopt(3). */
extern int mallopt(int parameter, int value) __attribute__((weak));

void mem_keep(void)
{
	enum { TRIM_THRESHOLD = -1, TOP_PAD = -2 };

	if (!mallopt)
		return;
	mallopt(TRIM_THRESHOLD, 4 << 20);
	mallopt(TOP_PAD, 512 << 10);
}

void mem_drop(const void *p, size_t n)
{
	uintptr_t page = (uintptr_t)getpagesize(), end = ((uintptr_t)p + n) & ~(page - 1);
	uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1);

	if (from < end)
		madvise((void *)from, end - from, MADV_DONTNEED);
}
