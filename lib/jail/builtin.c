#include "jail/builtin.h"

int builtin_run(const struct jail_command *c)
{
	switch (c->kind) {
	case JAIL_FILES_GET:
		return files_get(c->argv);
	case JAIL_FILES_PUT:
		return files_put(c->argv);
	case JAIL_FILES_EMPTY:
		return files_empty(c->argv);
	case JAIL_PROBE:
		return probe_inside();
	default:
		return 127;
	}
}
