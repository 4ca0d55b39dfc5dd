/* A command as a message: put together on the host, taken apart by an exec-init. */
#pragma once

#include <stdbool.h>

#include "base/frame.h"
#include "jail/exec.h"
#include "sys/msg.h"

/* The descriptors that go with it are those of c->fds that are not -1, in order. */
void command_put(const struct jail_command *c, struct text *t);

/*
 * command_get - takes a command out of a message
 * @m:    its descriptors move to fds
 * @c:    filled; strings point into the message, argv and env are arrays of their own
 * @fds:  room for MSG_FDS; -1 where nothing was sent; c->fds points here
 *
 * Returns: false when the message is damaged.
 */
bool command_get(struct msg *m, struct jail_command *c, int *fds);
