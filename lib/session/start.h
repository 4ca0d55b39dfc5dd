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

enum { DRIVERS = 3 };

/* The drivers of the kept interpreters, embedded in the program. */
const struct jail_file *driver_files(void);
