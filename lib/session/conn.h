/* Clients of the supervisor: one request a connection, replies queued without blocking. */
#pragma once

#include "session/exec.h"

struct conn {
	struct super *s;
	struct conn *next;
	struct source source;
	int fd;
	struct exec *exec;
	struct exec *waits_for;         /* it gave the request id of a running execution */
	bool closing;                   /* close when everything is sent */
	bool waits_ready;               /* to be told when the jail is built */
	struct packet *first, *last;    /* not sent yet */
	size_t n_waiting;               /* [bytes] in them */
};

void conn_accept(void *owner, short revents);
struct conn *conn_new(struct super *s, int fd);
void conn_send(struct conn *c, enum wire_type type, const struct text *t);
void conn_fault(struct conn *c, const struct fault *f);
void conn_done(struct conn *c, const struct text *answer); /* sends the answer, then closes */
void conn_finish(struct conn *c);  /* closes once everything is sent */
void conn_free(struct conn *c);
bool conn_is_full(const struct conn *c);
