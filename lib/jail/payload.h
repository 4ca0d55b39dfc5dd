/* Inside: the exec-init, process 1 of one execution. */
#pragma once

#include "jail/plan.h"

/* What an exec-init needs from init, whose copy it is. */
struct payload {
	const struct plan *plan;
	int sock;   /* to the host */
	int report; /* to init: a struct payload_ready, then closed */
	int door;   /* to its control group; -1: none */
};

/* Sent once, when everything is applied and it waits; or why not. */
struct payload_ready {
	char proc_masked, seccomp, landlock_abi;
	char failed;
	int sysno; /* why it failed, or why there is no Landlock */
	char text[96];
};

/* Builds its part, waits for a command, runs it, ends. */
_Noreturn void payload_main(const struct payload *p);
