#include <string.h>

#include "base/sha256.h"

/* From so many blocks in one piece on it pays to ask the CPU. */
enum { LONG_BLOCKS = 32 };

/* Source: FIPS 180-4, 4.2.2. */
const uint32_t sha256_constants[SHA256_BLOCK] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static uint32_t word_at(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Source: FIPS 180-4, 6.2.2. w holds the last 16 words of the schedule; a to h move through v
 * backwards, one place a round. */
static void add_block(uint32_t state[8], const unsigned char *p)
{
	uint32_t w[16] = { 0 }, v[8];

	memcpy(v, state, sizeof v);
#pragma GCC unroll 16
	for (size_t t = 0; t < SHA256_BLOCK; t++) {
		uint32_t *now = &w[t % 16], w2 = w[(t + 14) % 16], w15 = w[(t + 1) % 16];
		if (t < 16)
			*now = word_at(p + 4 * t);
		else
			*now += (turn(w2, 17) ^ turn(w2, 19) ^ w2 >> 10) + w[(t + 9) % 16] +
				(turn(w15, 7) ^ turn(w15, 18) ^ w15 >> 3);
		uint32_t a = v[(0 - t) % 8], b = v[(1 - t) % 8], c = v[(2 - t) % 8];
		uint32_t e = v[(4 - t) % 8], f = v[(5 - t) % 8], g = v[(6 - t) % 8], *h = &v[(7 - t) % 8];
		*h += (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) +
			sha256_constants[t] + *now;
		v[(3 - t) % 8] += *h;
		*h += (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += v[i];
}

static void add_blocks(uint32_t state[8], const unsigned char *p, size_t n_blocks)
{
	static int cpu_has = -1;

	if (cpu_has < 0 && n_blocks >= LONG_BLOCKS)
		cpu_has = sha256_cpu_has();
	if (cpu_has > 0) {
		sha256_cpu_blocks(state, p, n_blocks);
		return;
	}
	for (; n_blocks; n_blocks--, p += SHA256_BLOCK)
		add_block(state, p);
}

void sha256_init(struct sha256 *s)
{
	/* Source: FIPS 180-4, 5.3.3. */
	*s = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				      0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *s, const void *p, size_t n)
{
	const unsigned char *at = p;
	size_t held = s->n_bytes % SHA256_BLOCK, room = SHA256_BLOCK - held;

	s->n_bytes += n;
	if (held) {
		size_t take = n < room ? n : room;
		memcpy(s->part + held, at, take);
		if (take < room)
			return;
		add_blocks(s->state, s->part, 1);
		at += take;
		n -= take;
	}
	add_blocks(s->state, at, n / SHA256_BLOCK);
	if (n % SHA256_BLOCK)
		memcpy(s->part, at + n - n % SHA256_BLOCK, n % SHA256_BLOCK);
}

void sha256_end(struct sha256 *s, unsigned char ret_sum[SHA256_BYTES])
{
	static const unsigned char one_bit = 0x80;
	uint64_t n_bits = s->n_bytes * 8;
	unsigned char length[8];

	sha256_add(s, &one_bit, 1);
	while (s->n_bytes % SHA256_BLOCK != SHA256_BLOCK - sizeof length)
		sha256_add(s, "", 1);
	for (unsigned i = 0; i < sizeof length; i++)
		length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
	sha256_add(s, length, sizeof length);
	for (unsigned i = 0; i < SHA256_BYTES; i++)
		ret_sum[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
