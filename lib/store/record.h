/* Directories of executions, digests, and what makes a request repeatable. */
#pragma once

#include <stddef.h>

#include "store/store.h"

/* Makes exec/ID of a session; opens it again. Faults: USAGE not an id; BUSY it is there already,
 * NOT_FOUND it is not; LIMIT no room; SYSTEM. */
int store_exec_make(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f);
int store_exec_open(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f);

/* --- made ahead --------------------------------------------------------------------------- */

/* How many are kept ready. Source: an execution needs a directory, its record and mostly one
 * stream; four in a row find them. */
enum { STORE_SPARE_DIRS = 4, STORE_SPARE_FILES = 8 };

enum store_spare { STORE_SPARE_DIR, STORE_SPARE_FILE, STORE_SPARE_KINDS };

/* Empty directories and files in spare/ of a session, for its supervisor. Zeroed: there are none. */
struct store_spares {
	int dir;        /* with is_open */
	uint32_t n[STORE_SPARE_KINDS];
	bool is_open;
	bool is_broken; /* no more could be made */
};

/* Makes one more; whether that would be of use. */
void store_spares_fill(struct store_spares *s, struct store_session *session);
bool store_spares_want(const struct store_spares *s);

/* As store_exec_make, open(2) with O_CREAT and O_TRUNC, and file_replace, with a spare inode where
 * there is one. spares may be NULL. Faults: as of those; the second: -1 and errno. */
int store_spare_exec(struct store_session *s, struct store_spares *spares, const char *exec_id,
	int *ret_dir, struct fault *f);
int store_spare_open(struct store_spares *s, int dir, const char *name);
int store_spare_replace(struct store_spares *s, int dir, const char *name, const void *p, size_t n,
	struct fault *f);

/* --- digests, requests --------------------------------------------------------------------- */

/* sha256 as 64 hex digits. */
enum { DIGEST_TEXT = 65 };
struct digest;
struct digest *digest_new(void);
void digest_add(struct digest *d, const void *p, size_t n);
struct digest *digest_end(struct digest *d, char ret[DIGEST_TEXT]); /* frees, returns NULL */

/* Request ids: requests/<sha256 of the id> holds the execution id and the digest of the body.
 * Finding gives 1, or 0 when there is none. Faults: SYSTEM; FORMAT the file is damaged. */
int store_request_find(struct store_session *s, const char *request_id, char ret_exec[ID_TEXT],
	char ret_body[DIGEST_TEXT], struct fault *f);
int store_request_note(struct store_session *s, const char *request_id, const char *exec_id,
	const char body[DIGEST_TEXT], struct fault *f);
