#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	case EDQUOT:
		return "the own group has limits that a group beside it would escape";
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
	cg->sysno[c] = sysno;
	snprintf(cg->why[c], sizeof cg->why[c], "%s: %s", step, reason(sysno));
}

/* --- what helps ----------------------------------------------------------------------- */

/* systemd gives an ordinary user groups through his own manager. Source: sd_booted(3). */
static bool has_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

/* What systemd would do, by hand: the files of cgroup-v2.rst, "Delegation Containment". */
static void fix_by_hand(const struct cgroup *cg, struct text *ret)
{
	unsigned uid = geteuid();

	text_format(ret, "as root: g=%s/u%u; echo '+cpu +memory +pids' >%s/cgroup.subtree_control; "
		"mkdir -p $g/main; chown %u $g $g/cgroup.procs $g/cgroup.subtree_control $g/main "
		"$g/main/cgroup.procs; echo PID-OF-YOUR-SHELL >$g/main/cgroup.procs",
		cg->top, uid, cg->top, uid);
}

/* v1 has no rule about inner processes: a group of one's own is enough. */
static void fix_v1(const char *own, struct text *ret)
{
	unsigned uid = geteuid();

	text_format(ret, "as root: g=%s/u%u; mkdir -p $g; chown %u $g $g/tasks $g/cgroup.procs; "
		"echo PID-OF-YOUR-SHELL >$g/cgroup.procs", own, uid, uid);
}

static void fix_v2(const struct cgroup *cg, int sysno, struct text *ret)
{
	bool is_root = geteuid() == 0;

	if (sysno == EROFS)
		text_format(ret, "%smount -o remount,rw %s", is_root ? "" : "as root: ", cg->top);
	else if (has_systemd())
		text_format(ret, "systemd-run %s--scope -p Delegate=yes " SBX_PROGRAM " ...", is_root ? "" : "--user ");
	else if (sysno == EBUSY || sysno == EDQUOT)
		text_format(ret, "put the processes into a group below: mkdir %s/main; "
			"while read p; do echo $p >%s/main/cgroup.procs; done <%s/cgroup.procs",
			cg->own, cg->own, cg->own);
	else if (!is_root && (sysno == EACCES || sysno == EPERM))
		fix_by_hand(cg, ret);
}

bool cgroup_fix(const struct cgroup *cg, enum cgroup_controller c, struct text *ret)
{
	int sysno = cg->sysno[c];
	bool is_foreign = geteuid() && (sysno == EACCES || sysno == EPERM);

	if (cg->version[c] != CGROUP_NONE || !sysno)
		return false;
	text_clear(ret);
	if (cg->own_v1[c] && is_foreign)
		fix_v1(cg->own_v1[c], ret);
	else if (!cg->own_v1[c] && cg->own)
		fix_v2(cg, sysno, ret);
	if (!ret->n)
		text_format(ret, "%smount the controller's cgroup hierarchy writable",
			geteuid() ? "have root " : "");
	return true;
}
