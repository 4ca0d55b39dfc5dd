/*
 * Landlock: which files a process and its descendants may open, whatever the mounts say.
 *
 *	int set = landlock_open(&abi);
 *	landlock_allow(set, abi, "/tmp", LANDLOCK_ALL);
 *	landlock_apply(set);
 *
 * Source: landlock(7). All give -errno on failure.
 */
#pragma once

#include <stdint.h>

#define LANDLOCK_EXECUTE   (1u << 0)
#define LANDLOCK_WRITE     (1u << 1)
#define LANDLOCK_READ      (1u << 2)
#define LANDLOCK_READ_DIR  (1u << 3)
#define LANDLOCK_MAKE_CHAR (1u << 6)
#define LANDLOCK_MAKE_REG  (1u << 8)
#define LANDLOCK_MAKE_BLOCK (1u << 11)
#define LANDLOCK_TRUNCATE  (1u << 14)
#define LANDLOCK_IOCTL_DEV (1u << 15)
#define LANDLOCK_ALL       0xffffu

/* A rule set that handles all file rights, and abstract sockets and signals where the
 * kernel can. A descriptor; -ENOSYS or -EOPNOTSUPP where there is none. */
int landlock_open(int *ret_abi);

/* What this kernel has; 0 without it. From LANDLOCK_ABI_TRUNCATE on (Linux 6.2) a file that may not
 * be written may not be cut off either: truncate(2), and open(2) with O_TRUNC to read. */
enum { LANDLOCK_ABI_TRUNCATE = 3 };
int landlock_abi(void);

/* With TCP too, of which no rule allows anything (since ABI 4). */
int landlock_open_all(int *ret_abi);

/* Rights the kernel does not know are left out. A path that is no directory gets only
 * what a file can have. */
int landlock_allow(int set, int abi, const char *path, uint32_t access);

/* For the calling process from now on; needs no_new_privs. */
int landlock_apply(int set);

/* The name of one right, NULL when there is no such bit. */
const char *landlock_right_name(int bit);
