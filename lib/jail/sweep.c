#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/sweep.h"
#include "sys/proc.h"

uint32_t sweep_all(void)
{
	uint32_t n = 0;
	int status;

	/* Anywhere else -1 would be the whole machine. */
	if (getpid() != 1)
		abort();
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

static bool signal_newer(int signal, uint64_t since_ticks, pid_t leader)
{
	bool found = false;
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		long pid = strtol(e->d_name, NULL, 10);
		if (pid <= 1 || pid == leader || proc_start_ticks((pid_t)pid) <= since_ticks)
			continue;
		kill((pid_t)pid, signal);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

void sweep_since(int signal, uint64_t since_ticks, pid_t leader)
{
	/* Those that one of them made meanwhile are found by the next round. Zombies of a
	 * living parent are found each time, hence the bound. What need not die is told once. */
	int rounds = signal == SIGKILL ? 8 : 1;

	while (rounds-- && signal_newer(signal, since_ticks, leader))
		;
}
