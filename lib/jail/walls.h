/*
 * The walls of a jail by name, each where it is built: a test can switch them off one by one
 * and see that its tests notice. It cannot in this program: tests/abuse/walls-off.c takes the
 * place of walls.c in a program of the tests, which is built with -Dwalls_off=true only.
 *
 *	if (!wall_is_off("landlock"))
 *		r = apply_landlock(p, report);
 */
#pragma once

#include <stdbool.h>

/* Whether a wall is switched off; of a kind of walls, this one (KIND.NAME) or all (KIND). */
bool wall_is_off(const char *name);
bool wall_is_off_of(const char *kind, const char *name);

/* What the host gives init to know, as an argument of its program; NULL: nothing. */
const char *wall_argument(void);

/* Init, first of all. */
void wall_take_argument(const char *argument);
