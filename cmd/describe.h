/* One session as one JSON object: what create --json and show --json print. */
#pragma once

#include "base/text.h"
#include "store/store.h"

/* "live" or "dormant" (both are ready), "stopped", "expired" or "damaged". Whether it lives
 * is asked of its lock, not of its file, which a kill leaves as it was. */
const char *describe_status(const struct store_session *s);

/* {"schema":"sbx.session/1", id, name, status, live, class, runtime, limits with what enforces
 * each, times, paths, jail, contexts}; with_instructions adds the text for a model. */
void describe_session(const struct store_session *s, bool with_instructions, struct text *t);

/* What is to be said of a session of weak isolation; NULL of any other. */
const char *describe_weak(const struct store_session *s);

/* Of a session on a directory whose files have ids that do not exist inside. */
#define DESCRIBE_FOREIGN_IDS "files of the runtime's directory that belong to other ids are nobody's " \
	"inside and cannot be changed"

/* Of a session whose files are in memory. */
#define DESCRIBE_TMPFS "its files are in memory and gone when its processes end: it does not become " \
	"dormant by itself"
