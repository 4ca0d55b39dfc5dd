/*
 * What sessions are built on: interpreters of the host in /usr/bin and /usr/local/bin.
 *
 *	r = runtime_resolve(home_dir, "python:3", &rt, &f);
 *	rt.name "python:3.11", rt.path "/usr/bin/python3.11", rt.language "python"
 *
 * "python" and "python:3" take the newest that fits; "shell" is bash. A version is asked
 * from the interpreter itself, once: the answer is kept in HOME/runtimes by path, inode,
 * size and time of change, so a warm create starts no interpreter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/text.h"

struct runtime {
	char name[64];       /* "python:3.11", "node:20", "shell" */
	char language[16];   /* "python", "node", "shell" */
	char path[256];
	uint32_t version[3]; /* major, minor, patch */
};

/*
 * runtime_resolve - finds the interpreter for a name
 * @home:  directory descriptor of the home directory, for its cache; -1: none
 * @name:  LANGUAGE[:MAJOR[.MINOR[.PATCH]]]
 * @ret:   set on 0 only
 *
 * Returns: 0, or negative.
 * Faults:  USAGE      not such a name.
 *          NOT_FOUND  it is not here, or too old; the text lists what is.
 */
int runtime_resolve(int home, const char *name, struct runtime *ret, struct fault *f);

/* The newest interpreter of a language, for contexts in another language than the
 * session's. Faults: as above. */
int runtime_find_language(int home, const char *language, struct runtime *ret, struct fault *f);

/* Appends the names of all that is here, newest first, with separator between them. */
void runtime_list(int home, const char *separator, struct text *t);

/*
 * runtime_dir_open - opens a directory that is to be the root of sessions
 * @name:       its path; relative to the current directory
 * @home:       directory descriptor of the home directory, which it may not overlap; -1: none
 * @is_stored:  a path that this function has given; no link in it is followed
 * @ret_path:   absolute and without links, owned; may be NULL
 * @ret_fd:     to read it
 *
 * Nothing in it is opened or resolved.
 *
 * Returns: 0, or negative.
 * Faults:  NOT_FOUND  there is no such directory.
 *          DENIED     it is / or overlaps the home directory, something is mounted in it, or it
 *                     cannot be read.
 *          SYSTEM     anything else.
 */
int runtime_dir_open(const char *name, int home, bool is_stored, char **ret_path, int *ret_fd,
	struct fault *f);

/* Whether something below it has an owner or group without an id inside: n_ids 1: other than
 * the caller's own; else other than the ids 0 to n_ids - 1. The first 20000 entries are looked at. */
bool runtime_dir_has_foreign(int fd, uint32_t n_ids);

/* "python:3.11" → language and version; parts that are not given are -1. False when it is
 * no such name. */
bool runtime_parse_name(const char *name, char ret_language[16], int32_t ret_version[3]);

/* "Python 3.11.2", "v20.20.2", "GNU bash, version 5.2.15(1)-release (…)". */
bool runtime_parse_version(const char *answer, uint32_t ret_version[3]);
