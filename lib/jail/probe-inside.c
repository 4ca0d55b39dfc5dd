#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/json.h"
#include "jail/builtin.h"
#include "jail/probe-inside.h"

enum { SECUREBITS_LOCKED = 0xef, TEXT_MAX = 1 << 20 };

const char *probe_errno_name(int sysno, char room[16])
{
	static const struct {
		int sysno;
		const char *name;
	} names[] = { { EPERM, "EPERM" }, { EACCES, "EACCES" }, { ENOSYS, "ENOSYS" },
		{ ENOENT, "ENOENT" }, { EROFS, "EROFS" }, { EINVAL, "EINVAL" }, { EBADF, "EBADF" },
		{ ENOSPC, "ENOSPC" }, { EAFNOSUPPORT, "EAFNOSUPPORT" }, { ENETUNREACH, "ENETUNREACH" },
		{ ETXTBSY, "ETXTBSY" }, { EFAULT, "EFAULT" }, { ESRCH, "ESRCH" },
		{ ECONNREFUSED, "ECONNREFUSED" }, { ENXIO, "ENXIO" }, { ENODEV, "ENODEV" } };

	for (size_t i = 0; i < array_size(names); i++)
		if (names[i].sysno == sysno)
			return names[i].name;
	snprintf(room, 16, "errno %d", sysno);
	return room;
}

void probe_put(struct text *t, const char *key, bool held, const char *observed)
{
	json_key(t, key);
	json_open(t, '{');
	json_put_bool(t, "held", held);
	json_put_string(t, "observed", observed);
	json_close(t, '}');
}

static bool read_text(const char *path, struct text *t)
{
	struct fault f;
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && !fd_read_to_end(fd, TEXT_MAX, path, t, &f);
}

