#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "sys/cgroup-inner.h"
#include "sys/proc.h"

/*
 * Below which group a session's group is made. A group with processes in it may not hand
 * controllers down (cgroup-v2.rst, "No Internal Process Constraint"), and the caller's own one has
 * at least the caller in it. So these are tried, and the first that gives everything is taken:
 *
 *	1. the own group, where it hands down already or may: the root of the hierarchy;
 *	2. one above it that is the caller's: the session's group becomes a sibling of the own one;
 *	3. the own group again, after its processes went into a child of it, if all are ours.
 *
 * 2 before 3, because each process that is moved costs 10 ms. A sibling escapes what limits the
 * own group has: where it has any, 2 is left out.
 */

/* How many parents are tried. Source: systemd.slice(5): a scope or service lies in a slice
 * (app.slice, session.slice), that below user@.service. */
enum { PARENTS_MAX = 3 };

/* Where our processes go in 3. A process may be born in the own group while others are moved. */
#define MAIN_NAME "sbx.main"
enum { MOVE_TRIES = 8 };

static const char *const names[CGROUP_CONTROLLERS] = {
	[CGROUP_CPU] = "cpu", [CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids",
};

static uint32_t read_controllers(int dir, const char *file)
{
	auto_text struct text t = { 0 };
	uint32_t found = 0;
	char *save = NULL;

	if (cgroup_read_text(dir, file, &t) || !t.data)
		return 0;
	for (char *w = strtok_r(t.data, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
		for (uint32_t c = 0; c < CGROUP_CONTROLLERS; c++)
			if (!strcmp(w, names[c]))
				found |= 1u << c;
	return found;
}

/* Memory first: where there are processes the kernel refuses it, but not cpu and pids. With those
 * handed down the group becomes the root of threaded ones, and each group below it is invalid.
 * Source: cgroup_vet_subtree_control_enable, Linux 6.1. */
uint32_t cgroup_v2_enable(int dir, uint32_t mask, int *ret_refused)
{
	static const enum cgroup_controller order[] = { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS };
	uint32_t done = 0;

	for (size_t i = 0; i < array_size(order) && *ret_refused != EBUSY; i++) {
		enum cgroup_controller c = order[i];
		char word[16];
		if (!(mask & 1u << c))
			continue;
		snprintf(word, sizeof word, "+%s", names[c]);
		int r = cgroup_write(dir, "cgroup.subtree_control", word);
		if (r)
			*ret_refused = -r;
		else
			done |= 1u << c;
	}
	return done;
}

/* Whether there are processes in a group that is not the root (which has no type). */
static bool is_occupied(int dir)
{
	auto_text struct text t = { 0 };

	return faccessat(dir, "cgroup.type", F_OK, 0) == 0 && !cgroup_read_text(dir, "cgroup.procs", &t) &&
		t.n > 0;
}

/* --- limits of the own group ------------------------------------------------------------ */

static bool is_max(int dir, const char *name)
{
	auto_text struct text t = { 0 };

	/* Without the controller, and in the root, there is no such file. */
	return cgroup_read_text(dir, name, &t) || !strncmp(text_string(&t), "max", 3) ||
		!*text_string(&t);
}

/* Whether a group has a limit that a session beside it would escape. systemd gives a limit of
 * tasks to every unit (DefaultTasksMax=, thousands): it counts only below the session's own. */
static bool is_limited(const struct cgroup *cg, int dir)
{
	uint64_t pids;
	bool fewer = !cgroup_read_u64(dir, "pids.max", &pids) && pids != UINT64_MAX &&
		(!cg->limits.pids || pids < cg->limits.pids);

	return fewer || !is_max(dir, "memory.max") || !is_max(dir, "memory.high") ||
		!is_max(dir, "cpu.max");
}

/* --- processes of the own group --------------------------------------------------------- */

/* This process, another of the same program, or a child of this one: its jail, which is to
 * enter the session's group in a moment. */
static bool is_ours(const struct cgroup_host *h, pid_t pid)
{
	char own[300], path[300];
	struct stat a, b;

	snprintf(own, sizeof own, "%s/self/exe", h->proc);
	snprintf(path, sizeof path, "%s/%d/exe", h->proc, (int)pid);
	if (pid == getpid() || proc_parent(pid) == getpid())
		return true;
	return !stat(own, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Moves all processes of a group into another one; 0, or -errno: EBUSY some are not ours. */
static int move_all(const struct cgroup_host *h, int from, int to, bool *ret_any)
{
	auto_text struct text t = { 0 };
	char *save = NULL;
	int r = cgroup_read_text(from, "cgroup.procs", &t);

	*ret_any = false;
	if (r || !t.data)
		return r;
	auto_free char *list = mem_string(t.data);
	for (char *w = strtok_r(t.data, "\n", &save); w; w = strtok_r(NULL, "\n", &save))
		/* 0 stands for a process of another pid namespace. */
		if (atoi(w) <= 0 || !is_ours(h, atoi(w)))
			return -EBUSY;
	for (char *w = strtok_r(list, "\n", &save); w && !r; w = strtok_r(NULL, "\n", &save)) {
		r = cgroup_write(to, "cgroup.procs", w);
		/* It has ended. */
		if (r == -ESRCH)
			r = 0;
		*ret_any = true;
	}
	return r;
}

/* Makes the own group one that may hand controllers down; what it handed down then. */
static uint32_t vacate(struct cgroup *cg, const char *own, int dir, uint32_t missing, int *ret_refused)
{
	auto_free char *path = mem_format("%s/" MAIN_NAME, own);
	int r = faccessat(dir, "cgroup.subtree_control", W_OK, AT_EACCESS) < 0 ? -errno : 0;
	uint32_t done = 0;
	bool any = true;

	if (!r)
		r = cg->host->make_dir(path);
	if (r && r != -EEXIST)
		return 0;
	auto_fd int to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	for (int i = 0; to >= 0 && any && i < MOVE_TRIES; i++) {
		r = move_all(cg->host, dir, to, &any);
		if (r)
			break;
		*ret_refused = 0;
		done |= cgroup_v2_enable(dir, missing & ~done, ret_refused);
		if (done == missing)
			break;
	}
	/* Nothing went into it. */
	if (!done)
		unlinkat(dir, MAIN_NAME, AT_REMOVEDIR);
	return done;
}

/* --- the choice ------------------------------------------------------------------------- */

struct attempt {
	uint32_t got;
	int sysno; /* why not more */
};

/* A slice is never delegated as such: its manager decides what it hands down, and takes back
 * what it did not decide. Source: systemd.resource-control(5), Delegate=. */
static bool is_slice(const char *path)
{
	size_t n = strlen(path), n_end = strlen(".slice");

	return n > n_end && !strcmp(path + n - n_end, ".slice");
}

/* Which of the wanted controllers a group below this one would have. */
static struct attempt ask_parent(struct cgroup *cg, const char *parent, uint32_t wanted, bool is_own,
	bool vacate_it)
{
	auto_fd int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int refused = 0;

	/* Moving a process needs write access to cgroup.procs of the common ancestor: of this one. */
	if (dir < 0 || faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return (struct attempt){ 0, errno };
	uint32_t have = read_controllers(dir, "cgroup.controllers") & wanted;
	uint32_t handed = have & read_controllers(dir, "cgroup.subtree_control");
	uint32_t missing = have & ~handed;
	if (!missing)
		;
	else if (!is_own && is_slice(parent))
		refused = EACCES;
	else if (vacate_it)
		handed |= vacate(cg, parent, dir, missing, &refused);
	else if (is_occupied(dir))
		refused = EBUSY;
	else
		handed |= cgroup_v2_enable(dir, missing, &refused);
	return (struct attempt){ handed, refused ? refused : ENOENT };
}

static struct attempt make_in(struct cgroup *cg, const char *parent, uint32_t wanted, int sysno)
{
	struct cgroup_dir *d = &cg->at[PLACE_V2];
	auto_text struct text type = { 0 };
	int r = cgroup_dir_make(cg, parent, cg->name, d);

	if (r)
		return (struct attempt){ 0, -r };
	if (!cgroup_read_text(d->fd, "cgroup.type", &type) && type.data && strncmp(type.data, "domain\n", 7)) {
		cgroup_dir_drop(d);
		return (struct attempt){ 0, EOPNOTSUPP };
	}
	uint32_t got = read_controllers(d->fd, "cgroup.controllers") & wanted;
	if (!got)
		cgroup_dir_drop(d);
	return (struct attempt){ got, sysno };
}

/* The groups above the own one; the nearest of those that give most. */
static struct attempt ask_above(struct cgroup *cg, uint32_t wanted, const char *own, const char *top,
	char **ret_parent)
{
	auto_free char *parent = mem_string(own);
	struct attempt best = { 0, ENOENT };

	for (int i = 1; i < PARENTS_MAX && strlen(parent) > strlen(top) && best.got != wanted; i++) {
		auto_fd int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (dir >= 0 && is_limited(cg, dir)) {
			best.sysno = EDQUOT;
			break;
		}
		*strrchr(parent, '/') = 0;
		struct attempt a = ask_parent(cg, parent, wanted, false, false);
		if (i == 1)
			best.sysno = a.sysno;
		if (__builtin_popcount(a.got) <= __builtin_popcount(best.got))
			continue;
		best.got = a.got;
		free(*ret_parent);
		*ret_parent = mem_string(parent);
	}
	return best;
}

uint32_t cgroup_v2_place(struct cgroup *cg, uint32_t wanted, const char *own, const char *top,
	int *ret_sysno)
{
	auto_free char *above = NULL;
	struct attempt at_own = ask_parent(cg, own, wanted, true, false), best = at_own;
	const char *parent = own;

	if (best.got != wanted) {
		struct attempt a = ask_above(cg, wanted, own, top, &above);
		if (__builtin_popcount(a.got) > __builtin_popcount(best.got)) {
			best.got = a.got;
			parent = above;
		}
		/* The own group's reason is the one to mend, but where its limits forbid what would do. */
		if (a.sysno == EDQUOT)
			best.sysno = EDQUOT;
	}
	if (best.got != wanted && at_own.sysno == EBUSY) {
		struct attempt a = ask_parent(cg, own, wanted, true, true);
		if (__builtin_popcount(a.got) > __builtin_popcount(best.got)) {
			best = a;
			parent = own;
		}
	}
	if (best.got)
		best = make_in(cg, parent, wanted, best.sysno);
	*ret_sysno = best.sysno;
	return best.got;
}

void cgroup_v2_remove_name(const struct cgroup_host *h, const char *name, const char *own,
	const char *top, int64_t timeout_ms)
{
	auto_free char *parent = mem_string(own);

	for (int i = 0; i < PARENTS_MAX; i++) {
		auto_free char *path = mem_format("%s/%s", parent, name);
		if (access(path, F_OK) == 0)
			cgroup_remove_tree(h, path, timeout_ms);
		if (strlen(parent) <= strlen(top))
			break;
		*strrchr(parent, '/') = 0;
	}
}
