#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"

int file_open_read(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

int file_read(int dir, const char *name, size_t max_bytes, struct text *t, struct fault *f)
{
	auto_fd int fd = file_open_read(dir, name);

	if (fd < 0)
		return fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_SYSTEM, errno, "open %s",
			name);
	return fd_read_to_end(fd, max_bytes, name, t, f);
}

int file_replace(int dir, const char *name, const void *p, size_t n, struct fault *f)
{
	char temp[300];
	int r;

	/* Unique among processes by pid, within one by the clock: O_EXCL catches the rest. */
	snprintf(temp, sizeof temp, ".%.200s.%d.%" PRIx64, name, (int)getpid(),
		(uint64_t)clock_now_us());
	auto_fd int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "create %s", name);
	r = fd_write_all(fd, p, n);
	if (!r && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (!r)
		return 0;
	unlinkat(dir, temp, 0);
	return fault_set(f, FAULT_SYSTEM, -r, "write %s", name);
}

int file_make_dir(int dir, const char *name, mode_t mode, int *ret_fd, struct fault *f)
{
	if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
		return fault_set(f, FAULT_SYSTEM, errno, "make directory %s", name);
	return file_open_dir(dir, name, ret_fd, f);
}

int file_open_dir(int dir, const char *name, int *ret_fd, struct fault *f)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_SYSTEM, errno,
			"open directory %s", name);
	*ret_fd = fd;
	return 0;
}
