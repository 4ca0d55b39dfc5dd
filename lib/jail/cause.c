/* Why a kernel does not let us make a jail: one line with the cause and the fix. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "jail/host.h"

/* A sysctl has one of two values that matter. */
static bool sysctl_is(const char *path, char value)
{
	char text[16];
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

	return n >= 1 && text[0] == value && (n == 1 || text[1] == '\n');
}

static const char *find(const struct fault *f)
{
	if (f->sysno == EINVAL)
		return strstr(f->text, "overlay") ? "its work directory has been mounted before, or the"
			" file system cannot carry an overlay; the kernel log says more" : NULL;
	if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		return "user namespaces are off for ordinary users; as root: sysctl"
		       " kernel.unprivileged_userns_clone=1";
	if (sysctl_is("/proc/sys/user/max_user_namespaces", '0'))
		return "user namespaces are off; as root: sysctl user.max_user_namespaces=15000";
	if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
		return "AppArmor keeps programs without a profile from it; as root: apparmor_parser -r"
		       " /etc/apparmor.d/sbx";
	if (f->sysno == ENOSPC)
		return "too many namespaces, or too deep; see sysctl user.max_user_namespaces and"
		       " user.max_pid_namespaces";
	if (f->sysno == EAGAIN)
		return "too many processes of this user; see ulimit -u";
	if (f->sysno == EUSERS)
		return "user namespaces are nested too deep";
	if (strstr(f->text, "proc") && f->sysno == EPERM)
		return "parts of /proc are masked here; in a container run it with"
		       " --security-opt systempaths=unconfined";
	if (prctl(PR_GET_SECCOMP) > 0 && f->sysno == EPERM)
		return "a system call filter forbids it; in a container run it with --security-opt"
		       " seccomp=unconfined";
	return NULL;
}

/* What is switched off is refused and not used up, though errno is ENOSPC. */
static enum fault_kind kind_of(const struct fault *f)
{
	return f->kind == FAULT_LIMIT && sysctl_is("/proc/sys/user/max_user_namespaces", '0') ?
		FAULT_DENIED : f->kind;
}

int cause_explain(struct fault *f)
{
	char was[sizeof f->text];
	const char *cause = NULL;

	if (f->kind == FAULT_DENIED || f->kind == FAULT_LIMIT || f->sysno == EUSERS ||
		f->sysno == EINVAL)
		cause = find(f);
	if (!cause)
		return -(int)f->kind;
	strcpy(was, f->text);
	int sysno = f->sysno;
	fault_set(f, kind_of(f), 0, "%.100s (%s)", was, cause);
	f->sysno = sysno;
	return -(int)f->kind;
}
