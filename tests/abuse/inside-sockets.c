/* Sockets: who can be reached. Every wait is bounded. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "inside.h"

enum { CONNECT_LIMIT_MS = 1500 };

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static socklen_t parse(const char *host, int port, union address *a)
{
	memset(a, 0, sizeof *a);
	if (inet_pton(AF_INET, host, &a->in.sin_addr) == 1) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons((uint16_t)port);
		return sizeof a->in;
	}
	if (inet_pton(AF_INET6, host, &a->in6.sin6_addr) == 1) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons((uint16_t)port);
		return sizeof a->in6;
	}
	return 0;
}

/* Returns: 0, or the error. */
static int connect_bounded(int fd, const union address *a, socklen_t n)
{
	int error = 0;
	socklen_t size = sizeof error;

	if (!connect(fd, &a->any, n))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	if (poll(&p, 1, CONNECT_LIMIT_MS) <= 0)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
}

/* reach KIND,HOST,PORT…: KIND tcp, udp, icmp, raw; udp sends one byte */
static int run_reach(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char kind[16], host[64];
		int port = 0, error;
		union address a;
		if (sscanf(argv[i], "%15[^,],%63[^,],%d", kind, host, &port) != 3)
			return 2;
		socklen_t n = parse(host, port, &a);
		int type = !strcmp(kind, "tcp") ? SOCK_STREAM : !strcmp(kind, "raw") ? SOCK_RAW : SOCK_DGRAM;
		int icmp = a.any.sa_family == AF_INET ? IPPROTO_ICMP : 58;
		int protocol = type == SOCK_RAW || !strcmp(kind, "icmp") ? icmp : 0;
		int fd = socket(a.any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
		if (fd < 0)
			error = errno;
		else if (type == SOCK_STREAM)
			error = connect_bounded(fd, &a, n);
		else
			error = sendto(fd, "\10\0\0\0\0\0\0\0", 8, 0, &a.any, n) < 0 ? errno : 0;
		say_text(argv[i], error ? error_name(error) : "OK", fd < 0 ? "socket" : "");
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static socklen_t unix_address(const char *name, struct sockaddr_un *a)
{
	size_t n = strlen(name);

	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	if (n >= sizeof a->sun_path)
		exit(2);
	memcpy(a->sun_path, name, n);
	/* A name that begins with @ is abstract. */
	if (*name == '@')
		a->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (*name != '@'));
}

/* meet NAME…: connects to unix sockets */
static int run_meet(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		union address a;
		socklen_t n = unix_address(argv[i], &a.un);
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int r = fd < 0 ? -1 : connect(fd, &a.any, n);
		say(argv[i], r, errno);
		close(fd);
	}
	return 0;
}

/* wait-at NAME SECONDS: listens on a unix socket; says when it does, and who came */
static int run_wait_at(int argc, char **argv)
{
	union address a;

	if (argc < 2)
		return 2;
	socklen_t n = unix_address(argv[0], &a.un);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, &a.any, n) < 0 || listen(fd, 8) < 0) {
		say("listen", -1, errno);
		return 1;
	}
	say("listen", 0, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r = poll(&p, 1, atoi(argv[1]) * 1000);
	say_text("came", r > 0 ? "OK" : "ETIMEDOUT", "");
	return 0;
}

const struct probe socket_probes[] = {
	{ "reach", run_reach },
	{ "meet", run_meet },
	{ "wait-at", run_wait_at },
	{ 0 },
};
