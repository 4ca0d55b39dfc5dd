/*
 * Keeping the caps of the configuration.
 *
 *	gate_hold(st, &spec, &lock, &f);     before a session is made
 *	…                                    made
 *	close(lock);
 *
 *	gate_open(s, &f);                    a supervisor, once
 *	slot = gate_take(s, &f);             an execution; negative: there are enough
 *	gate_give(s, slot);
 */
#pragma once

#include "store/store.h"

struct super;

/*
 * gate_hold - refuses a new session that would be over a cap of sessions or disk
 * @ret_lock:  no other session is made under a cap until it is closed; -1 without a cap
 *
 * Sessions are counted by name. Disk is what is promised: the limits of all sessions together.
 *
 * Returns: 0, or negative.
 * Faults:  LIMIT   it would; the text names the cap, its value and where it was set.
 *          BUSY    another command holds the lock for too long.
 *          FORMAT  the configuration is wrong.
 *          SYSTEM  anything else.
 */
int gate_hold(struct store *st, const struct session_spec *spec, int *ret_lock, struct fault *f);

/* Reads the configuration for executions. Faults: FORMAT, SYSTEM, LIMIT as of config_read. */
int gate_open(struct super *s, struct fault *f);

/* A place among the executions of all sessions that may run, from 1; 0: there is no cap. It is
 * given back by the end of this process, too. Faults: LIMIT there is none; SYSTEM. */
int gate_take(struct super *s, struct fault *f);
void gate_give(struct super *s, int slot);
