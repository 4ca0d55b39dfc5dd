/* Messages as the inside of a jail can send them: any bytes, with any descriptors. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "sys/kernel.h"
#include "sys/msg.h"
#include "sys/pidfd.h"

/* A pidfd of a process that was there. */
static inline int fuzz_gone_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	int fd = pidfd_find(pid);
	fuzz_check(pid > 0 && fd >= 0 && waitpid(pid, NULL, 0) == pid);
	return fd;
}

/* What can be sent along, made once. */
static inline const int *fuzz_descriptors(void)
{
	static int fds[8];

	if (!fds[0]) {
		fds[0] = open("/", O_PATH | O_CLOEXEC);
		fds[1] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fds[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
		fds[3] = pidfd_find(getpid());
		fds[4] = fuzz_gone_process();
		fds[5] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
		fds[6] = fuzz_open("", 0);
		fds[7] = open("/dev/null", O_PATH | O_CLOEXEC);
	}
	return fds;
}

/* Takes one message out of an input, type, descriptors, length and body, and sends it. False
 * when there is none any more. */
static inline bool fuzz_send(int sock, struct fuzz_rest *z)
{
	enum { RAW = 255 };
	const int *all = fuzz_descriptors();
	int fds[8];
	size_t n_fds = 0;

	if (!z->n)
		return false;
	uint8_t type = fuzz_take_u8(z), set = fuzz_take_u8(z);
	struct fuzz_rest body = fuzz_take_part(z);
	for (size_t i = 0; i < 8; i++)
		if (set & 1u << i && all[i] >= 0)
			fds[n_fds++] = all[i];
	if (type == RAW)
		return send(sock, body.p, body.n, MSG_NOSIGNAL) == (ssize_t)body.n;
	return msg_send(sock, type, body.p, body.n, fds, n_fds) == 0;
}
