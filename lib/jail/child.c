#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "jail/builtin.h"
#include "base/limits.h"
#include "jail/child.h"
#include "jail/walls.h"
#include "jail/weak.h"
#include "sys/caps.h"
#include "sys/kernel.h"

/* Where execvp(3) looks without a PATH. */
#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

static int open_plain(const char *path, int flags)
{
	struct kernel_open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = wall_is_off("magic_links") ? 0 : KERNEL_RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static bool fail(struct child *c, const char *stage, int sysno)
{
	c->sysno = sysno;
	c->stage = stage;
	return false;
}

/* Both limits, and never above what is there. */
static bool lower(int which, uint64_t want)
{
	struct rlimit now;

	if (!want)
		return true;
	if (getrlimit(which, &now) < 0)
		return false;
	if (now.rlim_max == RLIM_INFINITY || now.rlim_max > want)
		now.rlim_max = want;
	now.rlim_cur = now.rlim_max;
	return !setrlimit(which, &now);
}

/* At its soft limit a process gets SIGXCPU, which says why it ended; at its hard limit, a
 * second later, SIGKILL, which it cannot ignore. Where both are the same there is only the
 * SIGKILL. Source: setrlimit(2). */
static bool lower_cpu(uint64_t want_s)
{
	struct rlimit now;

	if (!want_s)
		return true;
	if (!lower(RLIMIT_CPU, want_s + 1) || getrlimit(RLIMIT_CPU, &now) < 0)
		return false;
	if (now.rlim_cur > want_s)
		now.rlim_cur = want_s;
	return !setrlimit(RLIMIT_CPU, &now);
}

static bool set_limits(struct child *c)
{
	const struct jail_rlimits *l = &c->command->rlimits;

	/* These count for the creator of the user namespace, too: a share of what is usual. A
	 * caller that has less keeps it. Source: user_namespaces(7), getrlimit(2). */
	lower(RLIMIT_SIGPENDING, 4096);
	lower(RLIMIT_MSGQUEUE, 819200);
	lower(RLIMIT_MEMLOCK, 8 * MIB);
	if (lower(RLIMIT_NPROC, l->nproc) && lower(RLIMIT_NOFILE, l->nofile) &&
		lower(RLIMIT_FSIZE, l->fsize_bytes) && lower(RLIMIT_DATA, l->data_bytes) &&
		lower_cpu(l->cpu_s))
		return true;
	return fail(c, "rlimit", errno);
}

static bool set_ids(struct child *c)
{
	long gid = c->command->gid, uid = c->command->uid;

	/* Raw: the library's functions would tell other threads, on memory that is not ours. */
	if (c->has_ids && syscall(SYS_setgroups, 0, NULL) < 0)
		return fail(c, "ids", errno);
	/* Without any namespace an ordinary user stays who he is. */
	bool may_change = c->has_ids || c->landlock < 0;
	if (may_change && (syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0))
		return fail(c, "ids", errno);
	int r = wall_is_off("caps") ? 0 : caps_set(0, 0, 0);
	return !r || fail(c, "ids", -r);
}

/* As the payload, and not through /proc/PID/cwd and the like, which lead anywhere
 * (CVE-2024-21626). */
static bool set_cwd(struct child *c)
{
	int fd = open_plain(c->command->cwd, O_PATH | O_DIRECTORY);

	if (fd < 0 || fchdir(fd) < 0)
		return fail(c, "cwd", errno);
	close(fd);
	if (syscall(SYS_getcwd, c->path, sizeof c->path) < 0 || c->path[0] != '/')
		return fail(c, "cwd", errno ? errno : ENOENT);
	return true;
}

static bool set_terminal(struct child *c)
{
	if (setsid() < 0)
		return fail(c, "session", errno);
	if (c->tty >= 0 && ioctl(c->tty, TIOCSCTTY, 0) < 0)
		return fail(c, "pty", errno);
	return true;
}

static bool set_descriptors(struct child *c)
{
	const struct jail_command *m = c->command;
	int n = (int)m->n_fds < 3 ? 3 : (int)m->n_fds;

	for (int i = 0; i < n; i++) {
		int fd = i < (int)m->n_fds ? m->fds[i] : -1;
		if (c->tty >= 0 && i < 3)
			fd = c->tty;
		if (dup2(fd < 0 ? c->null : fd, i) < 0)
			return fail(c, "descriptors", errno);
	}
	if (!wall_is_off("close_range") && syscall(SYS_close_range, (unsigned)n, ~0u, 0u) < 0)
		return fail(c, "descriptors", errno);
	if (wall_is_off("close_on_exec"))
		for (int fd = n; fd < 64; fd++)
			fcntl(fd, F_SETFD, 0);
	return true;
}

/* Why it could not be executed, as errno. Whoever looks at c->stage once the child is gone
 * from the shared memory finds none when the exec has succeeded. */
static int try_exec(struct child *c, const char *file)
{
	const struct jail_command *m = c->command;
	int fd = open_plain(file, O_PATH);

	/* /proc/PID/exe would be this very program. It is sealed; this is the better message. */
	if (fd < 0 && errno == ELOOP)
		return ELOOP;
	if (fd >= 0)
		close(fd);
	syscall(SYS_execve, file, m->argv, m->env);
	if (errno == ENOEXEC) {
		c->script[0] = (char *)"/bin/sh";
		c->script[1] = (char *)file;
		syscall(SYS_execve, c->script[0], c->script, m->env);
	}
	return errno;
}

static const char *search_path(char *const *env)
{
	for (; *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return PATH_DEFAULT;
}

/* As execvp(3): a directory of the list that has no such program is passed over, and what
 * may not be executed is remembered over what is not there. */
static int search(struct child *c, const char *file)
{
	const char *at = search_path(c->command->env), *end;
	size_t n_file = strlen(file);
	int result = ENOENT;

	for (;; at = end + 1) {
		end = strchrnul(at, ':');
		size_t n = (size_t)(end - at);
		if (n + n_file + 2 <= sizeof c->path) {
			memcpy(c->path, at, n);
			if (n)
				c->path[n++] = '/';
			memcpy(c->path + n, file, n_file + 1);
			int sysno = try_exec(c, c->path);
			if (sysno == EACCES)
				result = EACCES;
			else if (sysno != ENOENT && sysno != ENOTDIR)
				return sysno;
		}
		if (!*end)
			return result;
	}
}

/* Where the exec-init has no walls of its own; with it goes what it has started. */
static bool set_walls(struct child *c)
{
	if (c->landlock < 0)
		return true;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0ul, 0ul, 0ul) < 0)
		return fail(c, "walls", errno);
	int r = weak_confine(c->landlock, c->plan);
	return !r || fail(c, "walls", -r);
}

