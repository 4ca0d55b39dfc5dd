/* Starting a supervisor and finding it again. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "event/event.h"
#include "jail/jail.h"
#include "store/store.h"

/* The address of the session's socket, through its open directory: paths can be longer
 * than an address. */
void start_address(const struct store_session *s, struct sockaddr_un *ret);

/* Runs in the forked child until the session has no need of it. The session's lock is held. */
void super_main(struct store *st, struct store_session *session, int conn);

/* Appends an event with a reason to the journal of a session whose lock is held and which has
 * no supervisor. Faults: as of journal_open and event_end. */
int start_note(struct store_session *s, enum event_type type, const char *reason, struct fault *f);

enum { DRIVERS = 3, DRIVER_PYTHON = 0 };

/* The drivers of the kept interpreters, embedded in the program. */
const struct jail_file *driver_files(void);

/*
 * The Python driver as this interpreter compiles it, kept in HOME/drivers: compiling takes 2.5 of
 * 12 ms of each start, and 1.7 MB that the interpreter keeps. Made by the host's own interpreter,
 * without its site packages, from our source alone; nothing of a session has a part in it.
 *
 * Making does nothing where it is there. Reading: whether there is one. Both best effort.
 */
void compiled_make(int home, const char *interpreter);
bool compiled_read(int home, const char *interpreter, struct text *t);
