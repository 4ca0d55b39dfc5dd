/* Making directories and files of the home, with modes that no umask changes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/file.h"
#include "store/inner.h"

enum fault_kind store_kind(int sysno)
{
	if (sysno == ENOSPC || sysno == EDQUOT)
		return FAULT_LIMIT;
	return sysno == EROFS || sysno == EACCES || sysno == EPERM ? FAULT_DENIED : FAULT_SYSTEM;
}

int store_make_dir(int dir, const char *name, mode_t mode, int *ret_fd, struct fault *f)
{
	auto_fd int fd = -1;

	if (mkdirat(dir, name, mode) < 0)
		return fault_set(f, errno == EEXIST ? FAULT_BUSY : store_kind(errno), errno,
			"make directory %s", name);
	int r = file_open_dir(dir, name, &fd, f);
	if (r < 0)
		return r;
	if (fchmod(fd, mode) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "set the mode of %s", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

int store_make_owned_dir(int dir, const char *name, mode_t mode, uid_t owner, struct fault *f)
{
	auto_fd int fd = -1;
	int r = store_make_dir(dir, name, mode, &fd, f);

	if (r < 0)
		return r;
	if (owner != (uid_t)-1 && fchown(fd, owner, owner) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "give %s to id %u", name, owner);
	return 0;
}

int store_put_file(int dir, const char *name, const void *p, size_t n, mode_t mode, struct fault *f)
{
	auto_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0)
		return fault_set(f, store_kind(errno), errno, "create %s", name);
	int r = fd_write_all(fd, p, n);
	if (r < 0)
		return fault_set(f, store_kind(-r), -r, "write %s", name);
	if (fchmod(fd, mode) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "set the mode of %s", name);
	return 0;
}
