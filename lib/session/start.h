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

/* It is used now [µs]. The first use begins the lifetime; the session is ready from then on. */
void start_used(struct store_session *s, int64_t now_us);

/* Lets its lifetime end lifetime_ms [ms] after now_us [µs] (0: never), and says so in the journal.
 * Faults: as of event_end. */
int start_lifetime(struct store_session *s, int64_t now_us, uint64_t lifetime_ms,
	struct journal *j, struct fault *f);

/* Whether a session without supervisor, whose lock is held, may be used. One whose idle time is
 * over is ended first; stopped_too: one that is stopped becomes ready. Faults: LIMIT it is stopped
 * or expired; NOT_FOUND it was a task that has idled; SYSTEM. */
int start_check(struct store_session *s, bool stopped_too, struct fault *f);

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
