#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "jail/sweep.h"

uint32_t sweep_all(void)
{
	uint32_t n = 0;
	int status;

	/* Everything in this namespace is a descendant of this process, so without a child
	 * there is nothing. */
	for (;;) {
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return n;
		if (pid > 0)
			continue;
		/* A fork that is under way sees the signal and fails, so none slips through. */
		kill(-1, SIGKILL);
		while ((pid = waitpid(-1, &status, 0)) > 0)
			n += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	}
}

/* Field 22, counted from behind the name, which may hold anything. proc_pid_stat(5) */
static uint64_t start_ticks(int proc, const char *pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof path, "%.20s/stat", pid);
	auto_fd int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static bool kill_newer(uint64_t since_ticks, pid_t leader)
{
	bool found = false;
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		long pid = strtol(e->d_name, NULL, 10);
		if (pid <= 1 || pid == leader || start_ticks(dirfd(d), e->d_name) <= since_ticks)
			continue;
		kill((pid_t)pid, SIGKILL);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

void sweep_since(uint64_t since_ticks, pid_t leader)
{
	/* Those that one of them made meanwhile are found by the next round. Zombies of a
	 * living parent are found each time, hence the bound. */
	for (int round = 0; round < 8 && kill_newer(since_ticks, leader); round++)
		;
}
