#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sys/caps.h"
#include "sys/kernel.h"

#define VERSION_3 0x20080522u

/* NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock, and the lock alone of
 * KEEP_CAPS. Source: capabilities(7), "The securebits flags". */
enum { SECUREBITS = 0x03 | 0x0c | 0x20 | 0xc0 };

int caps_set(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct kernel_cap_header head = { .version = VERSION_3 };
	struct kernel_cap_data data[2] = {
		{ (uint32_t)effective, (uint32_t)permitted, (uint32_t)inheritable },
		{ (uint32_t)(effective >> 32), (uint32_t)(permitted >> 32),
			(uint32_t)(inheritable >> 32) },
	};

	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int caps_raise_ambient(uint64_t caps)
{
	for (unsigned long i = 0; i < 64; i++)
		if (caps & CAPS_BIT(i) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0ul, 0ul) < 0)
			return -errno;
	return 0;
}

int caps_clear_ambient(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0ul, 0ul, 0ul) < 0 ? -errno : 0;
}

int caps_drop_bounding(void)
{
	/* EINVAL: the first number that this kernel does not have. */
	for (unsigned long i = 0; i < 64; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0ul, 0ul, 0ul) < 0)
			return errno == EINVAL && i ? 0 : -errno;
	return 0;
}

int caps_lock_securebits(void)
{
	return prctl(PR_SET_SECUREBITS, (unsigned long)SECUREBITS, 0ul, 0ul, 0ul) < 0 ? -errno : 0;
}
