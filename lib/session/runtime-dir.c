/* A root file system of its own: a directory of the host, and what may be one. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "session/runtime.h"
#include "session/tree.h"

/* Entries that are looked at for foreign ids; of more it is not known. [bytes] Of mountinfo. */
enum { LOOK_MAX = 20000, MOUNTS_BYTES = 8 * 1024 * 1024 };

/* Where a directory is, by itself and without links; false when nothing leads to it. */
static bool find_path(int fd, char path[4096])
{
	struct stat here, there;
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, 4095);
	if (n <= 0 || path[0] != '/')
		return false;
	path[n] = 0;
	return fstat(fd, &here) == 0 && lstat(path, &there) == 0 && here.st_ino == there.st_ino &&
		here.st_dev == there.st_dev;
}

/* Whether path is top or lies in it. */
static bool is_in(const char *path, const char *top)
{
	size_t n = strlen(top);

	return !strncmp(path, top, n) && (!path[n] || path[n] == '/');
}

/* "\040" for a space and such. Source: proc_pid_mountinfo(5). */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

/* A clone of one file system shows none of what is mounted in it, and to an ordinary user the kernel
 * gives no such clone at all: what is mounted there is hidden from him by it. */
static int check_mounts(const char *path, struct fault *f)
{
	auto_text struct text t = { 0 };
	auto_fd int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *save = NULL;

	if (fd < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "open /proc/self/mountinfo");
	int r = fd_read_to_end(fd, MOUNTS_BYTES, "mountinfo", &t, f);
	if (r < 0)
		return r;
	for (char *line = strtok_r(t.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *word = NULL, *field = strtok_r(line, " ", &word);
		for (int i = 0; field && i < 4; i++)
			field = strtok_r(NULL, " ", &word);
		if (!field)
			continue;
		unescape(field);
		if (is_in(field, path) && strcmp(field, path) != 0)
			return fault_set(f, FAULT_DENIED, 0, "something is mounted in it, on %.150s; "
				"give a directory of one file system, or unmount that", field);
	}
	return 0;
}

static int check_place(const char *path, int home, struct fault *f)
{
	char own[4096];

	if (!strcmp(path, "/"))
		return fault_set(f, FAULT_DENIED, 0, "that is the host's own root; give the directory of an "
			"unpacked image");
	if (home >= 0 && find_path(home, own) && (is_in(own, path) || is_in(path, own)))
		return fault_set(f, FAULT_DENIED, 0, "the home directory %.100s and it lie in one another; "
			"give a directory elsewhere", own);
	return check_mounts(path, f);
}

int runtime_dir_open(const char *name, int home, bool is_stored, char **ret_path, int *ret_fd,
	struct fault *f)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | (is_stored ? RESOLVE_NO_SYMLINKS : 0) };
	auto_fd int place = (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how);
	char path[4096];

	if (place < 0 && errno == ELOOP && is_stored)
		return fault_set(f, FAULT_DENIED, 0, "a link has come into its path; that is not followed");
	if (place < 0 && (errno == ENOENT || errno == ENOTDIR))
		return fault_set(f, FAULT_NOT_FOUND, 0, "there is no such directory");
	if (place < 0)
		return fault_set(f, errno == EACCES ? FAULT_DENIED : FAULT_SYSTEM, errno, "open it");
	auto_fd int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_set(f, errno == EACCES ? FAULT_DENIED : FAULT_SYSTEM, errno, "read it");
	if (!find_path(fd, path))
		return fault_set(f, FAULT_NOT_FOUND, 0, "nothing leads to it; it may be deleted");
	int r = check_place(path, home, f);
	if (r < 0)
		return r;
	if (ret_path)
		*ret_path = mem_string(path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- ids ------------------------------------------------------------------------------------ */

struct look {
	uint32_t n, uid, gid, count;
};

enum { LOOK_FOREIGN = 1, LOOK_ENOUGH = 2 };

static bool is_foreign(const struct look *l, const struct tree_stat *st)
{
	return st->uid - l->uid >= l->count || st->gid - l->gid >= l->count;
}

static int look_at(void *arg, void *parent, const char *name, size_t n_name,
	const struct tree_stat *st, void **ret_node)
{
	struct look *l = arg;

	(void)parent, (void)name, (void)n_name, (void)ret_node;
	return is_foreign(l, st) ? LOOK_FOREIGN : ++l->n == LOOK_MAX ? LOOK_ENOUGH : 0;
}

static void look_again(void *arg)
{
	struct look *l = arg;

	l->n = 0;
}

bool runtime_dir_has_foreign(int fd, uint32_t n_ids)
{
	struct look l = { .count = n_ids };
	struct tree_visitor v = { look_at, NULL, look_again, &l };
	struct fault f;

	if (n_ids == 1) {
		l.uid = geteuid();
		l.gid = getegid();
	}
	return tree_walk_here(fd, &v, &f) == LOOK_FOREIGN;
}