/* The value of a line of /proc/self/status. */
static void status_of(const struct text *status, const char *key, char ret[64])
{
	const char *at = status->data ? strstr(status->data, key) : NULL;

	ret[0] = 0;
	if (at)
		snprintf(ret, 64, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
}

/* Group 20. */
static void try_rights(struct text *t)
{
	static const char *const sets[] = { "CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapBnd:\t",
		"CapAmb:\t" };
	auto_text struct text status = { 0 };
	char v[64];
	bool zero = read_text("/proc/self/status", &status);

	for (size_t i = 0; i < array_size(sets); i++) {
		status_of(&status, sets[i], v);
		zero = zero && *v && !strtoull(v, NULL, 16);
	}
	probe_put(t, "caps_zero", zero, zero ? "all five sets are empty" : "some are left");
	status_of(&status, "NoNewPrivs:\t", v);
	probe_put(t, "no_new_privs", !strcmp(v, "1"), v);
	status_of(&status, "Seccomp:\t", v);
	probe_put(t, "seccomp_mode", !strcmp(v, "2"), v);
	/* One number: nothing above shows. And the parent is the first of this namespace. */
	status_of(&status, "NSpid:\t", v);
	probe_put(t, "nested_pids", strtol(v, NULL, 10) == getpid() && getppid() == 1, v);
	snprintf(v, sizeof v, "0x%x", (unsigned)prctl(PR_GET_SECUREBITS));
	probe_put(t, "securebits", strtoul(v, NULL, 16) == SECUREBITS_LOCKED, v);
}

struct attempt {
	const char *key, *path;
	int flags;
	enum { REFUSED, ABSENT, COVERED } must;
	const char *place; /* of a mount that is read only, for whoever may write there; or NULL */
};

/* What is wrong although the open was refused; NULL: nothing. A refusal alone may be the doing
 * of one wall while another has fallen. */
static const char *find_weakness(const struct attempt *a, int sysno)
{
	struct statvfs vfs;
	struct stat st;

	if (a->must == ABSENT && sysno != ENOENT)
		return "refused, but it is there";
	if (a->must == COVERED && !stat(a->path, &st) && !S_ISCHR(st.st_mode))
		return "refused, but not covered";
	if (a->place && !statvfs(a->place, &vfs) && !(vfs.f_flag & ST_RDONLY))
		return "refused, but not read only";
	return NULL;
}

static void try_open(struct text *t, const struct attempt *a)
{
	char room[16];
	auto_fd int fd = open(a->path, a->flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	int sysno = errno;

	if (fd >= 0 && a->flags & O_CREAT)
		unlink(a->path);
	const char *bad = fd >= 0 ? "opened" : find_weakness(a, sysno);
	probe_put(t, a->key, !bad, bad ? bad : probe_errno_name(sysno, room));
}

/* Where the program of init cannot be sealed, it is an unnamed file that nobody can write. */
static void try_own_program(struct text *t)
{
	char room[16];
	auto_fd int out = open("/proc/self/exe", O_WRONLY | O_CLOEXEC);
	int sysno = errno;
	auto_fd int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int seals = in < 0 ? -1 : fcntl(in, F_GET_SEALS);
	bool open_to_all = seals >= 0 && !(seals & F_SEAL_WRITE);

	probe_put(t, "own_exe_write", out < 0 && !open_to_all,
		out >= 0 ? "opened" : open_to_all ? "refused, but not sealed" :
		probe_errno_name(sysno, room));
}

/* Cutting a file off needs no descriptor that may write. To read with O_TRUNC would empty it. */
static void try_truncate(struct text *t)
{
	struct stat st;
	char room[16];
	int r = stat("/etc/passwd", &st) < 0 ? -1 : truncate("/etc/passwd", st.st_size);

	probe_put(t, "truncate_etc", r < 0, r < 0 ? probe_errno_name(errno, room) : "cut off");
}

/* Groups 1, 8, 12, 29 and the writable places: none of these may be opened. */
static void try_opens(struct text *t)
{
	static const struct attempt attempts[] = {
		{ "init_environ", "/proc/1/environ", O_RDONLY }, { "init_mem", "/proc/1/mem", O_RDONLY },
		{ "init_maps", "/proc/1/maps", O_RDONLY }, { "init_exe", "/proc/1/exe", O_RDONLY },
		{ "init_root", "/proc/1/root", O_RDONLY }, { "init_cwd", "/proc/1/cwd", O_RDONLY },
		{ "init_fd", "/proc/1/fd", O_RDONLY }, { "init_auxv", "/proc/1/auxv", O_RDONLY },
		{ "init_ns", "/proc/1/ns/user", O_RDONLY }, { "init_stack", "/proc/1/stack", O_RDONLY },
		{ "core_pattern", "/proc/sys/kernel/core_pattern", O_WRONLY, REFUSED, "/proc/sys" },
		{ "modprobe", "/proc/sys/kernel/modprobe", O_WRONLY, REFUSED, "/proc/sys" },
		{ "sysrq", "/proc/sysrq-trigger", O_WRONLY | O_TRUNC, COVERED },
		{ "max_userns_write", "/proc/sys/user/max_user_namespaces", O_WRONLY, REFUSED,
			"/proc/sys" },
		{ "write_root", "/sbx-probe", O_WRONLY | O_CREAT },
		{ "write_etc", "/etc/sbx-probe", O_WRONLY | O_CREAT },
		{ "write_usr", "/usr/sbx-probe", O_WRONLY | O_CREAT, REFUSED, "/usr" },
		{ "write_dev", "/dev/sbx-probe", O_WRONLY | O_CREAT, REFUSED, "/dev" },
		{ "write_sys", "/sys/sbx-probe", O_WRONLY | O_CREAT, REFUSED, "/sys" },
		{ "write_drivers", "/run/sbx/sbx-probe", O_WRONLY | O_CREAT, REFUSED, "/run/sbx" },
		{ "dev_mem", "/dev/mem", O_RDONLY, ABSENT },
		{ "dev_kmsg", "/dev/kmsg", O_RDONLY, ABSENT },
		{ "dev_kvm", "/dev/kvm", O_RDONLY, ABSENT },
		{ "dev_fuse", "/dev/fuse", O_RDONLY, ABSENT },
		{ "dev_tun", "/dev/net/tun", O_RDONLY, ABSENT },
		{ "dev_vsock", "/dev/vsock", O_RDONLY, ABSENT },
		{ "dev_console", "/dev/console", O_RDONLY, ABSENT },
		{ "dev_loop", "/dev/loop-control", O_RDONLY, ABSENT },
		{ "dev_userfaultfd", "/dev/userfaultfd", O_RDONLY, ABSENT },
	};

	for (size_t i = 0; i < array_size(attempts); i++)
		try_open(t, &attempts[i]);
	try_own_program(t);
	try_truncate(t);
}

/* Group 13: what is there must be empty. */
static void try_masks(struct text *t)
{
	static const char *const masked[] = { "/proc/kcore", "/proc/keys", "/proc/key-users",
		"/proc/kallsyms", "/proc/kmsg", "/proc/timer_list", "/proc/config.gz",
		"/proc/sched_debug" };
	const char *open_one = NULL;
	char c;

	for (size_t i = 0; i < array_size(masked) && !open_one; i++) {
		auto_fd int fd = open(masked[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 && read(fd, &c, 1) > 0)
			open_one = masked[i];
	}
	probe_put(t, "proc_masks", !open_one, open_one ? open_one : "all empty or closed");
}

/* Groups 10 and 19. */
static void try_mounts(struct text *t)
{
	auto_text struct text all = { 0 };
	char *save = NULL, bad[128] = "";

	read_text("/proc/self/mountinfo", &all);
	for (char *line = all.data ? strtok_r(all.data, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		bool is_device = strstr(line, " /dev/") && !strstr(line, " /dev/shm ");
		if (!strstr(line, "nosuid") || (!is_device && !strstr(line, "nodev")) ||
			strstr(line, "/sessions/") || strstr(line, "/layers/"))
			snprintf(bad, sizeof bad, "%.120s", line);
	}
	probe_put(t, "mount_flags", all.n && !*bad, *bad ? bad : "nosuid, nodev, no path of the host");
}

/* Groups 18 and 3: the exec-init, this process, and nobody else. */
static void try_listings(struct text *t)
{
	char seen[64];
	unsigned n_pids = 0, n_fds = 0;
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d)))
		n_pids += strtol(e->d_name, NULL, 10) > 0;
	if (d)
		closedir(d);
	snprintf(seen, sizeof seen, "%u processes", n_pids);
	probe_put(t, "pid_isolation", n_pids == 2, seen);
	d = opendir("/proc/self/fd");
	while (d && (e = readdir(d)))
		n_fds += strtol(e->d_name, NULL, 10) > 2;
	if (d)
		closedir(d);
	snprintf(seen, sizeof seen, "%u besides 0, 1, 2", n_fds - 1);
	probe_put(t, "descriptors", n_fds == 1, seen); /* the directory itself */
}

/* Group 44. */
static void try_network(struct text *t)
{
	static const char *const hosts[] = { "1.1.1.1", "10.0.0.1", "169.254.169.254", "224.0.0.1" };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = htons(53) };
	auto_text struct text dev = { 0 };
	int sysno = ENETUNREACH;
	char room[16];
	bool held = true;

	for (size_t i = 0; i < array_size(hosts) && held; i++) {
		auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		inet_pton(AF_INET, hosts[i], &to.sin_addr);
		held = connect(fd, (struct sockaddr *)&to, sizeof to) < 0;
		sysno = errno;
	}
	auto_fd int fd6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET6, "2606:4700:4700::1111", &to6.sin6_addr);
	held = held && connect(fd6, (struct sockaddr *)&to6, sizeof to6) < 0;
	probe_put(t, "network_unreachable", held, held ? probe_errno_name(sysno, room) : "reached");
	read_text("/proc/net/dev", &dev);
	unsigned n = 0;
	for (const char *s = dev.data; s && (s = strchr(s, ':')); s++)
		n++;
	probe_put(t, "network_interfaces", n == 1, n == 1 ? "lo" : "more than lo");
}

