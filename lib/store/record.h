/* Directories of executions, digests, and what makes a request repeatable. */
#pragma once

#include <stddef.h>

#include "store/store.h"

/* Makes exec/ID of a session; opens it again. Faults: USAGE not an id; BUSY it is there already,
 * NOT_FOUND it is not; LIMIT no room; SYSTEM. */
int store_exec_make(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f);
int store_exec_open(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f);

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
