/*
 * SHA-256, as FIPS 180-4 has it. Source of the tests: sha256sum(1), and its appendix.
 *
 *	struct sha256 s;
 *	sha256_init(&s);
 *	sha256_add(&s, p, n);
 *	sha256_end(&s, sum);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 /* [bytes] */ };

struct sha256 {
	uint32_t state[8];
	uint64_t n_bytes; /* so far */
	unsigned char part[SHA256_BLOCK];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_end(struct sha256 *s, unsigned char ret_sum[SHA256_BYTES]);

/* The instructions for it, where this kind of machine may have them. Asking the CPU costs 6 us
 * each time in a virtual machine, so it is asked once, and only for a long input. */
bool sha256_cpu_has(void);
void sha256_cpu_blocks(uint32_t state[8], const unsigned char *p, size_t n_blocks);
extern const uint32_t sha256_constants[SHA256_BLOCK];
