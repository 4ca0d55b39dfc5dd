#include "base/mem.h"
#include "base/sha256.h"
#include "store/record.h"

struct digest {
	struct sha256 sum;
};

struct digest *digest_new(void)
{
	struct digest *d = mem_new(struct digest);

	sha256_init(&d->sum);
	return d;
}

void digest_add(struct digest *d, const void *p, size_t n)
{
	sha256_add(&d->sum, p, n);
}

struct digest *digest_end(struct digest *d, char ret[DIGEST_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[SHA256_BYTES];

	sha256_end(&d->sum, sum);
	for (size_t i = 0; i < sizeof sum; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[2 * sizeof sum] = 0;
	free(d);
	return NULL;
}
