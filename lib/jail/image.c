#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "jail/host.h"
#include "jail/walls.h"

extern const unsigned char jail_image[], jail_image_end[];

/* Newer than the headers. Source: linux/memfd.h, linux/fcntl.h. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20
#endif

/* Readable for its owner: else the process that runs it would not be dumpable, and its
 * maps would belong to root. */
enum { IMAGE_MODE = 0555 };

static int write_image(int fd)
{
	int r = fd_write_all(fd, jail_image, (size_t)(jail_image_end - jail_image));

	return !r && fchmod(fd, IMAGE_MODE) < 0 ? -errno : r;
}

static int open_sealed(void)
{
	auto_fd int fd = memfd_create("sbx-init", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	/* Before Linux 6.3 there is no such flag, and no need for it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("sbx-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	int r = write_image(fd);
	if (r < 0 || wall_is_off("sealed"))
		return r < 0 ? r : take_fd(&fd);
	fcntl(fd, F_ADD_SEALS, F_SEAL_EXEC); /* since 6.3 */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return take_fd(&fd);
}

/* A file that is open for writing cannot be executed, so it is opened once more. */
static int open_file(int dir)
{
	char path[64];
	auto_fd int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	int r = write_image(fd);
	if (r < 0)
		return r;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int again = open(path, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

int image_open(int dir, bool *ret_sealed, struct fault *f)
{
	int fd = open_sealed();

	*ret_sealed = fd >= 0;
	if (fd < 0)
		fd = open_file(dir);
	if (fd < 0)
		return fault_set(f, FAULT_SYSTEM, -fd, "make the program of init");
	return fd;
}
