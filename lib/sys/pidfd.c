#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/kernel.h"
#include "sys/pidfd.h"

/* Where a filter forbids the call: as long as the descriptor knows a pid, it is this one. */
static int kill_by_number(int fd, int signal)
{
	pid_t pid;
	bool is_first;
	int r = pidfd_check(fd, &pid, &is_first);

	if (r < 0)
		return r;
	return kill(pid, signal) < 0 ? -errno : 0;
}

int pidfd_kill(int fd, int signal)
{
	if (syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0)
		return 0;
	return errno == ENOSYS || errno == EPERM ? kill_by_number(fd, signal) : -errno;
}

/* "NSpid:\t812\t7\t1\n": outermost first. */
static bool is_first_below(const char *s)
{
	unsigned long pid = 0;
	int n = 0;

	while (*s == '\t') {
		char *end;
		pid = strtoul(s + 1, &end, 10);
		if (end == s + 1)
			return false;
		s = end;
		n++;
	}
	return n > 1 && pid == 1;
}

int pidfd_check(int fd, pid_t *ret_pid, bool *ret_is_first)
{
	char path[64], text[1024];

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	auto_fd int info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -errno;
	ssize_t n = read(info, text, sizeof text - 1);
	if (n < 0)
		return -errno;
	text[n] = 0;
	const char *pid = strstr(text, "\nPid:\t"), *all = strstr(text, "\nNSpid:");
	if (!pid)
		return -EBADF;
	long v = strtol(pid + 6, NULL, 10);
	if (v <= 0)
		return -ESRCH;
	*ret_pid = (pid_t)v;
	*ret_is_first = all && is_first_below(all + 7);
	return 0;
}

int pidfd_wait(int fd, int timeout_ms, int *ret_status)
{
	int64_t end_ms = clock_now_ms() + timeout_ms;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	siginfo_t info = { 0 };

	for (;;) {
		int64_t left_ms = end_ms - clock_now_ms();
		int r = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
		if (r > 0)
			break;
		if (!r)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
	/* P_PIDFD is 3. musl has no name for it. */
	if (waitid((idtype_t)3, (id_t)fd, &info, WEXITED | WNOHANG | __WALL) < 0)
		return -errno;
	if (ret_status)
		*ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return 0;
}

int pidfd_find(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}
