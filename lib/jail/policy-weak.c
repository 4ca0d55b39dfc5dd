/*
 * What a weak jail refuses more: whatever leads out of the session without a name that Landlock
 * sees, because there is no namespace of its own for it.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "jail/policy-inner.h"

/* Newer than the headers. Source: include/uapi of Linux 6.18. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat    463
#define SYS_removexattrat 466
#endif

#define IOPRIO_WHO_PROCESS 1

static const struct seccomp_rule weak_rules[] = {
	/* No network; and through a socket of the host's a bus, a container engine or an agent would
	 * do for the payload what it may not do itself. A pair leads nowhere, but a datagram socket
	 * of one can be connected again. */
	REFUSE(EPERM, socket),
	ALLOW_IF(socketpair, IS(0, AF_UNIX), MASKED(1, SOCK_KIND, SOCK_STREAM)),
	ALLOW_IF(socketpair, IS(0, AF_UNIX), MASKED(1, SOCK_KIND, SOCK_SEQPACKET)),
	REFUSE(EPERM, socketpair),
	/* The host's, by number or by a name that is no path. */
	REFUSE(ENOSYS, shmget),
	REFUSE(ENOSYS, shmat),
	REFUSE(ENOSYS, shmctl),
	REFUSE(ENOSYS, msgget),
	REFUSE(ENOSYS, msgsnd),
	REFUSE(ENOSYS, msgrcv),
	REFUSE(ENOSYS, msgctl),
	REFUSE(ENOSYS, semget),
	REFUSE(ENOSYS, semop),
	REFUSE(ENOSYS, semtimedop),
	REFUSE(ENOSYS, semctl),
	REFUSE(ENOSYS, mq_open),
	REFUSE(ENOSYS, mq_unlink),
	/* Of other processes: those of the same user are the host's. */
	REFUSE_IF(EPERM, prlimit64, IS(1, RLIMIT_CORE), GIVEN(2)),
	ALLOW_IF(prlimit64, IS(0, 0)),
	REFUSE_IF(EPERM, prlimit64, GIVEN(2)),
	ALLOW_IF(sched_setaffinity, IS(0, 0)),
	REFUSE(EPERM, sched_setaffinity),
	ALLOW_IF(sched_setscheduler, IS(0, 0)),
	REFUSE(EPERM, sched_setscheduler),
	ALLOW_IF(sched_setparam, IS(0, 0)),
	REFUSE(EPERM, sched_setparam),
	ALLOW_IF(sched_setattr, IS(0, 0)),
	REFUSE(EPERM, sched_setattr),
	ALLOW_IF(setpriority, IS(0, PRIO_PROCESS), IS(1, 0)),
	REFUSE(EPERM, setpriority),
	ALLOW_IF(ioprio_set, IS(0, IOPRIO_WHO_PROCESS), IS(1, 0)),
	REFUSE(EPERM, ioprio_set),
	/* It tells the names of what is made anywhere, and Landlock does not see it. */
	REFUSE(EACCES, inotify_add_watch),
};

/* Landlock does not see these either. Where the payload has the caller's own id it could change
 * the modes, times and attributes of all that is the caller's; by a descriptor, which it has of
 * its own files only, it may. */
static const struct seccomp_rule owner_rules[] = {
	REFUSE(EPERM, truncate),
	REFUSE(EPERM, fchmodat),
	REFUSE(EPERM, fchmodat2),
	REFUSE(EPERM, fchownat),
	REFUSE_IF(EPERM, utimensat, GIVEN(1)),
	REFUSE(EPERM, setxattr),
	REFUSE(EPERM, lsetxattr),
	REFUSE(EPERM, setxattrat),
	REFUSE(EPERM, removexattr),
	REFUSE(EPERM, lremovexattr),
	REFUSE(EPERM, removexattrat),
#ifdef SYS_chmod
	REFUSE(EPERM, chmod),
	REFUSE(EPERM, chown),
	REFUSE(EPERM, lchown),
	REFUSE(EPERM, utime),
	REFUSE(EPERM, utimes),
	REFUSE(EPERM, futimesat),
#endif
};

size_t policy_weak_rules(const struct policy *p, struct seccomp_rule *ret, size_t room)
{
	size_t n = p->is_weak ? array_size(weak_rules) : 0;
	size_t more = p->is_weak && p->is_owner ? array_size(owner_rules) : 0;

	assert(n + more <= room);
	memcpy(ret, weak_rules, n * sizeof *ret);
	memcpy(ret + n, owner_rules, more * sizeof *ret);
	return n + more;
}
