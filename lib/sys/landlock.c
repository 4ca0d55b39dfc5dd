#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/kernel.h"
#include "sys/landlock.h"

enum {
	CREATE_VERSION = 1,
	RULE_BENEATH = 1,
	SCOPE_ABSTRACT_AND_SIGNAL = 3,
	BIND_AND_CONNECT_TCP = 3,
	OF_FILES = LANDLOCK_EXECUTE | LANDLOCK_WRITE | LANDLOCK_READ | LANDLOCK_TRUNCATE |
		LANDLOCK_IOCTL_DEV,
};

/* What each ABI handles: 1 13 rights, 2 REFER, 3 TRUNCATE, 5 IOCTL_DEV. */
static uint32_t rights_of(int abi)
{
	if (abi >= 5)
		return 0xffff;
	if (abi >= 3)
		return 0x7fff;
	return abi == 2 ? 0x3fff : 0x1fff;
}

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static int open_set(uint64_t net, int *ret_abi)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
	struct kernel_landlock_ruleset set = { 0 };

	if (abi < 0)
		return -errno;
	set.fs = rights_of((int)abi);
	/* Older kernels take a longer struct as long as what they do not know is 0. */
	if (abi >= 6)
		set.scoped = SCOPE_ABSTRACT_AND_SIGNAL;
	if (abi >= 4)
		set.net = net;
	long fd = syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0);
	if (fd < 0)
		return -errno;
	*ret_abi = (int)abi;
	return (int)fd;
}

int landlock_open(int *ret_abi)
{
	return open_set(0, ret_abi);
}

int landlock_open_all(int *ret_abi)
{
	return open_set(BIND_AND_CONNECT_TCP, ret_abi);
}

int landlock_allow(int set, int abi, const char *path, uint32_t access)
{
	struct stat st;
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		access &= OF_FILES;
	struct kernel_landlock_beneath rule = { .access = access & rights_of(abi), .fd = fd };
	return syscall(SYS_landlock_add_rule, set, RULE_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_apply(int set)
{
	return syscall(SYS_landlock_restrict_self, set, 0) < 0 ? -errno : 0;
}

const char *landlock_right_name(int bit)
{
	static const char *const names[] = { "execute", "write_file", "read_file", "read_dir",
		"remove_dir", "remove_file", "make_char", "make_dir", "make_reg", "make_sock",
		"make_fifo", "make_block", "make_sym", "refer", "truncate", "ioctl_dev" };

	return bit >= 0 && (size_t)bit < array_size(names) ? names[bit] : NULL;
}
