/* Messages for the targets that read them. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sys/msg.h"

/* One as msg_receive gives it, without descriptors; its body is exactly as large as it says. */
static inline void fuzz_msg(struct msg *m, uint32_t type, const void *p, size_t n)
{
	*m = (struct msg){ .type = type, .n = n };
	m->room = (struct text){ malloc(n + 1), n, n + 1 };
	fuzz_check(m->room.data);
	if (n)
		memcpy(m->room.data, p, n);
	m->room.data[n] = 0;
	m->body = (unsigned char *)m->room.data;
}
