#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sys/cgroup-inner.h"

static const char *reason(int sysno)
{
	switch (sysno) {
	case EACCES:
	case EPERM:
		return "not delegated to this user";
	case EROFS:
		return "the control group file system is mounted read-only";
	case ENOENT:
		return "the kernel or the mount does not have it";
	case EXDEV:
		return "the own group lies outside what is mounted";
	case EBUSY:
		return "processes in the own group forbid controllers below it";
	case EOPNOTSUPP:
		return "the own group is threaded";
	case EAGAIN:
	case ENOSPC:
		return "too many groups";
	default:
		return strerror(sysno);
	}
}

void cgroup_none(struct cgroup *cg, enum cgroup_controller c, int sysno, const char *step)
{
	cg->version[c] = CGROUP_NONE;
	snprintf(cg->why[c], sizeof cg->why[c], "%s: %s", step, reason(sysno));
}
