#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "session/changes-inner.h"
#include "session/watch.h"
#include "sys/proc.h"

/* A process has as many files of children as it has threads. */
enum { TASKS_MAX = 16384, LIST_BYTES = 65536, FDS_MAX = 65536 };

struct tree {
	pid_t pids[WATCH_TREE_MAX];
	uint32_t n, n_tasks;
	char list[LIST_BYTES];
};

/* Reads a small file of /proc; the number of bytes, or -1. */
static ssize_t read_proc(const char *path, char *buf, size_t room)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	while (fd >= 0 && n + 1 < room) {
		ssize_t r = read(fd, buf + n, room - 1 - n);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	buf[n] = 0;
	return fd < 0 ? -1 : (ssize_t)n;
}

static void add_children(struct tree *t, pid_t pid, const char *tid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, tid);
	if (t->n_tasks++ >= TASKS_MAX || read_proc(path, t->list, sizeof t->list) <= 0)
		return;
	for (char *p = t->list, *end; t->n < WATCH_TREE_MAX; p = end) {
		long child = strtol(p, &end, 10);
		if (end == p)
			return;
		t->pids[t->n++] = (pid_t)child;
	}
}

/* All processes of the tree, breadth first. */
static struct tree *tree_read(pid_t pid)
{
	struct tree *t = mem_new(struct tree);
	char path[32];

	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	if (pid > 0 && !access(path, F_OK))
		t->pids[t->n++] = pid;
	for (uint32_t i = 0; i < t->n; i++) {
		snprintf(path, sizeof path, "/proc/%d/task", (int)t->pids[i]);
		DIR *tasks = opendir(path);
		for (struct dirent *e; tasks && (e = readdir(tasks));)
			if (isdigit((unsigned char)e->d_name[0]))
				add_children(t, t->pids[i], e->d_name);
		if (tasks)
			closedir(tasks);
	}
	return t;
}

uint32_t watch_tree_count(pid_t pid, uint64_t *ret_newest_ticks)
{
	auto_free struct tree *t = tree_read(pid);

	*ret_newest_ticks = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		uint64_t ticks = proc_start_ticks(t->pids[i]);
		if (ticks > *ret_newest_ticks)
			*ret_newest_ticks = ticks;
	}
	return t->n;
}

/* [bytes] The process's part of what it shares: each page once over all of them. Memory of
 * files is the kernel's to take back, that of tmpfs and memfd is not. Source: proc(5),
 * smaps_rollup; Pss_Anon and Pss_Shmem since Linux 5.4. */
static bool read_share(pid_t pid, uint64_t *ret_bytes)
{
	static const char *const keys[] = { "\nPss_Anon:", "\nPss_Shmem:" };
	unsigned long long kib;
	char path[40], buf[2048];

	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
	if (read_proc(path, buf, sizeof buf) <= 0)
		return false;
	*ret_bytes = 0;
	for (size_t i = 0; i < array_size(keys); i++) {
		const char *at = strstr(buf, keys[i]);
		if (!at || sscanf(at + strlen(keys[i]), "%llu", &kib) != 1)
			return false;
		*ret_bytes += kib * 1024;
	}
	return true;
}

/* [bytes] Cheaper, and of private memory only. */
static uint64_t read_private(pid_t pid)
{
	unsigned long long size, resident, shared;
	char path[32], buf[128];

	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	if (read_proc(path, buf, sizeof buf) <= 0 ||
		sscanf(buf, "%llu %llu %llu", &size, &resident, &shared) != 3 || resident <= shared)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t watch_tree_rss(pid_t pid)
{
	auto_free struct tree *t = tree_read(pid);
	uint64_t sum = 0, share;

	for (uint32_t i = 0; i < t->n; i++)
		sum += read_share(t->pids[i], &share) ? share : read_private(t->pids[i]);
	return sum;
}

/* Clock ticks of a process and of the children that it has waited for. The name may have spaces
 * and brackets. Source: proc_pid_stat(5), fields 14 to 17. */
static uint64_t read_ticks(pid_t pid)
{
	unsigned long long user, system, waited_user, waited_system;
	char path[32], buf[1024];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	const char *p = read_proc(path, buf, sizeof buf) > 0 ? strrchr(buf, ')') : NULL;
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
			  &user, &system, &waited_user, &waited_system) != 4)
		return 0;
	return user + system + waited_user + waited_system;
}

