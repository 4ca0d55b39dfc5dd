/*
 * What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput, which hands an
 * input to one parser and checks what must hold of whatever comes back. With -Dfuzz=true it is
 * linked with libFuzzer; else with replay.c, which gives it the inputs of its corpus,
 * tests/data/fuzz/TARGET.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* What must hold, for any input. */
#define fuzz_check(e) ((e) ? (void)0 : fuzz_fail(#e, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *what, const char *file, int line);

/* A failure that is as it should be: the kind that was returned, one printable line. */
void fuzz_check_fault(int r, const struct fault *f);

/* What is left of an input. Where it is used up, zeros come. */
struct fuzz_rest {
	const uint8_t *p;
	size_t n; /* [bytes] */
};

uint8_t fuzz_take_u8(struct fuzz_rest *z);
uint64_t fuzz_take_u64(struct fuzz_rest *z);

/* A length of 16 bits, and so many bytes, or what is left. */
struct fuzz_rest fuzz_take_part(struct fuzz_rest *z);

/* A copy as a string of its own, up to the first NUL; the caller frees it. */
char *fuzz_string(const uint8_t *p, size_t n);

/* A directory for the target, made with the first call and gone at exit. */
int fuzz_dir(void);

/* A file in that directory, or one without a name, with this content, to be read from its begin. */
void fuzz_write_file(int dir, const char *name, const void *p, size_t n);
int fuzz_open(const void *p, size_t n);

/* This is what the other one is. */
void fuzz_check_same(const struct text *a, const struct text *b);
