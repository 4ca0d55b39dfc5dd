/* What the files sys/cgroup*.c share. Nobody else includes it but their tests. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "sys/cgroup.h"

/* Where the world is looked at; a test gives a tree of its own. */
struct cgroup_host {
	const char *proc;                  /* "/proc": PROC/self/cgroup, PROC/self/mountinfo */
	int (*make_dir)(const char *path); /* 0, or -errno */
};

extern const struct cgroup_host cgroup_host_real;

enum cgroup_place {
	PLACE_MEMORY, PLACE_PIDS, PLACE_CPU, /* v1, each in its hierarchy */
	PLACE_V2,
	PLACES,
};

struct cgroup_dir {
	int fd; /* -1: not used */
	char *path;
};

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

enum { CGROUP_PREFIX_BYTES = 4, CGROUP_WHY_MAX = 200, CGROUP_CHILDREN_MAX = 1024 };
#define CGROUP_PREFIX "sbx-"

/* A child memory group. Its evidence is read often and late: the files stay open. */
struct cgroup_child {
	uint32_t number;
	int peak, kills; /* -1: not open yet */
};

struct cgroup {
	const struct cgroup_host *host;
	char name[CGROUP_PREFIX_BYTES + ID_TEXT];
	struct cgroup_limits limits;
	struct cgroup_dir at[PLACES];
	struct cgroup_dir leaf; /* v2: at[PLACE_V2]/base, where the processes are */
	enum cgroup_version version[CGROUP_CONTROLLERS];
	char why[CGROUP_CONTROLLERS][CGROUP_WHY_MAX];
	int sysno[CGROUP_CONTROLLERS]; /* behind it */
	char *own_v1[CGROUP_CONTROLLERS]; /* the caller's group where v1 has the controller, or NULL */
	char *own;              /* v2: the caller's group; NULL without the hierarchy */
	char *top;              /* v2: the mount point */
	bool has_children;      /* child memory groups can be made */
	struct cgroup_child children[CGROUP_CHILDREN_MAX];
	size_t n_children;
	uint64_t oom_kills_gone; /* counted in child groups that are removed by now */
};

/* [µs] Bandwidth periods. Source: sched-bwc.rst: a quota is at least 1 ms, a period at most 1 s,
 * so that shares below a hundredth need the long one. */
enum { CGROUP_PERIOD_US = 100000, CGROUP_LONG_PERIOD_US = 1000000 };

/* A value was written and another one read back. */
enum { CGROUP_OTHER_VALUE = 1 };

/* --- cgroup.c: files and directories of any version ------------------------------------ */

/* All: 0, or -errno. */
int cgroup_write(int dir, const char *name, const char *value);
int cgroup_read_text(int dir, const char *name, struct text *t);
int cgroup_read_u64(int dir, const char *name, uint64_t *ret); /* "max" is UINT64_MAX */

/* The number behind a key in a file of "key number" lines. */
int cgroup_read_key(int dir, const char *name, const char *key, uint64_t *ret);

/* The same of a file that is kept open; key NULL: the file is one number. */
int cgroup_reread(int fd, const char *key, uint64_t *ret);

/* Writes a number and reads it back; slack is how much less the kernel may keep. Returns
 * CGROUP_OTHER_VALUE when it kept something else. */
int cgroup_put(int dir, const char *name, uint64_t value, uint64_t slack);

/* parent/name made (a leftover of the same name is removed first) and opened. */
int cgroup_dir_make(struct cgroup *cg, const char *parent, const char *name, struct cgroup_dir *ret);
void cgroup_dir_close(struct cgroup_dir *d);

/* Removes the directory too. */
void cgroup_dir_drop(struct cgroup_dir *d);

uint64_t cgroup_page_slack(void);

/* --- cgroup-where.c ---------------------------------------------------------------------- */

/*
 * cgroup_where - finds the caller's own group in one hierarchy
 * @self:       content of /proc/self/cgroup
 * @mountinfo:  content of /proc/self/mountinfo
 * @controller: a v1 controller, or NULL for the v2 hierarchy
 * @ret_path:   its directory, malloc'd
 * @ret_top:    the mount point, malloc'd; may be NULL
 *
 * Returns: 0; -ENOENT no such hierarchy; -EXDEV the own group is outside what is mounted.
 * Source:  cgroups(7), proc_pid_mountinfo(5).
 */
int cgroup_where(const char *self, const char *mountinfo, const char *controller, char **ret_path,
	char **ret_top);

/* Whether path lies below a mounted cgroup hierarchy, without ".", "..", "//" in it. */
bool cgroup_is_below_mount(const char *mountinfo, const char *path);

/* --- one file a version ------------------------------------------------------------------ */

/* Makes what can be made of one v1 controller; 0 or CGROUP_OTHER_VALUE. */
int cgroup_v1_make(struct cgroup *cg, enum cgroup_controller c, const char *own);
void cgroup_v1_read(struct cgroup *cg, struct cgroup_usage *ret);

/* Makes the group with those of the wanted controllers that are there. */
int cgroup_v2_make(struct cgroup *cg, uint32_t wanted, const char *own, const char *top);
void cgroup_v2_read(struct cgroup *cg, struct cgroup_usage *ret);

/* Makes the session's group in the parent that gives the most controllers; which ones. @own and
 * @top are of cgroup_where; @ret_sysno is why not more. */
uint32_t cgroup_v2_place(struct cgroup *cg, uint32_t wanted, const char *own, const char *top,
	int *ret_sysno);

/* Hands controllers down, each alone: one that is refused must not stop the others. Those that
 * are; the errno of the last refusal is set where there was one. */
uint32_t cgroup_v2_enable(int dir, uint32_t mask, int *ret_refused);

/* Removes what has this name in any parent that cgroup_v2_place may have chosen; [ms]. */
void cgroup_v2_remove_name(const struct cgroup_host *h, const char *name, const char *own,
	const char *top, int64_t timeout_ms);

/* The controller is not in use, because of an errno at a step. */
void cgroup_none(struct cgroup *cg, enum cgroup_controller c, int sysno, const char *step);

/* --- cgroup-remove.c --------------------------------------------------------------------- */

/* Kills what is in a group and its children, and removes them; at most timeout_ms [ms]. */
int cgroup_remove_tree(const struct cgroup_host *h, const char *path, int64_t timeout_ms);

/* --- the same with a host that is given, for tests ---------------------------------------- */

/* Faults: as of cgroup_make. */
int cgroup_make_on(const struct cgroup_host *h, const char *id, const struct cgroup_limits *l,
	struct cgroup **ret, struct fault *f);

void cgroup_remove_id_on(const struct cgroup_host *h, const char *id);

/* Faults: as of cgroup_remove_paths. */
int cgroup_remove_paths_on(const struct cgroup_host *h, const char *paths, struct fault *f);
