#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "sys/cgroup-inner.h"

/*
 * A group with processes in it may not hand controllers down (cgroup-v2.rst, "No Internal
 * Process Constraint"). So the session's group has the limits and no process; they live in its child
 * "base" and in one child for each exec-init. The same rule forbids making the session's
 * group below the caller's own one, unless that is the root: then it becomes its sibling,
 * below a parent that is delegated to the caller and already hands the controllers down.
 */

static const char *const names[CGROUP_CONTROLLERS] = {
	[CGROUP_CPU] = "cpu", [CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids",
};

/* How many parents are tried. Source: systemd.slice(5): a scope or service lies in a slice
 * (app.slice, session.slice), that below user@.service. */
enum { PARENTS_MAX = 3 };

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

/* Hands controllers down, each alone: one that is refused must not stop the others. The
 * errno of the last refusal, or 0. */
static int enable(int dir, uint32_t mask)
{
	int refused = 0;

	for (uint32_t c = 0; c < CGROUP_CONTROLLERS; c++) {
		char word[16];
		snprintf(word, sizeof word, "+%s", names[c]);
		int r = mask & 1u << c ? cgroup_write(dir, "cgroup.subtree_control", word) : 0;
		if (r)
			refused = -r;
	}
	return refused;
}

/* Moving a process needs write access to cgroup.procs of the common ancestor: the parent. */
static int may_move(int parent)
{
	return faccessat(parent, "cgroup.procs", W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

struct attempt {
	uint32_t got;
	int sysno; /* why not more */
};

/* Makes the session's group in a parent and sees which controllers it has. */
static struct attempt try_parent(struct cgroup *cg, const char *parent, uint32_t wanted, bool is_own)
{
	struct cgroup_dir *d = &cg->at[PLACE_V2];
	auto_fd int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = dir < 0 ? -errno : may_move(dir), refused = 0;
	auto_text struct text type = { 0 };

	if (r)
		return (struct attempt){ 0, -r };
	uint32_t have = read_controllers(dir, "cgroup.controllers") & wanted;
	uint32_t missing = have & ~read_controllers(dir, "cgroup.subtree_control");
	/* Only in the own group: what a slice of the user's manager hands down is not ours to
	 * change. */
	if (missing)
		refused = is_own ? enable(dir, missing) : EACCES;
	r = cgroup_dir_make(cg, parent, cg->name, d);
	if (r)
		return (struct attempt){ 0, -r };
	if (!cgroup_read_text(d->fd, "cgroup.type", &type) && type.data &&
		strncmp(type.data, "domain\n", 7))
		return (struct attempt){ 0, EOPNOTSUPP };
	return (struct attempt){ read_controllers(d->fd, "cgroup.controllers") & wanted,
		refused ? refused : ENOENT };
}

/* Makes the group in the nearest parent that gives the most controllers. */
static struct attempt choose_parent(struct cgroup *cg, uint32_t wanted, const char *own,
	const char *top)
{
	auto_free char *parent = mem_string(own), *best_parent = NULL;
	struct attempt best = { 0, ENOENT };

	for (int i = 0; i < PARENTS_MAX; i++) {
		struct attempt a = try_parent(cg, parent, wanted, i == 0);
		if (a.got == wanted)
			return a;
		cgroup_dir_drop(&cg->at[PLACE_V2]);
		/* The first reason is the one that concerns the own group. */
		if (i == 0)
			best.sysno = a.sysno;
		if (__builtin_popcount(a.got) > __builtin_popcount(best.got)) {
			best.got = a.got;
			free(best_parent);
			best_parent = mem_string(parent);
		}
		if (strlen(parent) <= strlen(top))
			break;
		*strrchr(parent, '/') = 0;
	}
	if (best_parent && try_parent(cg, best_parent, wanted, !strcmp(best_parent, own)).got == best.got)
		return best;
	cgroup_dir_drop(&cg->at[PLACE_V2]);
	return (struct attempt){ 0, best.sysno };
}

static int set_memory(struct cgroup *cg, int dir)
{
	uint64_t bytes = cg->limits.memory_bytes;
	int r;

	if (!bytes)
		return 0;
	r = cgroup_put(dir, "memory.max", bytes, cgroup_page_slack());
	if (r)
		return r;
	/* One process is the victim, not the group: contexts outlive a command. */
	cgroup_write(dir, "memory.oom.group", "0");
	r = cgroup_put(dir, "memory.swap.max", 0, 0);
	if (r == -ENOENT || r == -EACCES) {
		/* ENOENT: a kernel without swap, so nothing to limit. */
		if (r == -EACCES)
			snprintf(cg->why[CGROUP_MEMORY], CGROUP_WHY_MAX, "swap is not limited");
		return 0;
	}
	return r;
}

static int set_cpu(struct cgroup *cg, int dir)
{
	uint64_t milli = cg->limits.cpu_milli;
	unsigned period = milli < 10 ? CGROUP_LONG_PERIOD_US : CGROUP_PERIOD_US;
	auto_text struct text want = { 0 }, got = { 0 };
	int r;

	if (!milli)
		return 0;
	text_format(&want, "%llu %u\n", (unsigned long long)(milli * period / 1000), period);
	r = cgroup_write(dir, "cpu.max", want.data);
	if (!r)
		r = cgroup_read_text(dir, "cpu.max", &got);
	if (r)
		return r;
	return strcmp(text_string(&got), want.data) ? CGROUP_OTHER_VALUE : 0;
}

static int set_pids(struct cgroup *cg, int dir)
{
	return cg->limits.pids ? cgroup_put(dir, "pids.max", cg->limits.pids, 0) : 0;
}

static int (*const setters[CGROUP_CONTROLLERS])(struct cgroup *cg, int dir) = {
	[CGROUP_CPU] = set_cpu, [CGROUP_MEMORY] = set_memory, [CGROUP_PIDS] = set_pids,
};

static void give_up(struct cgroup *cg, uint32_t mask, int sysno, const char *step)
{
	for (uint32_t c = 0; c < CGROUP_CONTROLLERS; c++) {
		if (!(mask & 1u << c))
			continue;
		cgroup_none(cg, c, sysno, step);
		size_t n = strlen(cg->why[c]);
		if (sysno == EACCES || sysno == EBUSY)
			snprintf(cg->why[c] + n, CGROUP_WHY_MAX - n, "; try: systemd-run --user --scope");
	}
}

int cgroup_v2_make(struct cgroup *cg, uint32_t wanted, const char *own, const char *top)
{
	struct cgroup_dir *d = &cg->at[PLACE_V2];
	struct attempt a = choose_parent(cg, wanted, own, top);
	int r;

	give_up(cg, wanted & ~a.got, a.sysno, "make a group");
	if (!a.got)
		return 0;
	r = cgroup_dir_make(cg, d->path, "base", &cg->leaf);
	if (r) {
		cgroup_dir_drop(d);
		give_up(cg, a.got, -r, "make a group");
		return 0;
	}
	if (a.got & 1u << CGROUP_MEMORY)
		cg->has_children = !enable(d->fd, 1u << CGROUP_MEMORY);
	for (uint32_t c = 0; c < CGROUP_CONTROLLERS; c++) {
		if (!(a.got & 1u << c))
			continue;
		r = setters[c](cg, d->fd);
		if (r > 0)
			return r;
		if (r < 0)
			cgroup_none(cg, c, -r, "set the limit");
		else
			cg->version[c] = CGROUP_V2;
	}
	return 0;
}

static void read_memory(int dir, struct cgroup_usage *ret)
{
	ret->has_memory = !cgroup_read_u64(dir, "memory.current", &ret->memory_bytes) &&
		!cgroup_read_key(dir, "memory.events", "oom_kill", &ret->oom_kills);
	/* Since Linux 5.19; before it the best that is known is what is used now. */
	if (cgroup_read_u64(dir, "memory.peak", &ret->memory_peak_bytes))
		ret->memory_peak_bytes = ret->memory_bytes;
}

void cgroup_v2_read(struct cgroup *cg, struct cgroup_usage *ret)
{
	int dir = cg->at[PLACE_V2].fd;

	if (dir < 0)
		return;
	if (cg->version[CGROUP_MEMORY] == CGROUP_V2)
		read_memory(dir, ret);
	if (cg->version[CGROUP_PIDS] == CGROUP_V2) {
		ret->has_pids = !cgroup_read_u64(dir, "pids.current", &ret->pids) &&
			!cgroup_read_key(dir, "pids.events", "max", &ret->pids_denied);
		/* Since Linux 6.6. */
		cgroup_read_u64(dir, "pids.peak", &ret->pids_peak);
	}
	/* cpu.stat counts time in every group, with the controller or without. */
	if (!ret->has_cpu && !cgroup_read_key(dir, "cpu.stat", "usage_usec", &ret->cpu_us))
		ret->has_cpu = true;
}