static void try_others(struct text *t)
{
	auto_text struct text max = { 0 };
	struct rlimit core = { 0 };
	struct statvfs vfs;
	char seen[32];

	read_text("/proc/sys/user/max_user_namespaces", &max);
	bool none = max.n && max.data[0] == '0';
	probe_put(t, "userns_nested", none, none ? "limit 0" : max.n ? "allowed" : "unreadable");
	getrlimit(RLIMIT_CORE, &core);
	snprintf(seen, sizeof seen, "%llu", (unsigned long long)core.rlim_max);
	probe_put(t, "core_limit", core.rlim_cur == 1 && core.rlim_max == 1, seen);
	/* Process 1 does not die of it, and with another id it is refused. */
	int r = kill(1, SIGKILL);
	probe_put(t, "kill_init", kill(1, 0) == 0 || errno == EPERM, r ? "EPERM" : "it lives on");
	bool nosuid = !statvfs("/workspace", &vfs) && vfs.f_flag & ST_NOSUID;
	probe_put(t, "setid_bits", nosuid, nosuid ? "without effect" : "in effect");
}

int probe_inside(void)
{
	auto_text struct text t = { 0 };

	/* A program would be: what it sees of itself in /proc depends on it. */
	prctl(PR_SET_DUMPABLE, 1ul, 0ul, 0ul, 0ul);
	json_open(&t, '{');
	try_rights(&t);
	try_opens(&t);
	try_masks(&t);
	try_mounts(&t);
	try_listings(&t);
	try_network(&t);
	try_others(&t);
	probe_calls(&t);
	json_close(&t, '}');
	return fd_write_all(1, t.data, t.n) < 0;
}
