#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/tree.h"

/*
 * The child tells what it sees in records over a pipe: an entry with its name, "now the
 * entries of directory N come", and how it ended. Directories have numbers in the order in
 * which they were told; 0 is the top.
 */
enum record_kind { RECORD_ENTRY, RECORD_ENTER, RECORD_END };

struct record {
	uint32_t kind, n_name;
	uint32_t dir;      /* number; ENTRY: of a directory, its own; ENTER: the one entered */
	int32_t result;    /* END: 0, or an errno */
	bool opaque;
	struct tree_stat st;
};

enum { CHUNK_BYTES = 65536, DIRS_MAX = 4000000 };

/* --- the child ----------------------------------------------------------------------------- */

struct teller {
	int fd;
	uint32_t n_dirs;
	struct text out;
};

static void tell(struct teller *t, const struct record *r, const char *name)
{
	text_put_bytes(&t->out, r, sizeof *r);
	text_put_bytes(&t->out, name, r->n_name);
	if (t->out.n < CHUNK_BYTES && r->kind != RECORD_END)
		return;
	if (fd_write_all(t->fd, t->out.data, t->out.n) < 0)
		_exit(1);
	text_clear(&t->out);
}

static int tell_entry(void *arg, void *parent, const char *name, size_t n_name,
	const struct tree_stat *st, void **ret_node)
{
	struct teller *t = arg;
	struct record r;

	(void)parent;
	memset(&r, 0, sizeof r);
	r.kind = RECORD_ENTRY;
	r.n_name = (uint32_t)n_name;
	r.st = *st;
	if (S_ISDIR(st->mode)) {
		r.dir = ++t->n_dirs;
		*ret_node = (void *)(uintptr_t)r.dir;
	}
	tell(t, &r, name);
	return 0;
}

static void tell_enter(void *arg, void *node, bool opaque)
{
	struct record r;

	memset(&r, 0, sizeof r);
	r.kind = RECORD_ENTER;
	r.dir = (uint32_t)(uintptr_t)node;
	r.opaque = opaque;
	tell(arg, &r, "");
}

static int write_proc(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd_write_all(fd, text, strlen(text));
}

/* Capabilities over the caller's own files, and over nobody else's. Source:
 * user_namespaces(7): a process may map its own id alone once setgroups is denied. */
static int enter_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	r = write_proc("/proc/self/setgroups", "deny");
	/* The ids are the same inside: what is seen here is compared with what is seen outside. */
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	if (!r)
		r = write_proc("/proc/self/uid_map", map);
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	return r ? r : write_proc("/proc/self/gid_map", map);
}

static _Noreturn void child(int top_fd, int fd)
{
	struct teller t = { .fd = fd };
	struct tree_visitor v = { tell_entry, tell_enter, NULL, &t };
	struct record end;
	struct fault f = { 0 };
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(&end, 0, sizeof end);
	end.kind = RECORD_END;
	r = enter_namespace();
	if (!r) {
		r = tree_walk_here(top_fd, &v, &f);
		r = r == TREE_DENIED ? -EACCES : r < 0 ? (f.sysno ? -f.sysno : -ETIME) : 0;
	}
	end.result = -r;
	tell(&t, &end, "");
	_exit(0);
}

/* --- the parent ----------------------------------------------------------------------------- */

struct listener {
	const struct tree_visitor *v;
	void **nodes;      /* by number */
	size_t n, room;
	size_t current;    /* directory whose entries come */
	bool ended;
	int sysno;
};

static void add_node(struct listener *l, void *node)
{
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 256;
		l->nodes = mem_resized(l->nodes, l->room, sizeof *l->nodes);
	}
	l->nodes[l->n++] = node;
}

static bool is_name(const char *name, size_t n)
{
	return n && n <= NAME_MAX && !memchr(name, '/', n) && !memchr(name, 0, n) &&
		!(n == 1 && name[0] == '.') && !(n == 2 && name[0] == '.' && name[1] == '.');
}

/* 0, positive of the visitor, or -errno. */
static int take_record(struct listener *l, const struct record *r, const char *at)
{
	char name[NAME_MAX + 1];
	void *node = NULL;

	switch (r->kind) {
	case RECORD_ENTRY:
		if (!is_name(at, r->n_name))
			return -EBADMSG;
		memcpy(name, at, r->n_name);
		name[r->n_name] = 0;
		int v = l->v->entry(l->v->arg, l->nodes[l->current], name, r->n_name, &r->st, &node);
		if (v || !S_ISDIR(r->st.mode))
			return v;
		if (r->dir != l->n || l->n > DIRS_MAX)
			return -EBADMSG;
		add_node(l, node);
		return 0;
	case RECORD_ENTER:
		if (r->dir >= l->n)
			return -EBADMSG;
		l->current = r->dir;
		if (l->v->enter && l->nodes[r->dir])
			l->v->enter(l->v->arg, l->nodes[r->dir], r->opaque);
		return 0;
	case RECORD_END:
		l->ended = true;
		l->sysno = r->result;
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Takes the whole records at the front of in; what is left is moved there. */
static int take_records(struct listener *l, struct text *in)
{
	size_t at = 0;
	int v = 0;

	while (!v && !l->ended && in->n - at >= sizeof(struct record)) {
		struct record r;
		memcpy(&r, in->data + at, sizeof r);
		if (r.n_name > NAME_MAX)
			return -EBADMSG;
		if (in->n - at - sizeof r < r.n_name)
			break;
		v = take_record(l, &r, in->data + at + sizeof r);
		at += sizeof r + r.n_name;
	}
	if (at) {
		memmove(in->data, in->data + at, in->n - at);
		in->n -= at;
	}
	return v;
}

static int listen_to(int fd, struct listener *l)
{
	auto_text struct text in = { 0 };
	int64_t end = clock_now_ms() + TREE_WALK_MS + 1000;
	int r = 0;

	while (!r && !l->ended) {
		struct pollfd p = { fd, POLLIN, 0 };
		int64_t left = end - clock_now_ms();
		if (left <= 0)
			return -ETIME;
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return -errno;
		if (!p.revents)
			continue;
		ssize_t n = read(fd, text_reserve(&in, CHUNK_BYTES), CHUNK_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		text_grew(&in, (size_t)n);
		r = take_records(l, &in);
	}
	return r ? r : -l->sysno;
}

/* Bounded: a child that is stuck in a file system stays a zombie of ours. */
static void end_child(pid_t pid)
{
	auto_fd int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { pidfd, POLLIN, 0 };

	kill(pid, SIGKILL);
	if (pidfd >= 0)
		poll(&p, 1, REAP_LIMIT_MS);
	waitpid(pid, NULL, pidfd >= 0 ? WNOHANG : 0);
}

int tree_walk_apart(int top_fd, const struct tree_visitor *v, struct fault *f)
{
	struct listener l = { .v = v };
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "pipe");
	auto_fd int from = ends[0];
	pid_t pid = fork();
	if (pid < 0) {
		r = errno;
		close(ends[1]);
		return fault_set(f, FAULT_SYSTEM, r, "fork");
	}
	if (!pid)
		child(top_fd, ends[1]);
	close(ends[1]);
	add_node(&l, NULL);
	r = listen_to(from, &l);
	/* It has nothing more to say, or says it too slowly. */
	end_child(pid);
	free(l.nodes);
	if (r == -ETIME)
		return fault_set(f, FAULT_LIMIT, 0, "a tree is too large to read in %d ms", TREE_WALK_MS);
	return r < 0 ? fault_set(f, FAULT_SYSTEM, -r, "read a tree in a user namespace") : r;
}
