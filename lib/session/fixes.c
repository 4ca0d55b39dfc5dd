#include "base/auto.h"
#include "base/id.h"
#include "base/limits.h"
#include "session/session.h"
#include "sys/cgroup.h"

/* Groups for nobody: what is in the way is known to whoever tries to make them. */
void session_limit_fixes(struct text ret[LIMIT_KINDS])
{
	const struct cgroup_limits some = { .cpu_milli = 1000, .memory_bytes = GIB, .pids = 100 };
	static const struct {
		enum limit_kind kind;
		enum cgroup_controller controller;
	} limits[] = { { LIMIT_CPU, CGROUP_CPU }, { LIMIT_MEMORY, CGROUP_MEMORY },
		{ LIMIT_PIDS, CGROUP_PIDS } };
	struct cgroup *cg = NULL;
	char id[ID_TEXT];
	struct fault f;

	id_make("doctor_", id);
	if (cgroup_make(id, &some, &cg, &f) < 0)
		return;
	for (size_t i = 0; i < array_size(limits); i++)
		cgroup_fix(cg, limits[i].controller, &ret[limits[i].kind]);
	cgroup_remove(cg);
}
