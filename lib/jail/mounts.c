#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "jail/mounts.h"
#include "sys/kernel.h"
#include "sys/landlock.h"
#include "sys/mnt.h"

static int bind_directory(int root, const struct plan_op *op)
{
	struct stat st;

	/* Looked at first: giving up a clone waits for all readers of the mount tree. */
	if (lstat(op->source, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	auto_fd int tree = mnt_clone(AT_FDCWD, op->source, op->flags & PLAN_RECURSIVE);
	if (tree < 0)
		return tree;
	int r = mnt_change(tree, op->attr, 0, op->flags & PLAN_RECURSIVE);
	return r < 0 ? r : mnt_attach(tree, root, op->path);
}

static int bind_device(int root, const struct plan_op *op)
{
	struct stat st;
	auto_fd int tree = mnt_clone(AT_FDCWD, op->source, false);

	if (tree < 0)
		return tree;
	/* A file that somebody put in the place of /dev/null is not passed on. */
	if (fstat(tree, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != op->number)
		return -ENODEV;
	int r = mnt_change(tree, op->attr, 0, false);
	if (r < 0)
		return r;
	auto_fd int place = mnt_open(root, op->path, O_WRONLY | O_CREAT | O_EXCL);
	return place < 0 ? place : mnt_attach(tree, root, op->path);
}

static int mount_new(int root, const struct plan_op *op)
{
	auto_fd int fd = mnt_make(op->source, op->options, op->attr);

	return fd < 0 ? fd : mnt_attach(fd, root, op->path);
}

int mounts_run(int root, const struct plan_op *op)
{
	switch (op->kind) {
	case PLAN_BIND:
		return bind_directory(root, op);
	case PLAN_DEVICE:
		return bind_device(root, op);
	case PLAN_MOUNT:
		return mount_new(root, op);
	case PLAN_DIRECTORY:
		return mkdirat(root, op->path, op->number) < 0 ? -errno : 0;
	case PLAN_LINK:
		return symlinkat(op->source, root, op->path) < 0 ? -errno : 0;
	case PLAN_READ_ONLY: {
		auto_fd int fd = mnt_open(root, op->path, O_PATH);
		return fd < 0 ? fd : mnt_change(fd, op->attr, 0, false);
	}
	default:
		return -EBADMSG;
	}
}

/* Lays a clone of `source` over a file or directory of proc. */
static int cover(int proc, int dir, const char *source, const struct plan_op *op)
{
	auto_fd int tree = mnt_clone(dir, source, false);

	if (tree < 0)
		return tree;
	int r = mnt_change(tree, op->attr | KERNEL_MOUNT_RDONLY, 0, false);
	return r < 0 ? r : mnt_attach(tree, proc, op->path);
}

static int mask(int proc, const struct plan_op *op)
{
	struct stat st;

	if (fstatat(proc, op->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return cover(proc, AT_FDCWD, S_ISDIR(st.st_mode) ? "/sys" : "/dev/null", op);
}

int mounts_run_proc(const struct plan *p, const struct plan_op **ret_failed)
{
	auto_fd int proc = -1;
	int r = 0;

	for (uint32_t i = 0; i < p->n_exec_ops; i++) {
		const struct plan_op *op = *ret_failed = &p->exec_ops[i];
		if (op->kind == PLAN_PROC) {
			proc = mnt_make("proc", "", op->attr);
			/* On top of that of init. Taking that away would wait for all readers of
			 * the mount tree (1 ms), and nothing leads below the top one. */
			r = proc < 0 ? proc : mnt_attach(proc, AT_FDCWD, "/proc");
		} else {
			r = op->kind == PLAN_MASK ? mask(proc, op) : cover(proc, proc, op->path, op);
		}
		if (r < 0 && !(op->flags & PLAN_OPTIONAL && r == -ENOENT))
			return r;
	}
	return 0;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = strstr(list, word); s; s = strstr(s + n, word))
		if ((s == list || s[-1] == ',') && (!s[n] || s[n] == ','))
			return true;
	return false;
}

bool mounts_is_place(const struct plan_rule *rule)
{
	return rule->access & LANDLOCK_MAKE_REG;
}

static bool is_expected(const struct plan *p, const char *path, const char *flags)
{
	if (!has_word(flags, "nosuid"))
		return false;
	if (!strcmp(path, "/"))
		return has_word(flags, "nodev");
	for (uint32_t i = 0; i < p->n_rules; i++)
		if (mounts_is_place(&p->rules[i]) && !strcmp(path, p->rules[i].path))
			return has_word(flags, "nodev");
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct plan_op *op = &p->ops[i];
		size_t n = strlen(op->path);
		if (!n || strncmp(path + 1, op->path, n))
			continue;
		if (op->kind == PLAN_DEVICE && !path[1 + n])
			return true;
		if (op->kind == PLAN_MOUNT && !path[1 + n])
			return has_word(flags, "nodev") || !strcmp(op->source, "devpts");
		/* What the host has mounted below /usr comes with it. */
		if (op->kind == PLAN_BIND && (!path[1 + n] || path[1 + n] == '/'))
			return has_word(flags, "nodev") && has_word(flags, "ro");
	}
	return false;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime …": the fifth and sixth field. proc_pid_mountinfo(5) */
static bool check_line(const struct plan *p, char *line)
{
	char *save = NULL, *field = strtok_r(line, " ", &save);

	for (int i = 0; field && i < 4; i++)
		field = strtok_r(NULL, " ", &save);
	char *flags = strtok_r(NULL, " ", &save);
	return field && flags && is_expected(p, field, flags);
}

int mounts_sweep(const struct plan *p)
{
	struct fault f;
	auto_text struct text t = { 0 };
	auto_fd int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fd_read_to_end(fd, 1u << 20, "mountinfo", &t, &f) < 0)
		return fd < 0 ? -errno : -f.sysno;
	char *save = NULL;
	for (char *line = strtok_r(t.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!check_line(p, line))
			return -EUCLEAN;
	return 0;
}
