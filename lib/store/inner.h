/* What the files of this folder share; nothing outside includes it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "store/record.h"

/* Ids inside; with a home of id_base 0 everything on disk is the caller's own. */
enum { STORE_PAYLOAD_ID = 1000 };

/* A directory, mode exactly as given whatever the umask, opened. Faults: SYSTEM, BUSY it is
 * there already. */
int store_make_dir(int dir, const char *name, mode_t mode, int *ret_fd, struct fault *f);

/* As store_make_dir, not opened, given to an id unless that is (uid_t)-1. */
int store_make_owned_dir(int dir, const char *name, mode_t mode, uid_t owner, struct fault *f);

/* A new file with this content. Faults: SYSTEM. */
int store_put_file(int dir, const char *name, const void *p, size_t n, mode_t mode, struct fault *f);

/* ENOSPC and EDQUOT are LIMIT, all else is SYSTEM. */
enum fault_kind store_kind(int sysno);

/* names/NAME → id. 1: ret is the id; 0: there is no such name; negative failed. */
int store_name_find(struct store *st, const char *name, char ret[ID_TEXT], struct fault *f);

/* Takes the name, also from a session that is gone. Faults: BUSY another session has it. */
int store_name_take(struct store *st, const char *name, const char *id, struct fault *f);

/* Lets go of the name, if it is still this session's. */
void store_name_drop(struct store *st, const char *name, const char *id);

/* Lets go of whatever name points to id: the session's own file cannot tell. */
void store_name_drop_all(struct store *st, const char *id);

/* spec.json and status.json of a directory. Faults: SYSTEM, LIMIT; reading: NOT_FOUND,
 * FORMAT with the file's name. */
int store_spec_write(int dir, const struct session_spec *spec, struct fault *f);
int store_spec_read(int dir, struct session_spec *ret, struct fault *f);
int store_status_write_at(int dir, const struct session_status *status, struct fault *f);
int store_status_read_at(int dir, struct session_status *ret, struct fault *f);

/* Moves what is named into trash/ under a name of its own, where store_empty_trash finds
 * it. Faults: NOT_FOUND, SYSTEM. */
int store_trash(struct store *st, int dir, const char *name, const char *what, struct fault *f);

/*
 * store_tree_remove - deletes what is named, a file or a whole tree
 * @root:  directory on the same file system; what lies deep is moved up into it first
 * @ret_n: [count] += entries that are gone from where they were
 *
 * No link is followed, no mount is entered, whatever the modes; constant memory at any
 * depth. Returns 0 when the name is gone, 1 when something deep now lies in root.
 * Faults:  SYSTEM
 */
int store_tree_remove(int root, int dir, const char *name, uint64_t *ret_n, struct fault *f);

/* Copies what is in the list from the host's /etc. Faults: SYSTEM, LIMIT. */
int store_etc_copy(int etc, struct fault *f);

/* Feeds path, size and time of everything on that list into a digest. */
void store_etc_identify(struct digest *d);
