/* Versions of interpreters: asked once, kept in HOME/runtimes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/text.h"

struct probe {
	int home;         /* directory with the file; -1: nothing is kept */
	bool loaded, changed;
	struct text kept; /* lines: path, inode, size, change time [ns], major, minor, patch */
};

/* The version of the program at an absolute path without links in it. False when it does
 * not answer within PROBE_LIMIT_MS or answers something else. */
bool probe_version(struct probe *p, const char *path, const struct stat *st, uint32_t ret[3]);

/* What names the program in a cache: all that changes when a package replaces it. */
enum { PROBE_KEY = 256 + 128 };
void probe_key(char key[PROBE_KEY], const char *path, const struct stat *st);

/* Runs a program of the host that is trusted, with a bare environment, for at most PROBE_LIMIT_MS.
 * in: its standard input; -1: none. How many bytes of its output were read [bytes]. */
size_t probe_ask(char *const argv[], int in, void *answer, size_t room);

/* Writes what was learnt (best effort: it can be asked again) and frees. */
void probe_done(struct probe *p);

/* [ms] An interpreter that needs longer to say its version is none that can be used here.
 * Source: python3 takes 10 ms cold, node 40. */
enum { PROBE_LIMIT_MS = 5000 };
