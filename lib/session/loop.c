#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "base/mem.h"
#include "session/loop.h"

void loop_add(struct loop *l, struct source *s, int fd, short events,
	void (*ready)(void *owner, short revents), void *owner)
{
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 16;
		l->v = mem_resized(l->v, l->room, sizeof *l->v);
		l->polled = mem_resized(l->polled, l->room, sizeof *l->polled);
	}
	*s = (struct source){ .fd = fd, .events = events, .ready = ready, .owner = owner,
		.at = l->n };
	l->v[l->n++] = s;
}

void loop_remove(struct loop *l, struct source *s)
{
	/* Zeroed memory is a source that was never added, too. */
	if (!s->ready)
		return;
	l->v[s->at] = NULL;
	*s = (struct source){ .fd = -1 };
}

/* Closes the gaps that loop_remove left. */
static void compact(struct loop *l)
{
	size_t to = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i])
			continue;
		l->v[to] = l->v[i];
		l->v[to]->at = to;
		to++;
	}
	l->n = to;
}

int loop_step(struct loop *l, int64_t timeout_ms)
{
	compact(l);
	size_t n = l->n;
	for (size_t i = 0; i < n; i++)
		l->polled[i] = (struct pollfd){ .fd = l->v[i]->fd, .events = l->v[i]->events };
	int r = poll(l->polled, n, timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms);
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	for (size_t i = 0; i < n; i++) {
		struct source *s = l->v[i];
		if (s && l->polled[i].revents)
			s->ready(s->owner, l->polled[i].revents);
	}
	return r;
}
