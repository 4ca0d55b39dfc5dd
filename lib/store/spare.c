/*
 * Directories and files made ahead. Making an inode takes 15 µs on a calm file system and 150
 * on one where much was deleted lately (ext4 looks at each of them); giving one that is there
 * its name and place takes 5.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/file.h"
#include "store/inner.h"
#include "sys/kernel.h"

static void spare_name(enum store_spare kind, uint32_t i, char ret[16])
{
	snprintf(ret, 16, "%c%u", "df"[kind], i);
}

/* What a killed supervisor left may have been written to. */
static int make_one(struct store_spares *s, enum store_spare kind)
{
	char name[16];

	spare_name(kind, s->n[kind], name);
	if (kind == STORE_SPARE_DIR) {
		auto_fd int dir = -1;
		struct fault f;
		if (mkdirat(s->dir, name, 0700) < 0 && errno != EEXIST)
			return -errno;
		if (file_open_dir(s->dir, name, &dir, &f) < 0)
			return -f.sysno;
		return fchmod(dir, 0700) < 0 ? -errno : 0;
	}
	auto_fd int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

bool store_spares_want(const struct store_spares *s)
{
	return !s->is_broken &&
		(s->n[STORE_SPARE_DIR] < STORE_SPARE_DIRS || s->n[STORE_SPARE_FILE] < STORE_SPARE_FILES);
}

void store_spares_fill(struct store_spares *s, struct store_session *session)
{
	enum store_spare kind = s->n[STORE_SPARE_DIR] < STORE_SPARE_DIRS ? STORE_SPARE_DIR :
		STORE_SPARE_FILE;
	struct fault f;

	if (!store_spares_want(s))
		return;
	/* A full disk: each is made when it is needed, and whoever needs it says why not. */
	if (!s->is_open)
		s->is_open = file_make_dir(session->dir, "spare", 0700, &s->dir, &f) == 0;
	s->is_broken = !s->is_open || make_one(s, kind) < 0;
	if (!s->is_broken)
		s->n[kind]++;
}

/* Gives the last of a kind its name; false when there is none. */
static bool take(struct store_spares *s, enum store_spare kind, int dir, const char *name)
{
	char spare[16];

	if (!s || !s->n[kind])
		return false;
	spare_name(kind, --s->n[kind], spare);
	return syscall(SYS_renameat2, s->dir, spare, dir, name, KERNEL_RENAME_NOREPLACE) == 0;
}

int store_spare_open(struct store_spares *s, int dir, const char *name)
{
	int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;

	if (take(s, STORE_SPARE_FILE, dir, name))
		return openat(dir, name, flags);
	return openat(dir, name, flags | O_CREAT | O_TRUNC, 0600);
}

int store_spare_replace(struct store_spares *s, int dir, const char *name, const void *p, size_t n,
	struct fault *f)
{
	char spare[16];

	if (!s || !s->n[STORE_SPARE_FILE])
		return file_replace(dir, name, p, n, f);
	spare_name(STORE_SPARE_FILE, --s->n[STORE_SPARE_FILE], spare);
	auto_fd int fd = openat(s->dir, spare, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, p, n);
	if (!r && renameat(s->dir, spare, dir, name) < 0)
		r = -errno;
	return r < 0 ? fault_set(f, store_kind(-r), -r, "write %s", name) : 0;
}

int store_spare_exec(struct store_session *s, struct store_spares *spares, const char *exec_id,
	int *ret_dir, struct fault *f)
{
	auto_fd int execs = -1;

	if (!spares || !spares->n[STORE_SPARE_DIR])
		return store_exec_make(s, exec_id, ret_dir, f);
	if (!id_is_valid(exec_id))
		return fault_set(f, FAULT_USAGE, 0, "'%.80s' is not the id of an execution", exec_id);
	int r = file_open_dir(s->dir, "exec", &execs, f);
	if (r < 0)
		return r;
	if (!take(spares, STORE_SPARE_DIR, execs, exec_id))
		return store_exec_make(s, exec_id, ret_dir, f);
	return file_open_dir(execs, exec_id, ret_dir, f);
}
