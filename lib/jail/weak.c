/*
 * The weak jail, inside. There are no namespaces: init and its exec-inits are processes of the
 * host, as subreapers; every program gets Landlock and a filter between fork and exec, so that
 * the exec-init is not in its Landlock domain and cannot be signalled by it (since ABI 6).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "jail/weak.h"
#include "sys/caps.h"
#include "sys/landlock.h"
#include "sys/seccomp.h"

/* Root's: become the payload, and kill it. An ordinary user has none. */
#define CAPS_WEAK (CAPS_KILL | CAPS_SETUID | CAPS_SETGID | CAPS_SETPCAP)

int weak_spaces(int fs, struct setup *s, struct fault *f)
{
	if (fchdir(fs) < 0)
		return setup_fail(f, -errno, "enter the session's fs", NULL);
	s->root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->root < 0)
		return setup_fail(f, -errno, "open the session's fs", NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1ul, 0ul, 0ul, 0ul) < 0)
		return setup_fail(f, -errno, "take in orphans", NULL);
	umask(022);
	setup_limit_core(&s->report);
	return 0;
}

/* The directory that holds the last part of path. */
static int open_parent(int root, const char *path, const char **ret_name)
{
	char part[64];
	auto_fd int at = fcntl(root, F_DUPFD_CLOEXEC, 3);

	for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		int next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		drop_fd(&at);
		at = next;
	}
	*ret_name = path;
	return at < 0 ? -errno : take_fd(&at);
}

static int make_directory(const struct setup *s, int parent, const char *name,
	const struct plan_op *op)
{
	uid_t owner = s->plan->id_base + JAIL_UID;

	/* From an earlier time, or what the payload has put there: it is its own place. */
	if (mkdirat(parent, name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	if (s->plan->id_base && op->flags & PLAN_PAYLOAD &&
		fchownat(parent, name, owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return fchmodat(parent, name, op->number, 0) < 0 ? -errno : 0;
}

static int make_file(int parent, const char *name, const struct plan_op *op)
{
	if (unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		return -errno;
	auto_fd int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0600);
	if (fd < 0)
		return -errno;
	int r = fd_write_all(fd, op->data, op->n);
	return !r && fchmod(fd, op->number) < 0 ? -errno : r;
}

int weak_run(const struct setup *s, const struct plan_op *op)
{
	const char *name;
	auto_fd int parent = open_parent(s->root, op->path, &name);

	if (parent < 0)
		return op->flags & PLAN_PAYLOAD ? 0 : parent;
	return op->kind == PLAN_FILE ? make_file(parent, name, op) :
		op->kind == PLAN_DIRECTORY ? make_directory(s, parent, name, op) : -EINVAL;
}

int weak_drop(struct fault *f)
{
	int r = 0;

	if (!geteuid()) {
		r = caps_drop_bounding();
		if (!r)
			r = caps_lock_securebits();
		if (!r)
			r = caps_clear_ambient();
		if (!r)
			r = caps_set(CAPS_WEAK, CAPS_WEAK, 0);
	}
	if (!r && prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) < 0)
		r = -errno;
	return r < 0 ? setup_fail(f, r, "give up what is not needed", NULL) : 0;
}

int weak_confine(int landlock, const struct plan *p)
{
	int r = landlock_apply(landlock);

	return r < 0 ? r : seccomp_apply(p->filter, p->n_filter);
}

/* What an exec-init promises has been done once before. */
static int try_walls(int landlock, const struct plan *p)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(-weak_confine(landlock, p));
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return pid < 0 ? -errno : WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int weak_walls(const struct plan *p, struct jail_report *report, int *ret_landlock, struct fault *f)
{
	int abi, r = 0;
	auto_fd int set = landlock_open_all(&abi);

	if (prctl(PR_SET_CHILD_SUBREAPER, 1ul, 0ul, 0ul, 0ul) < 0)
		return setup_fail(f, -errno, "take in orphans", NULL);
	/* The one wall that keeps it from files: without it there is no weak isolation. */
	if (set < 0) {
		fault_set(f, FAULT_DENIED, -set, "weak isolation needs Landlock");
		return -FAULT_DENIED;
	}
	for (uint32_t i = 0; i < p->n_rules && r >= 0; i++) {
		r = landlock_allow(set, abi, p->rules[i].path, p->rules[i].access);
		if (r == -ENOENT || r == -EACCES)
			r = 0;
	}
	if (r < 0)
		return setup_fail(f, r, "Landlock", NULL);
	r = try_walls(set, p);
	if (r < 0)
		return setup_fail(f, r, "Landlock and filter", NULL);
	report->landlock_abi = (char)abi;
	report->seccomp = 1;
	*ret_landlock = take_fd(&set);
	return 0;
}
