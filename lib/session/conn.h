/*
 * Clients of the supervisor: one request at a time on a connection, which stays for the next
 * one until either side hangs up; replies are queued without blocking.
 */
#pragma once

#include "session/exec.h"

struct conn {
	struct super *s;
	struct conn *next;
	struct source source;
	int fd;
	struct exec *exec;
	struct exec *waits_for;         /* it gave the request id of a running execution */
	bool has_asked;                 /* its first request was taken */
	bool waits_ready;               /* to be told when the jail is built */
	struct packet *first, *last;    /* not sent yet */
	size_t n_waiting;               /* [bytes] in them */
};

/* Source of the loop: somebody connects. */
void conn_accept(void *owner, short revents);

/* A client over a connected socket, which it takes. */
struct conn *conn_new(struct super *s, int fd);

/* Sends, or queues what the socket does not take now. */
void conn_send(struct conn *c, enum wire_type type, const struct text *t);

/* The last word on a request: an answer (NULL: empty), a failure, or nothing more. c may ask
 * again. */
void conn_done(struct conn *c, const struct text *answer);
void conn_fault(struct conn *c, const struct fault *f);
void conn_finish(struct conn *c);
void conn_free(struct conn *c);

/* Somebody waits for an answer, or has connected to ask and not asked yet. */
bool conn_is_any_waiting(const struct super *s);

/* So much waits that its execution must not be read. */
bool conn_is_full(const struct conn *c);
