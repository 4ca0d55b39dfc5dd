#include <errno.h>
#include <stdio.h>

#include "sys/cgroup-inner.h"

/* Source: memory.rst of cgroup-v1. memsw must never be below the memory limit, so the memory
 * limit is written first: a new group has no memsw limit. */
static int set_memory(struct cgroup *cg, int dir)
{
	uint64_t bytes = cg->limits.memory_bytes, hierarchy = 0;
	int r;

	/* Always 1 since Linux 5.11. Before, a child of a group with 0 escapes its limit. */
	if (!cgroup_read_u64(dir, "memory.use_hierarchy", &hierarchy) && !hierarchy)
		cgroup_write(dir, "memory.use_hierarchy", "1");
	cg->has_children = cgroup_read_u64(dir, "memory.use_hierarchy", &hierarchy) || hierarchy;
	if (!bytes)
		return 0;
	r = cgroup_put(dir, "memory.limit_in_bytes", bytes, cgroup_page_slack());
	if (r)
		return r;
	r = cgroup_put(dir, "memory.memsw.limit_in_bytes", bytes, cgroup_page_slack());
	if (r == -ENOENT || r == -EACCES) {
		/* Without swap accounting the best is to ask for none; where even that is missing,
		 * it must be said. */
		if (cgroup_write(dir, "memory.swappiness", "0"))
			snprintf(cg->why[CGROUP_MEMORY], CGROUP_WHY_MAX, "swap is not limited");
		return 0;
	}
	return r;
}

static int set_cpu(struct cgroup *cg, int dir)
{
	uint64_t milli = cg->limits.cpu_milli;
	uint64_t period = milli < 10 ? CGROUP_LONG_PERIOD_US : CGROUP_PERIOD_US;
	int r;

	if (!milli)
		return 0;
	r = cgroup_put(dir, "cpu.cfs_period_us", period, 0);
	return r ? r : cgroup_put(dir, "cpu.cfs_quota_us", milli * period / 1000, 0);
}

static int set_pids(struct cgroup *cg, int dir)
{
	return cg->limits.pids ? cgroup_put(dir, "pids.max", cg->limits.pids, 0) : 0;
}

static const struct {
	enum cgroup_place place;
	int (*set)(struct cgroup *cg, int dir);
} makers[CGROUP_CONTROLLERS] = {
	[CGROUP_CPU] = { PLACE_CPU, set_cpu },
	[CGROUP_MEMORY] = { PLACE_MEMORY, set_memory },
	[CGROUP_PIDS] = { PLACE_PIDS, set_pids },
};

int cgroup_v1_make(struct cgroup *cg, enum cgroup_controller c, const char *own)
{
	struct cgroup_dir *d = &cg->at[makers[c].place];
	int r = cgroup_dir_make(cg, own, cg->name, d);

	if (r) {
		cgroup_none(cg, c, -r, "make a group");
		return 0;
	}
	r = makers[c].set(cg, d->fd);
	if (!r) {
		cg->version[c] = CGROUP_V1;
		return 0;
	}
	cgroup_dir_drop(d);
	if (c == CGROUP_MEMORY)
		cg->has_children = false;
	if (r < 0)
		cgroup_none(cg, c, -r, "set the limit");
	return r < 0 ? 0 : r;
}

static void read_memory(int dir, struct cgroup_usage *ret)
{
	ret->has_memory = !cgroup_read_u64(dir, "memory.usage_in_bytes", &ret->memory_bytes) &&
		!cgroup_read_u64(dir, "memory.max_usage_in_bytes", &ret->memory_peak_bytes) &&
		!cgroup_read_key(dir, "memory.oom_control", "oom_kill", &ret->oom_kills);
}

void cgroup_v1_read(struct cgroup *cg, struct cgroup_usage *ret)
{
	int memory = cg->at[PLACE_MEMORY].fd, pids = cg->at[PLACE_PIDS].fd;
	int cpu = cg->at[PLACE_CPU].fd;
	uint64_t ns;

	if (memory >= 0)
		read_memory(memory, ret);
	if (pids >= 0) {
		ret->has_pids = !cgroup_read_u64(pids, "pids.current", &ret->pids) &&
			!cgroup_read_key(pids, "pids.events", "max", &ret->pids_denied);
		/* Since Linux 6.5. */
		cgroup_read_u64(pids, "pids.peak", &ret->pids_peak);
	}
	/* Where it is mounted together with cpu, as usual; a group of its own costs too much. */
	if (cpu >= 0 && !cgroup_read_u64(cpu, "cpuacct.usage", &ns)) {
		ret->cpu_us = ns / 1000;
		ret->has_cpu = true;
	}
}
