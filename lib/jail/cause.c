/* Why a kernel does not let us make a jail: one line with the cause and the fix. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* The drivers lie there in every session, and nothing else is called so. */
static bool is_in_session(void)
{
	struct stat st;

	return !lstat("/run/sbx/shell.sh", &st) && S_ISREG(st.st_mode);
}

const char *cause_file_system(int64_t type)
{
	/* Source: linux/magic.h, and statfs(2). */
	static const struct {
		int64_t type;
		const char *name;
	} all[] = { { 0x794c7630, "overlayfs" }, { 0x6969, "NFS" }, { 0x65735546, "FUSE" },
		{ 0xff534d42, "CIFS" }, { 0xfe534d42, "SMB" }, { 0x01021997, "9p" },
		{ 0x858458f6, "ramfs" }, { 0x4d44, "FAT" }, { 0x2011bab0, "exFAT" },
		{ 0x7366746e, "NTFS" }, { 0xf15f, "eCryptfs" }, { 0x786f4256, "vboxsf" } };

	for (size_t i = 0; i < array_size(all); i++)
		if (all[i].type == type)
			return all[i].name;
	return NULL;
}

static bool says(const struct fault *f, const char *word)
{
	return strstr(f->text, word) != NULL;
}

/* Of the places where no user namespace is to be had. */
static const char *find_userns(const struct fault *f)
{
	if (is_in_session())
		return "this is a session of sbx, and no other can be made inside it; run it outside";
	if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", '0') && geteuid())
		return "user namespaces are off for ordinary users; as root: sysctl"
		       " kernel.unprivileged_userns_clone=1";
	if (sysctl_is("/proc/sys/user/max_user_namespaces", '0'))
		return "user namespaces are off; as root: sysctl user.max_user_namespaces=15000";
	if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1') && geteuid())
		return "AppArmor keeps programs without a profile from it; as root: apparmor_parser -r"
		       " /etc/apparmor.d/" SBX_PROGRAM;
	if (f->sysno == EPERM && says(f, "init: clone") && !prctl(PR_GET_SECCOMP))
		return "the kernel makes none in a chroot, and a security module may forbid it (dmesg"
		       " says so); run it outside of the chroot";
	return NULL;
}

static const char *find_missing(const struct fault *f)
{
	/* clone(2) without CONFIG_USER_NS or CONFIG_PID_NS. */
	if (f->sysno == EINVAL && says(f, "init: clone"))
		return "this kernel is built without user namespaces";
	if (f->sysno != ENOSYS)
		return NULL;
	return prctl(PR_GET_SECCOMP) > 0 ?
		"a system call filter hides this call; in a container run it with --security-opt"
		" seccomp=unconfined" : "this kernel does not have this call: 5.19 is needed";
}

static const char *find_rest(const struct fault *f)
{
	if (says(f, "device /dev/") && (f->sysno == ENOENT || f->sysno == ENODEV))
		return "/dev is not whole here; mount it with at least null, zero and urandom";
	if (f->sysno == ENOSPC)
		return "too many namespaces, or too deep; see sysctl user.max_user_namespaces and"
		       " user.max_pid_namespaces";
	if (f->sysno == EAGAIN)
		return "too many processes of this user; see ulimit -u";
	if (f->sysno == EUSERS)
		return "user namespaces are nested too deep";
	if (says(f, "proc") && f->sysno == EPERM)
		return "parts of /proc are masked here; run the container with --security-opt"
		       " systempaths=unconfined (Kubernetes: procMount: Unmasked)";
	if (prctl(PR_GET_SECCOMP) > 0 && f->sysno == EPERM)
		return "a system call filter forbids it; in a container run it with --security-opt"
		       " seccomp=unconfined";
	if (f->sysno == EPERM && !geteuid() && (says(f, "skeleton") || says(f, "runtime's")))
		return "root lacks CAP_SYS_ADMIN here; run it as an ordinary user";
	return NULL;
}

/* Overlays and id maps are what not every file system can carry. */
static const char *find_file_system(int64_t type, const struct fault *f, char room[160])
{
	if (!says(f, "overlay") && !says(f, "map the ids"))
		return NULL;
	if (f->sysno != EINVAL && f->sysno != EOPNOTSUPP && f->sysno != EROFS && f->sysno != EPERM)
		return NULL;
	const char *name = cause_file_system(type);
	bool is_home = !says(f, "the runtime's directory");
	if (name)
		snprintf(room, 160, "%s lies on %s, which cannot carry sessions; %s a directory on ext4,"
			" xfs, btrfs or tmpfs", is_home ? "the home directory" : "it", name,
			is_home ? "set SBX_HOME to" : "use");
	if (name)
		return room;
	return f->sysno == EINVAL ? "its work directory has been mounted before, or the file system"
		" cannot do that; the kernel log says more" : NULL;
}

/* What is switched off or not there is refused and not used up, whatever errno it has. */
static enum fault_kind kind_of(const struct fault *f)
{
	if (f->kind == FAULT_LIMIT)
		return sysctl_is("/proc/sys/user/max_user_namespaces", '0') ? FAULT_DENIED : FAULT_LIMIT;
	return f->sysno == EUSERS ? FAULT_LIMIT : FAULT_DENIED;
}

const char *cause_find(int64_t file_system, const struct fault *f, char room[160])
{
	const char *cause = find_file_system(file_system, f, room);
	bool may_be_userns = f->sysno == EPERM || f->sysno == EACCES || f->sysno == ENOSPC ||
		f->sysno == EUSERS;

	if (!cause && may_be_userns)
		cause = find_userns(f);
	if (!cause)
		cause = find_missing(f);
	return cause ? cause : find_rest(f);
}

int cause_explain(int64_t file_system, struct fault *f)
{
	char was[sizeof f->text], room[160];
	const char *cause = cause_find(file_system, f, room);

	if (!cause)
		return -(int)f->kind;
	strcpy(was, f->text);
	int sysno = f->sysno;
	fault_set(f, kind_of(f), 0, "%.90s (%s)", was, cause);
	f->sysno = sysno;
	return -(int)f->kind;
}
