/* In the place of lib/jail/walls.c: SBX_TEST_WALLS_OFF has the names, with commas between. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/walls.h"

#define VARIABLE "SBX_TEST_WALLS_OFF"

static const char *taken;

const char *wall_argument(void)
{
	return getenv(VARIABLE);
}

void wall_take_argument(const char *argument)
{
	taken = argument;
}

bool wall_is_off(const char *name)
{
	const char *list = taken ? taken : wall_argument();
	size_t n = strlen(name);

	for (; list && *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, name, n) && (!list[n] || list[n] == ','))
			return true;
	return false;
}

bool wall_is_off_of(const char *kind, const char *name)
{
	char whole[128];

	snprintf(whole, sizeof whole, "%s.%s", kind, name);
	return wall_is_off(kind) || wall_is_off(whole);
}
