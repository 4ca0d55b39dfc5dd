#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "fuzz.h"
#include "temp-dir.h"

void fuzz_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

void fuzz_check_fault(int r, const struct fault *f)
{
	fuzz_check(r == -(int)f->kind);
	fuzz_check(f->kind > FAULT_NONE && f->kind < FAULT_MAX && f->kind != FAULT_BUG);
	fuzz_check(f->text[0] && memchr(f->text, 0, sizeof f->text));
	fuzz_check(!strchr(f->text, '\n'));
}

uint8_t fuzz_take_u8(struct fuzz_rest *z)
{
	if (!z->n)
		return 0;
	z->n--;
	return *z->p++;
}

uint64_t fuzz_take_u64(struct fuzz_rest *z)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t)fuzz_take_u8(z) << 8 * i;
	return v;
}

struct fuzz_rest fuzz_take_part(struct fuzz_rest *z)
{
	size_t n = fuzz_take_u8(z);

	n |= (size_t)fuzz_take_u8(z) << 8;
	if (n > z->n)
		n = z->n;
	struct fuzz_rest part = { z->p, n };
	z->p += n;
	z->n -= n;
	return part;
}

char *fuzz_string(const uint8_t *p, size_t n)
{
	return mem_bytes(p, strnlen((const char *)p, n));
}

static void *dir_state;

static void drop_dir(void)
{
	temp_dir_teardown(&dir_state);
}

int fuzz_dir(void)
{
	if (!dir_state) {
		fuzz_check(temp_dir_setup(&dir_state) == 0);
		atexit(drop_dir);
	}
	return ((struct temp_dir *)dir_state)->fd;
}

void fuzz_write_file(int dir, const char *name, const void *p, size_t n)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_check(fd >= 0 && fd_write_all(fd, p, n) == 0);
	close(fd);
}

int fuzz_open(const void *p, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	fuzz_check(fd >= 0 && fd_write_all(fd, p, n) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

void fuzz_check_same(const struct text *a, const struct text *b)
{
	fuzz_check(a->n == b->n && (!a->n || !memcmp(a->data, b->data, a->n)));
}