uint64_t watch_tree_cpu_ms(pid_t pid)
{
	auto_free struct tree *t = tree_read(pid);
	uint64_t ticks = 0;

	for (uint32_t i = 0; i < t->n; i++)
		ticks += read_ticks(t->pids[i]);
	return ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

pid_t watch_child(pid_t pid)
{
	char path[64], buf[32];

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	if (pid <= 0 || read_proc(path, buf, sizeof buf) <= 0)
		return 0;
	return atoi(buf);
}

/* --- deleted files ---------------------------------------------------------------------------- */

static const char deleted_mark[] = " (deleted)";

/* Memory has no place on a disk, and a limit of its own. */
static bool is_memory(const char *link)
{
	return !strncmp(link, "/memfd:", 7) || !strncmp(link, "/dev/shm/", 9) ||
		!strncmp(link, "/SYSV", 5) || !strncmp(link, "/dev/zero", 9);
}

static uint64_t deleted_blocks(int fds, const char *name, struct ino_set *seen)
{
	char link[4096 + 32];
	ssize_t n = readlinkat(fds, name, link, sizeof link - 1);
	struct stat st;
	size_t n_mark = sizeof deleted_mark - 1;

	if (n < (ssize_t)n_mark || memcmp(link + n - n_mark, deleted_mark, n_mark) || is_memory(link))
		return 0;
	/* Through the magic link: it leads to the open file whatever its name says now. */
	if (fstatat(fds, name, &st, 0) < 0 || !S_ISREG(st.st_mode) || st.st_nlink)
		return 0;
	return ino_set_add(seen, st.st_ino ^ (uint64_t)st.st_dev << 40) ? (uint64_t)st.st_blocks : 0;
}

uint64_t watch_tree_deleted(pid_t pid)
{
	auto_free struct tree *t = tree_read(pid);
	struct ino_set seen = { 0 };
	uint64_t blocks = 0, n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		char path[32];
		snprintf(path, sizeof path, "/proc/%d/fd", (int)t->pids[i]);
		DIR *fds = opendir(path);
		if (!fds)
			continue;
		for (struct dirent *e; n < FDS_MAX && (e = readdir(fds)); n++)
			if (isdigit((unsigned char)e->d_name[0]))
				blocks += deleted_blocks(dirfd(fds), e->d_name, &seen);
		closedir(fds);
	}
	free(seen.slots);
	return blocks * 512;
}

/* --- one process ---------------------------------------------------------------------------------- */

static int open_children(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void watch_leader_open(struct watch_leader *l, pid_t init)
{
	char path[32];

	*l = (struct watch_leader){ .pid = watch_child(init), .init = init, .stat_fd = -1,
		.children_fd = -1, .init_children_fd = -1 };
	if (!l->pid || clock_getcpuclockid(l->pid, &l->clock) != 0) {
		l->pid = 0;
		return;
	}
	snprintf(path, sizeof path, "/proc/%d/stat", (int)l->pid);
	l->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	l->children_fd = open_children(l->pid);
	l->init_children_fd = open_children(init);
}

void watch_leader_close(struct watch_leader *l)
{
	if (!l->pid)
		return;
	drop_fd(&l->stat_fd);
	drop_fd(&l->children_fd);
	drop_fd(&l->init_children_fd);
	l->pid = 0;
}

/* At offset 0 the kernel makes the text anew. Source: seq_read_iter. */
static bool read_again(int fd, char *buf, size_t room)
{
	ssize_t n = pread(fd, buf, room - 1, 0);

	buf[n > 0 ? n : 0] = 0;
	return n >= 0;
}

/* Clock ticks of children that were waited for, and the number of threads. The name may have
 * spaces and brackets: fields are counted behind the last one. Source: proc_pid_stat(5), fields
 * 16, 17 and 20. */
static bool read_stat(int fd, uint64_t *ret_ticks, long *ret_threads)
{
	unsigned long long user, system;
	char buf[1024];

	const char *p = read_again(fd, buf, sizeof buf) ? strrchr(buf, ')') : NULL;
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu %*d %*d %ld",
			  &user, &system, ret_threads) != 3)
		return false;
	*ret_ticks = user + system;
	return true;
}

/* Whether there is the process alone below its init: mostly so, and told by two short reads. A
 * child of another thread is in that thread's own file. */
static bool is_alone(const struct watch_leader *l, long threads)
{
	char own[16], all[32], *end;

	if (threads != 1 || !read_again(l->children_fd, own, sizeof own) || own[0] ||
		!read_again(l->init_children_fd, all, sizeof all))
		return false;
	return strtol(all, &end, 10) == l->pid && !strcmp(end, " ");
}

/* Finer than the ticks of stat. */
int64_t watch_leader_cpu_us(const struct watch_leader *l)
{
	struct timespec now;

	if (!l->pid || clock_gettime(l->clock, &now) < 0)
		return 0;
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void watch_leader_look(const struct watch_leader *l, struct watch_look *ret)
{
	uint64_t ticks;
	long threads = 0;

	*ret = (struct watch_look){ 0 };
	if (!l->pid)
		return;
	ret->cpu_us = watch_leader_cpu_us(l);
	if (read_stat(l->stat_fd, &ticks, &threads))
		ret->waited_us = (int64_t)(ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	if (is_alone(l, threads))
		return;
	uint32_t n = watch_tree_count(l->init, &ret->newest_ticks);
	ret->children = n > 2 ? n - 2 : 0;
}

uint64_t watch_peak_rss(pid_t pid)
{
	char path[32], buf[4096];
	unsigned long long kib = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (pid <= 0 || read_proc(path, buf, sizeof buf) <= 0)
		return 0;
	const char *p = strstr(buf, "\nVmHWM:");
	return p && sscanf(p + 7, "%llu", &kib) == 1 ? kib * 1024 : 0;
}

bool watch_shm_is_empty(int root_fd)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, root_fd, "dev/shm", &how, sizeof how);
	bool is_empty = true;

	if (fd < 0)
		return errno == ENOENT;
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return false;
	}
	for (struct dirent *e; is_empty && (e = readdir(d));)
		is_empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	closedir(d);
	return is_empty;
}
