#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

int fd_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t r = write(fd, at, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

int fd_read_to_end(int fd, size_t max_bytes, const char *what, struct text *t, struct fault *f)
{
	/* Most files are short: room that nobody needs costs more than the second read. */
	enum { FIRST_BYTES = 2000, LEAST_BYTES = 512, MORE_BYTES = 65536 };
	size_t start = t->n, room = FIRST_BYTES;

	for (;;) {
		ssize_t r = read(fd, text_reserve(t, room), room);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fault_set(f, FAULT_SYSTEM, errno, "read %s", what);
		if (!r)
			return 0;
		text_grew(t, (size_t)r);
		room -= (size_t)r;
		if (room < LEAST_BYTES)
			room = MORE_BYTES;
		if (t->n - start > max_bytes)
			return fault_set(f, FAULT_LIMIT, 0, "%s is larger than %zu bytes", what,
				max_bytes);
	}
}

int fd_set_nonblock(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int fd_fill_standard(void)
{
	int fd;

	/* The wrong way round: what a caller closed must fail when it is used, not seem to work. */
	do
		fd = open("/dev/null", fcntl(0, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
	while (fd >= 0 && fd <= 2);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
