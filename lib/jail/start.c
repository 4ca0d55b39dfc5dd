#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "jail/host.h"
#include "jail/plan.h"
#include "jail/walls.h"
#include "jail/wire.h"
#include "sys/caps.h"
#include "sys/kernel.h"
#include "sys/mnt.h"
#include "sys/nspace.h"
#include "sys/pidfd.h"

/* What set-up needs, in the new user namespace. The overlay acts for the payload with those
 * that its mounter had: without FOWNER nobody can chmod or touch -d a file of his own, without
 * FSETID chmod g+s is lost. */
#define CAPS_SETUP (CAPS_CHOWN | CAPS_DAC_OVERRIDE | CAPS_FOWNER | CAPS_FSETID | CAPS_KILL | \
	CAPS_SETGID | CAPS_SETUID | CAPS_SETPCAP | CAPS_NET_ADMIN | CAPS_SYS_ADMIN | \
	CAPS_SYS_RESOURCE)
#define CAPS_ALL (CAPS_BIT(41) - 1)

void jail_plan_print(const struct jail_spec *s, struct text *t)
{
	struct plan p = { 0 };
	struct fault f;

	if (plan_make(s, &p, &f) < 0)
		return;
	plan_print(&p, t);
	plan_done(&p);
}

int jail_pair(struct jail *j, int *ret_inner, uint32_t *ret_number, struct fault *f)
{
	int ends[2], i = 0;

	while (i < JAIL_PENDING_MAX && j->pending[i].number)
		i++;
	if (i == JAIL_PENDING_MAX)
		return fault_set(f, FAULT_LIMIT, 0, "%d spares are on their way already", i);
	int r = msg_pair(ends);
	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, -r, "socket pair");
	r = fd_set_nonblock(ends[0], 1);
	if (r < 0) {
		close(ends[0]);
		close(ends[1]);
		return fault_set(f, FAULT_SYSTEM, -r, "socket pair");
	}
	j->pending[i].number = *ret_number = ++j->n_spares;
	j->pending[i].sock = ends[0];
	*ret_inner = ends[1];
	return 0;
}

/* Above the standard ones, which the child of the clone replaces. */
static int move_up(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static int start_init(struct jail *j, const struct jail_spec *s, int inner, struct fault *f)
{
	char title[96];

	snprintf(title, sizeof title, "sbx: %s init", s->id);
	auto_fd int raw = image_open(s->fs_fd, &j->sealed, f);
	if (raw < 0)
		return raw;
	auto_fd int image = move_up(raw), sock = move_up(inner), fs = move_up(s->fs_fd);
	const char *off = wall_argument();
	struct nspace_program p = { .image = image, .stdio = { sock, fs }, .is_plain = s->is_weak,
		.argv = { title, (char *)(s->is_weak ? "weak" : off ? "jail" : NULL), (char *)off },
		.caps = wall_is_off("caps") ? CAPS_ALL : CAPS_SETUP };
	if (image < 0 || sock < 0 || fs < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "move descriptors");
	j->pid = nspace_start(&p, &j->pidfd);
	if (j->pid >= 0)
		return 0;
	int sysno = -j->pid;
	j->pid = 0;
	enum fault_kind kind = sysno == EPERM || sysno == EACCES ? FAULT_DENIED :
		sysno == ENOSPC || sysno == EAGAIN || sysno == EUSERS ? FAULT_LIMIT : FAULT_SYSTEM;
	fault_set(f, kind, sysno, "start init: %s", p.stage);
	return cause_explain(j->file_system, f);
}

/* What goes to init beside the plan: directories as the block of ids sees them. */
struct trees {
	int skel, base; /* -1: by path, or none */
};

static int open_tree(int dir, int userns, const char *what, struct fault *f)
{
	struct statfs vfs = { 0 };
	auto_fd int tree = mnt_clone(dir, "", false);
	int r = tree < 0 ? tree : mnt_idmap(tree, userns);

	if (r >= 0)
		return take_fd(&tree);
	fstatfs(dir, &vfs);
	fault_set(f, FAULT_SYSTEM, -r, "%s %s", tree < 0 ? "clone" : "map the ids of", what);
	return cause_explain((int64_t)vfs.f_type, f);
}

/* The user namespace is opened while init still lets us: later it is not dumpable. */
static int open_trees(const struct jail_spec *s, int proc, struct trees *ret, struct fault *f)
{
	auto_fd int userns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);

	if (userns < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "open the user namespace");
	ret->skel = open_tree(s->skel_fd, userns, "the skeleton", f);
	if (ret->skel >= 0 && s->has_base)
		ret->base = open_tree(s->base_fd, userns, "the runtime's directory", f);
	return ret->skel < 0 || (s->has_base && ret->base < 0) ? -(int)f->kind : 0;
}

static int set_map(const struct jail *j, const struct jail_spec *s, struct trees *ret,
	struct fault *f)
{
	char path[64];
	struct nspace_map map = { JAIL_UID, geteuid(), getegid(), 1 };

