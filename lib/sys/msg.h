/*
 * Messages with descriptors over a SOCK_SEQPACKET socket.
 *
 *	msg_send(sock, REQUEST_EXEC, body.data, body.n, fds, 2);
 *
 *	auto_msg struct msg m = { 0 };
 *	int r = msg_receive(sock, MSG_TRUSTED, &m);
 *	if (r > 0) … m.type, m.body, m.n, msg_take_fd(&m, 0)
 *
 * A body that is too long for a packet travels in a sealed memfd; the receiver does not
 * see the difference.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Source: the default of net.core.wmem_default is 212992 bytes on every architecture. */
enum { MSG_INLINE_BYTES = 96 * 1024, MSG_FDS = 12 };

/* From inside a jail only short bodies are taken, never one in a descriptor. */
enum msg_origin { MSG_TRUSTED, MSG_HOSTILE };

struct msg {
	uint32_t type;
	unsigned char *body; /* NUL-terminated behind n bytes */
	size_t n;            /* [bytes] */
	bool has_fds;        /* something was received: fds holds descriptors or -1 */
	int fds[MSG_FDS];
	struct text room;
};

#define auto_msg __attribute__((cleanup(msg_done)))

/* 0, or -errno; -EAGAIN where the socket is full and does not block. No SIGPIPE. */
int msg_send(int sock, uint32_t type, const void *body, size_t n, const int *fds, size_t n_fds);

/* 1: m is filled (what it held before is gone). 0: the other side has closed.
 * -errno; -EBADMSG for a malformed message, -E2BIG for one over LIMIT_REQUEST_BYTES. */
int msg_receive(int sock, enum msg_origin origin, struct msg *m);

/* The i-th descriptor, now the caller's; -1 when it was not sent. */
int msg_take_fd(struct msg *m, size_t i);

void msg_done(struct msg *m);

/* A connected pair, CLOEXEC, SOCK_SEQPACKET. 0, or -errno. */
int msg_pair(int ret[2]);
