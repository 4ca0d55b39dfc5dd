#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sys/cgroup-inner.h"
#include "sys/pidfd.h"

/* Deeper groups are nobody's but a payload's with delegation, which it never gets. */
enum { DEPTH_MAX = 4, KILL_PATHS_MS = 1000, PAUSE_US = 1000 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A number read from cgroup.procs may belong to another process by now: it is held by
 * pidfd first, then asked where it is. */
static void kill_pid(const struct cgroup_host *h, pid_t pid, const char *name)
{
	auto_fd int pidfd = pidfd_find(pid);
	auto_text struct text t = { 0 };
	char path[300], mark[128];
	struct fault f;

	snprintf(path, sizeof path, "%s/%d/cgroup", h->proc, (int)pid);
	snprintf(mark, sizeof mark, "/%s", name);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (pidfd < 0 || fd < 0 || fd_read_to_end(fd, 65536, path, &t, &f) < 0)
		return;
	for (const char *p = t.data; p && (p = strstr(p, mark)); p++) {
		char after = p[strlen(mark)];
		if (after != '\n' && after != '/')
			continue;
		pidfd_kill(pidfd, SIGKILL);
		return;
	}
}

static void kill_group(const struct cgroup_host *h, int dir, const char *name)
{
	auto_text struct text t = { 0 };
	char *save = NULL;

	/* Linux 5.14, v2 only: with everything below, and without a race. */
	if (!cgroup_write(dir, "cgroup.kill", "1"))
		return;
	if (cgroup_read_text(dir, "cgroup.procs", &t) || !t.data)
		return;
	for (char *w = strtok_r(t.data, "\n", &save); w; w = strtok_r(NULL, "\n", &save)) {
		int pid = atoi(w);
		/* 0 stands for a process of another pid namespace. */
		if (pid > 1 && pid != getpid())
			kill_pid(h, pid, name);
	}
}

/* One try over a group and what is below. 0, or -errno of the last step that failed. */
static int remove_once(const struct cgroup_host *h, int parent, const char *name, const char *mark,
	int depth)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = dir < 0 ? NULL : fdopendir(dir);

	if (!list) {
		int r = -errno;
		if (dir >= 0)
			close(dir);
		return r == -ENOENT ? 0 : r;
	}
	kill_group(h, dir, mark);
	for (struct dirent *e; (e = readdir(list));)
		if (e->d_type == DT_DIR && e->d_name[0] != '.' && depth < DEPTH_MAX)
			remove_once(h, dir, e->d_name, mark, depth + 1);
	closedir(list);
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

int cgroup_remove_tree(const struct cgroup_host *h, const char *path, int64_t timeout_ms)
{
	int64_t end = clock_now_ms() + timeout_ms;
	int r;

	/* EBUSY: a process that was killed has not been reaped yet, or a dying one still counts. */
	while ((r = remove_once(h, AT_FDCWD, path, base_name(path), 0)) == -EBUSY &&
		clock_now_ms() < end)
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_US * 1000L }, NULL);
	return r;
}

static int remove_path(const struct cgroup_host *h, const char *mountinfo, const char *path,
	struct fault *f)
{
	const char *name = base_name(path);

	if (strncmp(name, CGROUP_PREFIX, CGROUP_PREFIX_BYTES) || !name[CGROUP_PREFIX_BYTES] ||
		strlen(name) > CGROUP_PREFIX_BYTES + ID_MAX || !cgroup_is_below_mount(mountinfo, path))
		return fault_set(f, FAULT_FORMAT, 0, "'%s' is no control group of a session", path);
	int r = cgroup_remove_tree(h, path, KILL_PATHS_MS);
	return r ? fault_set(f, FAULT_SYSTEM, -r, "remove control group %s", path) : 0;
}

int cgroup_remove_paths_on(const struct cgroup_host *h, const char *paths, struct fault *f)
{
	auto_free char *copy = mem_string(paths);
	auto_text struct text mountinfo = { 0 };
	auto_fd int proc = open(h->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *save = NULL;
	int r;

	if (!copy || !*copy)
		return 0;
	r = proc < 0 ? -errno : cgroup_read_text(proc, "self/mountinfo", &mountinfo);
	if (r)
		return fault_set(f, FAULT_SYSTEM, -r, "read mountinfo");
	r = 0;
	/* All are tried; the first failure is told. */
	for (char *p = strtok_r(copy, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		struct fault here;
		if (remove_path(h, text_string(&mountinfo), p, &here) < 0 && !r) {
			*f = here;
			r = -(int)here.kind;
		}
	}
	return r;
}

int cgroup_remove_paths(const char *paths, struct fault *f)
{
	return cgroup_remove_paths_on(&cgroup_host_real, paths, f);
}

void cgroup_remove_id_on(const struct cgroup_host *h, const char *id)
{
	static const char *const v1_names[] = { "cpu", "memory", "pids" };
	auto_text struct text self = { 0 }, mountinfo = { 0 };
	auto_fd int proc = open(h->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *name = mem_format(CGROUP_PREFIX "%s", id);

	if (!id_is_valid(id) || proc < 0 || cgroup_read_text(proc, "self/cgroup", &self) ||
		cgroup_read_text(proc, "self/mountinfo", &mountinfo))
		return;
	const char *groups = text_string(&self), *mounts = text_string(&mountinfo);
	for (size_t i = 0; i < array_size(v1_names); i++) {
		auto_free char *own = NULL;
		if (cgroup_where(groups, mounts, v1_names[i], &own, NULL))
			continue;
		auto_free char *path = mem_format("%s/%s", own, name);
		if (access(path, F_OK) == 0)
			cgroup_remove_tree(h, path, KILL_PATHS_MS);
	}
	auto_free char *own = NULL, *top = NULL;
	if (!cgroup_where(groups, mounts, NULL, &own, &top))
		cgroup_v2_remove_name(h, name, own, top, KILL_PATHS_MS);
}

void cgroup_remove_id(const char *id)
{
	cgroup_remove_id_on(&cgroup_host_real, id);
}
