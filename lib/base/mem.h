/*
 * Small allocations. They print one line and abort when memory is out; whatever takes
 * its size from input is checked against base/limits.h before it comes here.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* A zeroed T, or an array of n of them. */
#define mem_new(T)          ((T *)mem_zeroed(1, sizeof(T)))
#define mem_new_array(T, n) ((T *)mem_zeroed((n), sizeof(T)))

void *mem_zeroed(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *mem_resized(void *p, size_t n, size_t size) __attribute__((returns_nonnull));

/* For a process whose messages come and go: memory that is given back to the kernel each time
 * would be zeroed each time. Nothing where the C library has no such choice. */
void mem_keep(void);

/* Gives the whole pages of n bytes back to the kernel; they read as zeros then. */
void mem_drop(const void *p, size_t n);

/* A copy of s; NULL gives NULL. */
char *mem_string(const char *s);

/* Frees a list that ends with NULL, and its strings; NULL is one, too. */
void mem_free_strings(char **list);

/* A copy of n bytes with a NUL behind them. */
char *mem_bytes(const void *p, size_t n) __attribute__((returns_nonnull));

char *mem_format(const char *format, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));
