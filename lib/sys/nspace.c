#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/caps.h"
#include "sys/kernel.h"
#include "sys/nspace.h"

/* Raw calls on a stack of its own; nothing here may be interrupted by a handler. */
enum { STACK_BYTES = 64 * 1024 };

static int fail(struct nspace_program *p, const char *stage)
{
	p->stage = stage;
	p->sysno = errno;
	return 127;
}

/* Runs in the memory of the parent, which sleeps: it may change nothing but *arg. */
__attribute__((no_sanitize("address", "undefined"))) static int enter(void *arg)
{
	struct nspace_program *p = arg;
	char *env[] = { NULL };

	/* The ids are not mapped yet, so the exec takes this for an ordinary user's and would
	 * drop all capabilities but the ambient ones. */
	int r = p->is_plain ? 0 : caps_set(p->caps, p->caps, p->caps);
	if (!r && !p->is_plain)
		r = caps_raise_ambient(p->caps);
	if (r) {
		errno = -r;
		return fail(p, "capabilities");
	}
	if (dup2(p->stdio[0], 0) < 0 || dup2(p->stdio[1], 1) < 0 || dup3(p->image, 2, O_CLOEXEC) < 0)
		return fail(p, "descriptors");
	if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0)
		return fail(p, "close_range");
	syscall(SYS_execveat, 2, "", p->argv, env, AT_EMPTY_PATH);
	return fail(p, "exec");
}

pid_t nspace_start(struct nspace_program *p, int *ret_pidfd)
{
	sigset_t all, old;
	int pidfd = -1;
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return -errno;
	p->stage = NULL;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	int spaces = p->is_plain ? 0 : CLONE_NEWUSER | CLONE_NEWPID;
	pid_t pid = clone(enter, stack + STACK_BYTES,
		CLONE_VM | CLONE_VFORK | CLONE_PIDFD | spaces | SIGCHLD, p, &pidfd);
	if (pid < 0)
		p->sysno = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	munmap(stack, STACK_BYTES);
	if (pid < 0) {
		p->stage = "clone";
		return -p->sysno;
	}
	if (!p->stage) {
		*ret_pidfd = pidfd;
		return pid;
	}
	siginfo_t info;
	waitid(P_PID, (id_t)pid, &info, WEXITED | __WALL);
	close(pidfd);
	return -p->sysno;
}

pid_t nspace_fork(uint64_t flags, int *ret_pidfd)
{
	int pidfd = -1;

	if (ret_pidfd)
		flags |= CLONE_PIDFD;
	/* The place of the pidfd is the third argument on every architecture. */
	pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, &pidfd, 0, 0);
	if (pid < 0)
		return -errno;
	if (pid && ret_pidfd)
		*ret_pidfd = pidfd;
	return pid;
}

static int write_once(int dir, const char *name, const char *s)
{
	auto_fd int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	/* A map is taken in a single write(2) or not at all. */
	if (fd < 0 || write(fd, s, strlen(s)) < 0)
		return -errno;
	return 0;
}

int nspace_set_map(int proc, const struct nspace_map *map)
{
	char line[64];
	int r = map->count == 1 ? write_once(proc, "setgroups", "deny") : 0;

	if (r)
		return r;
	snprintf(line, sizeof line, "%u %u %u\n", map->inside, map->outside_gid, map->count);
	r = write_once(proc, "gid_map", line);
	if (r)
		return r;
	snprintf(line, sizeof line, "%u %u %u\n", map->inside, map->outside_uid, map->count);
	return write_once(proc, "uid_map", line);
}
