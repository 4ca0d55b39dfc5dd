/*
 * The life of a session as a client sees it.
 *
 *	session_create(&st, &spec, &s, &conn, &f);      a new one, live
 *	session_connect(&s, &conn, &f);                 an old one, woken when dormant
 *	…                                               session/client.h: what is asked of it
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/id.h"
#include "base/text.h"
#include "store/store.h"

/*
 * session_create - makes a session and starts its supervisor
 * @spec:      moved
 * @ret:       the session; its lock is the supervisor's
 * @ret_conn:  a connection to it; set on 0 only
 *
 * Returns: 0, or negative; nothing is left behind then.
 * Faults:  BUSY    the id or name is taken.
 *          DENIED  no jail can be made here, or a required limit is not enforced.
 *          LIMIT   no room.
 *          SYSTEM  anything else.
 */
int session_create(struct store *st, struct session_spec *spec, struct store_session *ret,
	int *ret_conn, struct fault *f);

/*
 * session_connect - connects to the supervisor of a session, starting it when there is none
 *
 * Returns: 0, or negative.
 * Faults:  DENIED  no jail can be made here any more.
 *          LIMIT   the session is stopped or expired; the text says how to go on.
 *          BUSY    a supervisor lives but does not answer within 5 s.
 *          SYSTEM  anything else.
 */
int session_connect(struct store_session *s, int *ret_conn, struct fault *f);

/* Like session_connect for a session that may be stopped: its state is ready again. Faults: as of
 * session_connect. */
int session_start(struct store_session *s, int *ret_conn, struct fault *f);

/* Waits until the jail is built. Faults: what kept it from that. */
int session_wait_ready(int conn, struct fault *f);

/* Like session_connect, but positive (1) when no supervisor lives; the lock is held then.
 * Faults: BUSY one lives but does not answer within 5 s; SYSTEM, FORMAT, NOT_FOUND as of
 * store_session_lock. */
int session_connect_live(struct store_session *s, int *ret_conn, struct fault *f);

#define SESSION_LIFETIME_KEEP UINT64_MAX

/*
 * session_touch - counts as use of a session, without starting anything
 * @lifetime_ms:  [ms] its lifetime from now on; 0: without end; SESSION_LIFETIME_KEEP: as it is
 *
 * Returns: 0, or negative.
 * Faults:  LIMIT      its lifetime is over.
 *          NOT_FOUND  a task that has idled for too long: it is gone now.
 *          BUSY       a supervisor lives but does not answer within 5 s.
 *          SYSTEM     anything else.
 */
int session_touch(struct store_session *s, uint64_t lifetime_ms, struct fault *f);

/* Stops all processes of a session; live or not. With for_good its state becomes stopped.
 * The lock is held afterwards. Faults: SYSTEM, BUSY. */
int session_stop(struct store_session *s, bool for_good, struct fault *f);

/* Stops, removes cgroups, directory and name. Faults: SYSTEM, BUSY. */
int session_remove(struct store_session *s, struct fault *f);

/* Removes what killed commands left: one-off sessions without supervisor, half-made ones,
 * trash. Cheap when there is nothing. Best effort, silent. */
void session_sweep(struct store *st);

/* What the caller, or root, can do so that a control group stands behind the limits that have none
 * here; a text that stays empty: nothing. */
void session_limit_fixes(struct text ret[LIMIT_KINDS]);
