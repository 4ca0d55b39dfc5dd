/* A machine without instructions for it. */
#include "base/sha256.h"

bool sha256_cpu_has(void)
{
	return false;
}

void sha256_cpu_blocks(uint32_t state[8], const unsigned char *p, size_t n_blocks)
{
	(void)state;
	(void)p;
	(void)n_blocks;
}
