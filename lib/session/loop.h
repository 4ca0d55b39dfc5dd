/*
 * The supervisor's one poll loop. A source lies in the struct that owns it; adding,
 * changing and removing (also of others) is allowed while one is being served.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct source {
	int fd;        /* -1: not in a loop */
	short events;  /* as of poll(2); 0: only errors and hang-ups */
	void (*ready)(void *owner, short revents);
	void *owner;
	size_t at;     /* its place in the loop */
};

struct loop {
	struct source **v;
	size_t n, room;
	struct pollfd *polled;
};

/* The descriptor stays the caller's. */
void loop_add(struct loop *l, struct source *s, int fd, short events,
	void (*ready)(void *owner, short revents), void *owner);

/* Takes it out; its descriptor stays open. Harmless when it is not in. */
void loop_remove(struct loop *l, struct source *s);

/* Waits for at most timeout_ms [ms] (-1: without end) and serves what is ready. Returns how
 * many were, or -errno. */
int loop_step(struct loop *l, int64_t timeout_ms);
