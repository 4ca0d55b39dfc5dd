/* Names of sessions, executions, contexts and images: checked before a path is built. */
#pragma once

#include <stdbool.h>

enum { ID_MAX = 64, ID_TEXT = ID_MAX + 1 };

/* [a-z0-9][a-z0-9_.-]{0,63}, nothing else. */
bool id_is_valid(const char *s);

/* prefix and 26 digits of base 32: 130 random bits. Source of the bits: getrandom(2). */
void id_make(const char *prefix, char ret[ID_TEXT]);