static bool become_payload(struct child *c)
{
	sigset_t none;

	sigemptyset(&none);
	return set_terminal(c) && set_limits(c) && set_ids(c) && set_cwd(c) && set_walls(c) &&
		set_descriptors(c) &&
		(!sigprocmask(SIG_SETMASK, &none, NULL) || fail(c, "signals", errno));
}

void child_prepare(struct child *c)
{
	size_t n = 0;

	while (c->command->argv[n])
		n++;
	c->script = mem_new_array(char *, n + 2);
	for (size_t i = 1; i < n; i++)
		c->script[i + 1] = c->command->argv[i];
	c->stage = NULL;
	c->sysno = 0;
}

/* A builtin runs on a copy of the memory, behind the same walls and with the same ids. The
 * end of its preparations closes the pipe, as an exec would. */
static pid_t start_builtin(struct child *c)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		fail(c, "fork", errno);
		return -1;
	}
	auto_fd int in = take_fd(&ends[0]);
	auto_fd int out = fcntl(ends[1], F_DUPFD_CLOEXEC, CHILD_FIRST_FD);
	close(ends[1]);
	pid_t pid = fork();
	if (!pid) {
		if (become_payload(c))
			_exit(builtin_run(c->command));
		const char *stage = c->stage;
		int n = snprintf(c->path, sizeof c->path, "%d %s", c->sysno, stage);
		_exit(write(out, c->path, (size_t)n) == n ? 127 : 126);
	}
	int sysno = errno;
	drop_fd(&out);
	ssize_t n = pid < 0 ? 0 : read(in, c->path, sizeof c->path - 1);
	if (pid < 0 || n < 0) {
		fail(c, "fork", sysno);
	} else if (n) {
		char *stage;
		c->path[n] = 0;
		long v = strtol(c->path, &stage, 10);
		fail(c, stage + 1, (int)v);
	}
	return pid;
}

static int enter(void *arg)
{
	struct child *c = arg;
	const char *file = c->command->argv[0];

	if (become_payload(c)) {
		int sysno = !*file || strchr(file, '/') ? try_exec(c, file) : search(c, file);
		fail(c, "exec", sysno);
	}
	return 127;
}

pid_t child_start(struct child *c)
{
	static char stack[32 * 1024] __attribute__((aligned(16)));

	if (c->command->kind != JAIL_RUN)
		return start_builtin(c);
	/* As vfork(2), but with a stack of its own, so that nothing of ours is overwritten. */
	pid_t pid = clone(enter, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, c);
	if (pid < 0)
		fail(c, "fork", errno);
	return pid;
}
