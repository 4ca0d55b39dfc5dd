/*
 * What a place allows, tried one by one in a throw-away child: what doctor prints before anybody
 * makes a session.
 *
 *	struct jail_place p[JAIL_PLACES_MAX];
 *	size_t n = jail_places(home_fd, p);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JAIL_PLACES_MAX = 24 };

struct jail_place {
	const char *key;
	bool held;          /* it can be done here */
	bool is_needed;     /* without it no session can be made; else one is weaker */
	bool was_tried;     /* false: something before it cannot be done */
	char observed[64];  /* for people: an errno or what is there */
	char fix[160];      /* cause and fix; "" where it is held, or nothing is known */
};

/*
 * jail_places - tries everything that a jail needs, and leaves nothing
 * @home:  the home directory: its file system is tried with three directories that go again
 * @ret:   as many as are returned
 *
 * Returns: how many.
 */
size_t jail_places(int home, struct jail_place ret[JAIL_PLACES_MAX]);
