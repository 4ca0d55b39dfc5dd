#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/stream.h"
#include "jail/files.h"
#include "sys/kernel.h"

int files_flush(struct files_out *o, bool all, struct fault *f)
{
	if (!all && o->t.n < STREAM_DATA_MAX)
		return 0;
	int r = fd_write_all(1, o->t.data, o->t.n);
	text_clear(&o->t);
	return r < 0 ? fault_set(f, FAULT_SYSTEM, -r, "write the stream of files") : 0;
}

void files_skip(struct files_out *o, const char *path, const char *why)
{
	o->skipped = true;
	stream_put_skipped(&o->t, path, why);
}

int files_end(struct files_out *o, int r, struct fault *f)
{
	struct fault ignored;

	if (r < 0)
		stream_put_fault(&o->t, f);
	if (files_flush(o, true, &ignored) < 0)
		r = -1;
	text_done(&o->t);
	if (r < 0)
		return FILES_FAILED;
	return o->skipped ? FILES_SKIPPED : FILES_DONE;
}

int files_open(int dir, const char *path, int flags, bool beneath)
{
	struct kernel_open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC | O_NOCTTY),
		.resolve = KERNEL_RESOLVE_NO_MAGICLINKS };

	/* O_PATH takes no other flag but those of its kind. */
	if (flags & O_PATH)
		how.flags &= ~(uint64_t)O_NOCTTY;
	if (beneath)
		how.resolve |= KERNEL_RESOLVE_BENEATH | KERNEL_RESOLVE_NO_SYMLINKS;
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

void files_show(const char *path, char ret[FILES_PATH_BYTES])
{
	char cwd[FILES_PATH_BYTES] = "";
	bool is_below = *path != '/' && getcwd(cwd, sizeof cwd) && cwd[1];

	snprintf(ret, FILES_PATH_BYTES, "%s%s%s", is_below ? cwd : "", *path == '/' ? "" : "/", path);
}

int files_fail(struct fault *f, int sysno, const char *what, const char *path)
{
	enum fault_kind kind = FAULT_SYSTEM;
	char shown[FILES_PATH_BYTES];

	if (sysno == ENOENT)
		kind = FAULT_NOT_FOUND;
	else if (sysno == EACCES || sysno == EPERM || sysno == ELOOP || sysno == EROFS)
		kind = FAULT_DENIED;
	else if (sysno == ENOSPC || sysno == EDQUOT || sysno == EFBIG)
		kind = FAULT_LIMIT;
	files_show(path, shown);
	return fault_set(f, kind, sysno, "%s '%.150s'", what, shown);
}

int64_t files_mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

void files_times(int64_t mtime_ns, struct timespec ret[2])
{
	int64_t s = mtime_ns / 1000000000, ns = mtime_ns % 1000000000;

	if (ns < 0) {
		ns += 1000000000;
		s--;
	}
	ret[0] = (struct timespec){ 0, UTIME_NOW };
	ret[1] = (struct timespec){ (time_t)s, (long)ns };
}

const char *files_kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "of an unknown kind";
	}
}
