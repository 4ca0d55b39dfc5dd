#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/loopdev.h"

/* Another process may take a free device first. */
enum { TRIES = 64 };

int loopdev_attach(int file, char ret_path[LOOPDEV_PATH])
{
	struct loop_config config = { .fd = (unsigned)file, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	auto_fd int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		return -errno;
	for (int i = 0; i < TRIES; i++) {
		int n = ioctl(control, LOOP_CTL_GET_FREE);
		if (n < 0)
			return -errno;
		snprintf(ret_path, LOOPDEV_PATH, "/dev/loop%d", n);
		auto_fd int device = open(ret_path, O_RDWR | O_CLOEXEC);
		if (device < 0 && errno != ENXIO)
			return -errno;
		if (device >= 0 && ioctl(device, LOOP_CONFIGURE, &config) == 0)
			return take_fd(&device);
		if (errno != EBUSY && errno != ENXIO)
			return -errno;
	}
	return -EBUSY;
}
