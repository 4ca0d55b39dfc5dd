/* "unknown key 'memroy'; did you mean 'memory'?" */
#pragma once

#include <stddef.h>

/* The candidate nearest to word by edit distance, or NULL when none is near enough. */
const char *near_find(const char *word, const char *const *candidates, size_t n);
