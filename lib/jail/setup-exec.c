#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "jail/mounts.h"
#include "jail/setup.h"
#include "jail/walls.h"
#include "sys/caps.h"
#include "sys/landlock.h"
#include "sys/seccomp.h"

/* All that an exec-init does from here on: become the payload, and kill. */
#define CAPS_LEFT (CAPS_KILL | CAPS_SETUID | CAPS_SETGID | CAPS_SETPCAP)

/* Where there is none, or only a part, the report says so; the mounts are the wall. */
static int apply_landlock(const struct plan *p, struct jail_report *report)
{
	int abi;
	auto_fd int set = landlock_open(&abi);

	if (wall_is_off("landlock"))
		return 0;
	if (set < 0) {
		report->landlock_errno = -set;
		return 0;
	}
	for (uint32_t i = 0; i < p->n_rules; i++) {
		int r = landlock_allow(set, abi, p->rules[i].path, p->rules[i].access);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	int r = landlock_apply(set);
	if (!r)
		report->landlock_abi = (char)abi;
	return r;
}

/* Without no_new_privs only CAP_SYS_ADMIN lets a process shut itself in. */
static int drop_caps(void)
{
	uint64_t left = CAPS_LEFT | (wall_is_off("no_new_privs") ? CAPS_SYS_ADMIN : 0);
	int r = caps_clear_ambient();

	return r ? r : caps_set(left, left, 0);
}

int setup_exec(const struct plan *p, struct jail_report *report, struct fault *f)
{
	const struct plan_op *op = NULL;
	int r = mounts_run_proc(p, &op);

	if (r < 0)
		return setup_fail(f, r, "mount proc", op ? op->path : "");
	report->proc_masked = 1;
	r = wall_is_off("securebits") ? 0 : caps_lock_securebits();
	if (!r && !wall_is_off("caps"))
		r = drop_caps();
	if (r < 0)
		return setup_fail(f, r, "drop capabilities", NULL);
	if (!wall_is_off("no_new_privs") && prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) < 0)
		return setup_fail(f, -errno, "no_new_privs", NULL);
	r = apply_landlock(p, report);
	if (r < 0)
		return setup_fail(f, r, "Landlock", NULL);
	r = wall_is_off("seccomp") ? 0 : seccomp_apply(p->filter, p->n_filter);
	if (r < 0)
		return setup_fail(f, r, "system call filter", NULL);
	report->seccomp = 1;
	return 0;
}
