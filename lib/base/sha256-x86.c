/* With the SHA extensions of x86: four rounds at a time. Source: Intel, "SHA Extensions", 2013. */
#include <cpuid.h>
#include <immintrin.h>

#include "base/sha256.h"

bool sha256_cpu_has(void)
{
	unsigned a, b, c, d;
	bool has_sse41 = __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSSE3 && c & bit_SSE4_1;

	return has_sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}

/* The four words that follow: w holds the 16 before, the oldest four in w[at]. */
__attribute__((target("sha,ssse3,sse4.1"), always_inline)) static inline __m128i schedule(
	const __m128i w[4], unsigned at)
{
	__m128i last = w[(at + 3) % 4], x = _mm_sha256msg1_epu32(w[at % 4], w[(at + 1) % 4]);

	x = _mm_add_epi32(x, _mm_alignr_epi8(last, w[(at + 2) % 4], 4));
	return _mm_sha256msg2_epu32(x, last);
}

__attribute__((target("sha,ssse3,sse4.1"))) void sha256_cpu_blocks(uint32_t state[8],
	const unsigned char *p, size_t n_blocks)
{
	const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
	const __m128i *in = (const __m128i *)p, *k = (const __m128i *)sha256_constants;
	__m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state + 1), 0x1b);
	/* The instructions want the words as ABEF and CDGH. */
	__m128i abef = _mm_alignr_epi8(abcd, efgh, 8), cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);

	for (; n_blocks; n_blocks--, in += 4) {
		__m128i abef_before = abef, cdgh_before = cdgh, w[4];
#pragma GCC unroll 16
		for (unsigned i = 0; i < 16; i++) {
			w[i % 4] = i < 4 ? _mm_shuffle_epi8(_mm_loadu_si128(in + i), order) : schedule(w, i);
			__m128i sum = _mm_add_epi32(w[i % 4], _mm_loadu_si128(k + i));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	__m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)state + 1, _mm_alignr_epi8(dchg, feba, 8));
}
