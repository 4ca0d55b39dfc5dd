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
 * "base" and in one child for each exec-init. Where it lies: cgroup-v2-place.c.
 */

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
	for (uint32_t c = 0; c < CGROUP_CONTROLLERS; c++)
		if (mask & 1u << c)
			cgroup_none(cg, c, sysno, step);
}

int cgroup_v2_make(struct cgroup *cg, uint32_t wanted, const char *own, const char *top)
{
	struct cgroup_dir *d = &cg->at[PLACE_V2];
	int sysno = ENOENT, refused = 0, r;
	uint32_t got = cgroup_v2_place(cg, wanted, own, top, &sysno);

	give_up(cg, wanted & ~got, sysno, "make a group");
	if (!got)
		return 0;
	r = cgroup_dir_make(cg, d->path, "base", &cg->leaf);
	if (r) {
		cgroup_dir_drop(d);
		give_up(cg, got, -r, "make a group");
		return 0;
	}
	if (got & 1u << CGROUP_MEMORY)
		cg->has_children = cgroup_v2_enable(d->fd, 1u << CGROUP_MEMORY, &refused);
	for (uint32_t c = 0; c < CGROUP_CONTROLLERS; c++) {
		if (!(got & 1u << c))
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
