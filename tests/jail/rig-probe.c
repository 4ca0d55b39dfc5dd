/* Whether jails can be made here: by making one. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "rig.h"

enum { PROBE_LIMIT_MS = 10000, PROBE_ID_BASE = 0x70000000 };

struct ground {
	char path[4096];
	int top, fs, skel;
};

static int make_dirs(int dir, const char *const *names, size_t n, struct fault *f)
{
	for (size_t i = 0; i < n; i++)
		if (mkdirat(dir, names[i], 0755) < 0)
			return fault_set(f, FAULT_SYSTEM, errno, "make directory %s", names[i]);
	return 0;
}

/* What must be there to mount on; the jail runs nothing. */
static int make_ground(struct ground *g, uint32_t id_base, struct fault *f)
{
	static const char *const mine[] = { "fs", "skel" }, *const parts[] = { "up", "wk", "root", "low" },
		*const places[] = { "usr", "proc", "dev", "sys", "run", "run/sbx", "bin", "sbin", "lib",
			"lib64", "lib32", "libx32" };

	g->top = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->top < 0 || fchmod(g->top, 0755) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "open %s", g->path);
	int r = make_dirs(g->top, mine, array_size(mine), f);
	if (!r)
		r = file_open_dir(g->top, "fs", &g->fs, f);
	if (!r)
		r = file_open_dir(g->top, "skel", &g->skel, f);
	if (!r)
		r = make_dirs(g->fs, parts, array_size(parts), f);
	if (!r)
		r = make_dirs(g->skel, places, array_size(places), f);
	if (!r && id_base && (fchownat(g->fs, "up", id_base, id_base, 0) < 0 ||
			fchownat(g->fs, "wk", id_base, id_base, 0) < 0))
		r = fault_set(f, FAULT_SYSTEM, errno, "give up to the block of ids");
	return r;
}

/* Only what was made above and what an overlay leaves behind; empty directories all. */
static void remove_ground(struct ground *g)
{
	static const char *const names[] = { "fs/wk/work/incompat/volatile/dirty",
		"fs/wk/work/incompat/volatile", "fs/wk/work/incompat", "fs/wk/work", "fs/wk/index", "fs/wk",
		"fs/up", "fs/root", "fs/low", "fs", "skel/usr", "skel/proc", "skel/dev", "skel/sys",
		"skel/run/sbx", "skel/run", "skel/bin", "skel/sbin", "skel/lib", "skel/lib64", "skel/lib32",
		"skel/libx32", "skel" };
	static const char *const closed[] = { "fs/wk/work", "fs/wk/work/incompat",
		"fs/wk/work/incompat/volatile" };

	for (size_t i = 0; g->top >= 0 && i < array_size(closed); i++)
		if (fchmodat(g->top, closed[i], 0700, 0) < 0)
			break;
	for (size_t i = 0; g->top >= 0 && i < array_size(names); i++)
		if (unlinkat(g->top, names[i], AT_REMOVEDIR) < 0 && errno == ENOTDIR)
			unlinkat(g->top, names[i], 0);
	drop_fd(&g->fs);
	drop_fd(&g->skel);
	drop_fd(&g->top);
	rmdir(g->path);
}

static int await(struct jail *j, struct fault *f)
{
	int64_t end_ms = clock_now_ms() + PROBE_LIMIT_MS;
	struct pollfd p = { jail_fd(j), POLLIN, 0 };
	struct jail_event e;

	for (;;) {
		int64_t left_ms = end_ms - clock_now_ms();
		if (left_ms <= 0 || (poll(&p, 1, (int)left_ms) < 0 && errno != EINTR))
			return fault_set(f, FAULT_SYSTEM, ETIMEDOUT, "the jail does not get ready");
		int r = jail_read(j, &e, f);
		if (r < 0)
			return r;
		if (e.root_fd >= 0)
			close(e.root_fd);
		if (e.kind == JAIL_EVENT_SPARE) {
			jail_exec_free(e.exec);
			return 0;
		}
		if (e.kind == JAIL_EVENT_FAILED) {
			*f = e.fault;
			return -(int)f->kind;
		}
		if (e.kind == JAIL_EVENT_DEAD)
			return fault_set(f, FAULT_SYSTEM, 0, "init ended before the jail was ready");
	}
}

int rig_probe(struct fault *f)
{
	const char *tmp = getenv("TMPDIR");
	struct ground g = { .top = -1, .fs = -1, .skel = -1 };
	struct jail_spec s = { .id = "probe", .hostname = "probe", .shm_bytes = 65536,
		.id_base = geteuid() ? 0 : PROBE_ID_BASE };
	struct jail *j = NULL;

	snprintf(g.path, sizeof g.path, "%.4000s/sbx-probe-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(g.path))
		return fault_set(f, FAULT_SYSTEM, errno, "make a directory in %.100s", tmp ? tmp : "/tmp");
	int r = make_ground(&g, s.id_base, f);
	s.fs_fd = g.fs;
	s.skel_fd = g.skel;
	if (!r)
		r = jail_start(&s, &j, f);
	if (!r)
		r = jail_release(j, NULL, 0, -1, f);
	if (!r)
		r = await(j, f);
	jail_free(j);
	remove_ground(&g);
	return r;
}
