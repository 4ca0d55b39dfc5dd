#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/proc.h"

/* A field of /proc/PID/stat from the third on, as a number; 0 when there is none. */
static uint64_t read_field(pid_t pid, int wanted)
{
	char path[32], text[1024];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* The name may hold blanks and brackets; the fields begin behind the last bracket. */
	char *at = strrchr(text, ')');
	for (int field = 2; at && field < wanted; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t proc_start_ticks(pid_t pid)
{
	return read_field(pid, 22);
}

pid_t proc_parent(pid_t pid)
{
	return (pid_t)read_field(pid, 4);
}

uint64_t proc_now_ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 100 + (uint64_t)t.tv_nsec / 10000000;
}
