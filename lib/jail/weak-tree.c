#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/mem.h"
#include "jail/weak-tree.h"
#include "sys/pidfd.h"
#include "sys/proc.h"

/* SWEEP_MS [ms]: what is still there then is stuck in the kernel. */
enum { PROCESSES_MAX = 1 << 16, DEPTH_MAX = 1 << 16, SWEEP_MS = 5000, PAUSE_MS = 1 };

struct process {
	pid_t pid, parent;
	uint64_t start_ticks;
	bool is_dead; /* a zombie: there is nothing to kill */
	enum { UNKNOWN, OURS, OTHERS } state;
};

struct tree {
	struct process *all;
	size_t n, room;
};

/* "812 (name) S 7 …": the name may have anything in it, so from its last ')'. */
static bool read_process(pid_t pid, struct process *ret)
{
	char path[32], text[512];
	char state;
	int parent;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %c %d", &state, &parent) != 2)
		return false;
	*ret = (struct process){ .pid = pid, .parent = (pid_t)parent,
		.is_dead = state == 'Z' || state == 'X',
		.start_ticks = proc_start_ticks(pid) };
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void add(struct tree *t, const struct process *p)
{
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		t->all = mem_resized(t->all, t->room, sizeof *t->all);
	}
	t->all[t->n++] = *p;
}

static struct process *find(const struct tree *t, pid_t pid)
{
	struct process key = { .pid = pid };

	return t->n ? bsearch(&key, t->all, t->n, sizeof *t->all, by_pid) : NULL;
}

/* Where hidepid of proc(5) keeps the others from us, our own children are told all the same; of
 * those below them each becomes one when its parent dies. */
static void add_hidden(struct tree *t)
{
	static char text[1 << 16];
	auto_fd int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	size_t n_seen = t->n;

	text[n > 0 ? n : 0] = 0;
	for (char *at = text, *end;; at = end) {
		struct process p = { .pid = (pid_t)strtol(at, &end, 10), .parent = getpid() };
		if (end == at)
			break;
		struct tree seen = { .all = t->all, .n = n_seen };
		if (!find(&seen, p.pid))
			add(t, &p);
	}
}

static void read_tree(struct tree *t)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	struct process p;

	*t = (struct tree){ 0 };
	while (d && (e = readdir(d)) && t->n < PROCESSES_MAX) {
		long pid = strtol(e->d_name, NULL, 10);
		if (pid > 0 && read_process((pid_t)pid, &p))
			add(t, &p);
	}
	if (d)
		closedir(d);
	if (t->n)
		qsort(t->all, t->n, sizeof *t->all, by_pid);
	add_hidden(t);
	if (t->n)
		qsort(t->all, t->n, sizeof *t->all, by_pid);
}

static bool is_kept(pid_t pid, const pid_t *kept, size_t n_kept)
{
	for (size_t i = 0; i < n_kept; i++)
		if (kept[i] == pid)
			return true;
	return false;
}

/* Up to the first ancestor whose place is known; the way there is remembered. */
static void place(const struct tree *t, struct process *p, const pid_t *kept, size_t n_kept)
{
	pid_t self = getpid();
	struct process *at = p;
	int state = UNKNOWN;

	for (int depth = 0; state == UNKNOWN && depth < DEPTH_MAX; depth++) {
		if (!at || is_kept(at->pid, kept, n_kept) || at->pid == self)
			state = OTHERS;
		else if (at->parent == self)
			state = OURS;
		else if (at->state != UNKNOWN)
			state = (int)at->state;
		else
			at = find(t, at->parent);
	}
	for (at = p; at && at->state == UNKNOWN; at = find(t, at->parent)) {
		at->state = state == OURS ? OURS : OTHERS;
		if (at->parent == self || is_kept(at->pid, kept, n_kept))
			break;
	}
}

/* A number can have been given to somebody else since it was read; a descriptor cannot. */
static void signal_one(const struct process *p, int signal)
{
	auto_fd int fd = pidfd_find(p->pid);

	if (fd < 0 && errno == ESRCH)
		return;
	if (proc_start_ticks(p->pid) != p->start_ticks)
		return;
	if (fd < 0)
		kill(p->pid, signal);
	else
		pidfd_kill(fd, signal);
}

uint32_t weak_tree_signal(int signal, uint64_t since_ticks, const pid_t *kept, size_t n_kept)
{
	struct tree t;
	uint32_t n = 0;

	read_tree(&t);
	for (size_t i = 0; i < t.n; i++) {
		struct process *p = &t.all[i];
		place(&t, p, kept, n_kept);
		if (p->state != OURS || p->is_dead || p->start_ticks <= since_ticks)
			continue;
		signal_one(p, signal);
		n++;
	}
	free(t.all);
	return n;
}

uint32_t weak_tree_sweep(void)
{
	int64_t end_ms = clock_now_ms() + SWEEP_MS;
	uint32_t n = 0;
	int status;

	/* A fork that is under way sees the signal and fails; who has forked before is found in the
	 * next round, as a child of ours. */
	while (clock_now_ms() < end_ms) {
		pid_t pid;
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			n += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		if (pid < 0 && errno == ECHILD)
			break;
		weak_tree_signal(SIGKILL, 0, NULL, 0);
		nanosleep(&(struct timespec){ 0, PAUSE_MS * 1000000L }, NULL);
	}
	return n;
}
