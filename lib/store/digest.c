#include <nettle/sha2.h>

#include "base/mem.h"
#include "store/record.h"

struct digest {
	struct sha256_ctx ctx;
};

struct digest *digest_new(void)
{
	struct digest *d = mem_new(struct digest);

	sha256_init(&d->ctx);
	return d;
}

void digest_add(struct digest *d, const void *p, size_t n)
{
	sha256_update(&d->ctx, n, p);
}

struct digest *digest_end(struct digest *d, char ret[DIGEST_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum[SHA256_DIGEST_SIZE];

	sha256_digest(&d->ctx, sizeof sum, sum);
	for (size_t i = 0; i < sizeof sum; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[2 * sizeof sum] = 0;
	free(d);
	return NULL;
}
