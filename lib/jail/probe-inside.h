/*
 * Inside: the walls of a jail, tried from where a program stands.
 *
 * Each wall has a name that stays, whether it held, and what was observed. Whatever is tried
 * does no harm if it succeeds. The numbers of the groups are those of the abuse tests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* "EPERM", or the number. */
const char *probe_errno_name(int sysno, char room[16]);

void probe_put(struct text *t, const char *key, bool held, const char *observed);

/* Calls that must be refused, by a table. */
void probe_calls(struct text *t);
