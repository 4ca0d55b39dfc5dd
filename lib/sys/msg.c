#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "sys/msg.h"

struct msg_head {
	uint32_t type;
	uint32_t in_fd; /* 1: the body is the content of the last descriptor */
};

union control {
	char bytes[CMSG_SPACE(sizeof(int) * MSG_FDS)];
	struct cmsghdr align;
};

static int send_packet(int sock, const struct msg_head *head, const void *body, size_t n,
	const int *fds, size_t n_fds)
{
	struct iovec iov[2] = { { (void *)head, sizeof *head }, { (void *)body, n } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = n ? 2 : 1 };
	union control control;
	ssize_t r;

	if (n_fds) {
		memset(&control, 0, sizeof control);
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		struct cmsghdr *c = &control.align; /* the first */
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	do
		r = sendmsg(sock, &h, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

int msg_send(int sock, uint32_t type, const void *body, size_t n, const int *fds, size_t n_fds)
{
	struct msg_head head = { .type = type };
	int all[MSG_FDS];
	int r;

	if (n <= MSG_INLINE_BYTES)
		return n_fds > MSG_FDS ? -EINVAL : send_packet(sock, &head, body, n, fds, n_fds);
	if (n_fds >= MSG_FDS)
		return -EINVAL;
	auto_fd int fd = memfd_create("sbx-message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, body, n);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	head.in_fd = 1;
	if (n_fds)
		memcpy(all, fds, sizeof(int) * n_fds);
	all[n_fds] = fd;
	return send_packet(sock, &head, NULL, 0, all, n_fds + 1);
}

static int take_fds(struct msghdr *h, int *fds)
{
	int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < got; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
			if (n < MSG_FDS)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

static int read_body(struct msg *m, int fd)
{
	struct stat st;

	/* Without the seals the size could change under the read. */
	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) < 0)
		return -EBADMSG;
	if (st.st_size < 0 || (uint64_t)st.st_size > LIMIT_REQUEST_BYTES)
		return -E2BIG;
	size_t n = (size_t)st.st_size, at = 0;
	m->body = (unsigned char *)text_reserve(&m->room, n);
	while (at < n) {
		ssize_t r = pread(fd, m->body + at, n - at, (off_t)at);
		if (r <= 0)
			return -EBADMSG;
		at += (size_t)r;
	}
	m->n = n;
	return 1;
}

static void drop_fds(struct msg *m)
{
	for (size_t i = 0; i < MSG_FDS; i++) {
		if (m->has_fds && m->fds[i] >= 0)
			close(m->fds[i]);
		m->fds[i] = -1;
	}
}

int msg_receive(int sock, enum msg_origin origin, struct msg *m)
{
	struct msg_head head;
	union control control;
	ssize_t r;
	int n_resets = 0;

	drop_fds(m);
	m->has_fds = true;
	text_clear(&m->room);
	m->body = (unsigned char *)text_reserve(&m->room, MSG_INLINE_BYTES);
	struct iovec iov[2] = { { &head, sizeof head }, { m->body, MSG_INLINE_BYTES } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes };
	/* A peer that closes with messages of ours unread resets the connection, and the kernel
	 * says so once, before what the peer had sent: that is still there behind it. */
	do
		r = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	while (r < 0 && (errno == EINTR || (errno == ECONNRESET && n_resets++ == 0)));
	if (r < 0)
		return errno == ECONNRESET ? 0 : -errno;
	int n_fds = take_fds(&h, m->fds);
	if (!r)
		return 0;
	if ((size_t)r < sizeof head || (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return -EBADMSG;
	m->type = head.type;
	m->n = (size_t)r - sizeof head;
	if (head.in_fd) {
		if (origin == MSG_HOSTILE || m->n || !n_fds)
			return -EBADMSG;
		auto_fd int fd = take_fd(&m->fds[n_fds - 1]);
		int got = read_body(m, fd);
		if (got < 0)
			return got;
	}
	m->body[m->n] = 0;
	return 1;
}

int msg_take_fd(struct msg *m, size_t i)
{
	return i < MSG_FDS ? take_fd(&m->fds[i]) : -1;
}

void msg_done(struct msg *m)
{
	drop_fds(m);
	text_done(&m->room);
	*m = (struct msg){ 0 };
}

int msg_pair(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}
