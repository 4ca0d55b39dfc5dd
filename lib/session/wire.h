/* What client and supervisor say to each other; types of sys/msg.h packets. */
#pragma once

#include "session/client.h"
#include "sys/msg.h"

enum wire_type {
	/* to the supervisor */
	WIRE_EXEC = 1,
	WIRE_FILES,
	WIRE_STDIN,
	WIRE_SIGNAL,
	WIRE_CANCEL,
	WIRE_RESIZE,
	WIRE_CONTEXT_REMOVE,
	WIRE_PING,
	WIRE_STOP,
	WIRE_TOUCH,
	WIRE_DETACH,

	/* from the supervisor */
	WIRE_ACCEPTED = 100,
	WIRE_OUTPUT,
	WIRE_STDIN_MORE,
	WIRE_EVENT,
	WIRE_RESULT,
	WIRE_DONE,
	WIRE_FAULT,
};

enum wire_stop { WIRE_STOP_DORMANT, WIRE_STOP_FOR_GOOD, WIRE_STOP_DESTROY };

/* A request as the supervisor holds it: pointers go into the message that it owns. */
struct wire_exec {
	struct exec_request r;
	struct msg m;
};

void wire_put_exec(struct text *t, const struct exec_request *r);

/* Moves m in. Faults: FORMAT a field is missing or makes no sense. */
int wire_get_exec(struct msg *m, struct wire_exec *ret, struct fault *f);
void wire_exec_done(struct wire_exec *w);

/* A request to carry files, with the flags that its kind means. */
void wire_put_files(struct text *t, enum files_kind kind, char *const *argv);

/* Moves m in. Faults: FORMAT it is damaged, or of a kind that there is not. */
int wire_get_files(struct msg *m, struct wire_exec *ret, enum files_kind *ret_kind, struct fault *f);