	snprintf(path, sizeof path, "/proc/%d", (int)j->pid);
	auto_fd int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "open %s", path);
	if (s->id_base)
		map = (struct nspace_map){ 0, s->id_base, s->id_base, JAIL_ID_COUNT };
	int r = nspace_set_map(proc, &map);
	if (r < 0) {
		fault_set(f, r == -EPERM || r == -EACCES ? FAULT_DENIED : FAULT_SYSTEM, -r,
			"map ids");
		return cause_explain(j->file_system, f);
	}
	return s->id_base ? open_trees(s, proc, ret, f) : 0;
}

/* Init finds a directory by its path; a descriptor would not lead into its own mounts. */
static int name_dir(struct plan_dir *d, int fd, char path[4096], struct fault *f)
{
	char link[64];
	struct stat st;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, 4095);
	if (n < 0 || fstat(fd, &st) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "find a directory's path");
	path[n] = 0;
	*d = (struct plan_dir){ path, st.st_dev, st.st_ino };
	return 0;
}

static int send(struct jail *j, const struct jail_spec *s, struct plan *p, const struct trees *trees,
	struct fault *f)
{
	char skel[4096], base[4096];
	auto_text struct text t = { 0 };
	auto_fd int spare = -1;
	uint32_t number;
	int r = 0, fds[4];
	size_t n = 1;

	if (!s->id_base && !s->is_weak)
		r = name_dir(&p->skeleton, s->skel_fd, skel, f);
	if (!r && !s->id_base && s->has_base)
		r = name_dir(&p->base, s->base_fd, base, f);
	if (!r)
		r = jail_pair(j, &spare, &number, f);
	if (r < 0)
		return r;
	/* In one piece: growing it step by step takes new memory each time. */
	enum { PLAN_BYTES = 24 * 1024 };
	size_t n_files = 0;
	for (size_t i = 0; i < s->n_files; i++)
		n_files += s->files[i].n;
	text_reserve(&t, PLAN_BYTES + n_files);
	plan_put(p, &t);
	fds[0] = spare;
	if (trees->skel >= 0)
		fds[n++] = trees->skel;
	if (trees->base >= 0)
		fds[n++] = trees->base;
	if (s->disk == JAIL_DISK_MOUNT)
		fds[n++] = s->disk_fd;
	r = msg_send(j->sock, WIRE_PLAN, t.data, t.n, fds, n);
	return r < 0 ? fault_set(f, FAULT_SYSTEM, -r, "send the plan") : 0;
}

static int send_plan(struct jail *j, const struct jail_spec *s, struct plan *p, struct fault *f)
{
	struct trees trees = { -1, -1 };
	int r = s->is_weak ? 0 : set_map(j, s, &trees, f);

	if (!r)
		r = send(j, s, p, &trees, f);
	drop_fd(&trees.skel);
	drop_fd(&trees.base);
	return r;
}

static int start(struct jail *j, const struct jail_spec *s, struct plan *p, struct fault *f)
{
	int ends[2];

	int r = msg_pair(ends);
	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, -r, "socket pair");
	j->sock = ends[0];
	auto_fd int inner = ends[1];
	if (fd_set_nonblock(j->sock, 1) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "socket pair");
	r = start_init(j, s, inner, f);
	drop_fd(&inner);
	/* While init makes its other namespaces. */
	if (!r)
		r = plan_make(s, p, f);
	if (!r)
		r = send_plan(j, s, p, f);
	return r < 0 && j->pid > 0 ? cause_prefer(j, f) : r;
}

/* Orphans come to this process, should their init be killed; and the real path is what programs
 * are told in the place of /workspace. */
static int prepare_weak(struct jail *j, const struct jail_spec *s, struct fault *f)
{
	char path[4096];
	struct plan_dir dir;
	int r = name_dir(&dir, s->fs_fd, path, f);

	if (r < 0)
		return r;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1ul, 0ul, 0ul, 0ul) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "take in orphans");
	j->weak_root = mem_string(path);
	return 0;
}

int jail_start(const struct jail_spec *s, struct jail **ret, struct fault *f)
{
	struct plan p = { 0 };
	struct statfs vfs;

	/* A single map would give the payload the caller's own id, and here that is root. */
	if (!s->id_base && !geteuid())
		return fault_set(f, FAULT_DENIED, 0, "root of a user namespace without a block "
			"of ids cannot make a jail; run it as an ordinary user");
	if (s->is_weak && (s->has_base || s->disk != JAIL_DISK_PLAIN))
		return fault_set(f, FAULT_USAGE, 0, "weak isolation mounts nothing: there is no "
			"runtime of its own and no disk of its own");
	struct jail *j = mem_new(struct jail);
	j->pidfd = j->sock = -1;
	j->id_base = s->id_base;
	if (!fstatfs(s->fs_fd, &vfs))
		j->file_system = (int64_t)vfs.f_type;
	int r = s->is_weak ? prepare_weak(j, s, f) : 0;
	if (!r)
		r = start(j, s, &p, f);
	plan_done(&p);
	if (r < 0)
		j = jail_free(j);
	else
		*ret = j;
	return r;
}
