#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "jail/host.h"
#include "jail/places.h"
#include "sys/kernel.h"
#include "sys/landlock.h"
#include "sys/mnt.h"

/* [ms] Everything together takes 3 ms here. */
enum { LOOK_MS = 10000 };

enum key {
	USER_NAMESPACES, ID_MAP, NAMESPACES, MOUNTS, PROC, TERMINALS, OVERLAY, HOME_IDS, PIVOT,
	CALLS, SECCOMP, DEVICES, LANDLOCK, KEYRING, MEMFD, KEYS,
};

/* The words are those of init, from which the cause is found. */
static const struct {
	const char *key, *words;
	bool is_needed;
} keys[KEYS] = {
	[USER_NAMESPACES] = { "user_namespaces", "start init: clone", true },
	[ID_MAP] = { "id_map", "map ids", true },
	[NAMESPACES] = { "namespaces", "new namespaces", true },
	[MOUNTS] = { "mounts", "skeleton", true },
	[PROC] = { "proc", "mount /proc", true },
	[TERMINALS] = { "terminals", "mount /dev/pts", true },
	[OVERLAY] = { "home_overlay", "overlay", true },
	[HOME_IDS] = { "home_id_map", "map the ids of the skeleton", true },
	[PIVOT] = { "pivot_root", "pivot", true },
	[CALLS] = { "system_calls", "system call", true },
	[SECCOMP] = { "seccomp", "system call filter", true },
	[DEVICES] = { "devices", "device /dev/", true },
	[LANDLOCK] = { "landlock", "Landlock", false },
	[KEYRING] = { "keyring", "private keyring", false },
	[MEMFD] = { "memfd", "memfd", false },
};

/* In memory that parent and child share. */
struct look {
	struct {
		bool done;
		int sysno;     /* 0: it can be done */
		char what[48]; /* in place of the errno */
	} found[KEYS];
};

static void note(struct look *l, enum key key, int result)
{
	l->found[key].done = true;
	l->found[key].sysno = result < 0 ? -result : 0;
}

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

/* --- what needs no namespace --------------------------------------------------------------- */

/* With arguments that nothing is done for: an errno of its own says that the call is there. */
static void try_calls(struct look *l)
{
	static const struct {
		const char *name;
		long nr;
	} calls[] = { { "openat2", SYS_openat2 }, { "close_range", SYS_close_range },
		{ "execveat", SYS_execveat }, { "signalfd4", SYS_signalfd4 } };
	int sysno = 0;

	for (size_t i = 0; i < array_size(calls); i++) {
		long r = syscall(calls[i].nr, ~0u, 0ul, 0ul, ~0ul, ~0ul, 0ul);
		if (r >= 0 || (errno != ENOSYS && errno != EPERM))
			continue;
		sysno = errno;
		snprintf(l->found[CALLS].what, sizeof l->found[CALLS].what, "%s: %s", calls[i].name,
			strerror(errno));
	}
	note(l, CALLS, -sysno);
}

static void try_devices(struct look *l)
{
	static const struct {
		const char *path;
		unsigned major_number, minor_number;
		bool is_needed;
	} all[] = { { "/dev/full", 1, 7, false }, { "/dev/random", 1, 8, false },
		{ "/dev/tty", 5, 0, false }, { "/dev/null", 1, 3, true }, { "/dev/zero", 1, 5, true },
		{ "/dev/urandom", 1, 9, true } };
	struct stat st;
	int sysno = 0;

	for (size_t i = 0; i < array_size(all); i++) {
		if (!lstat(all[i].path, &st) && S_ISCHR(st.st_mode) &&
			st.st_rdev == makedev(all[i].major_number, all[i].minor_number))
			continue;
		snprintf(l->found[DEVICES].what, sizeof l->found[DEVICES].what, "no %s", all[i].path);
		if (all[i].is_needed)
			sysno = ENOENT;
	}
	note(l, DEVICES, -sysno);
}

static void try_landlock(struct look *l)
{
	int abi = 0;
	auto_fd int set = landlock_open(&abi);

	if (set >= 0)
		snprintf(l->found[LANDLOCK].what, sizeof l->found[LANDLOCK].what, "ABI %d", abi);
	note(l, LANDLOCK, set);
}

static void try_rest(struct look *l)
{
	enum { GET_ACTION_AVAIL = 2, ANSWER_ERRNO = 0x00050000, JOIN_SESSION_KEYRING = 1 };
	uint32_t action = ANSWER_ERRNO;
	auto_fd int memfd = memfd_create("sbx-probe", MFD_CLOEXEC);

	note(l, MEMFD, result(memfd));
	note(l, SECCOMP, result(syscall(SYS_seccomp, GET_ACTION_AVAIL, 0, &action)));
	note(l, KEYRING, result(syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL)));
}

/* --- what needs them ----------------------------------------------------------------------- */

static int write_own(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int map_self(uid_t uid, gid_t gid)
{
	char line[32];
	int r = write_own("/proc/self/setgroups", "deny");

	snprintf(line, sizeof line, "0 %u 1", gid);
	if (!r)
		r = write_own("/proc/self/gid_map", line);
	snprintf(line, sizeof line, "0 %u 1", uid);
	return r ? r : write_own("/proc/self/uid_map", line);
}

static int attach_usr(int fd)
{
	auto_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : mnt_attach(fd, root, "usr");
}

static int try_mounts(void)
{
	int r = mnt_make_private();
	auto_fd int tree = r ? r : mnt_clone(AT_FDCWD, "/usr", true);

	if (tree < 0)
		return tree;
	r = mnt_change(tree, KERNEL_MOUNT_RDONLY, 0, true);
	return r < 0 ? r : attach_usr(tree);
}

static int try_make(const char *type, const char *options)
{
	int fd = mnt_make(type, options, KERNEL_MOUNT_NOSUID);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int try_pivot(void)
{
	auto_fd int root = mnt_make("tmpfs", "size=4k,mode=0755", KERNEL_MOUNT_NOSUID);

	if (root < 0)
		return root;
	int r = attach_usr(root);
	return r < 0 ? r : mnt_pivot(root);
}

/* Process 1 of a new pid namespace. */
static void look_inside(struct look *l, bool has_place)
{
	int r = try_mounts();

	note(l, MOUNTS, r);
	if (r < 0)
		return;
	note(l, PROC, try_make("proc", ""));
	note(l, TERMINALS, try_make("devpts", "ptmxmode=0666,mode=0620"));
	if (has_place)
		note(l, OVERLAY, try_make("overlay", "lowerdir=low,upperdir=up,workdir=wk,userxattr,"
			"index=off,metacopy=off,volatile"));
	note(l, PIVOT, try_pivot());
}

static void look_child(struct look *l, int place)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int status;

	/* The directory is carried over into the new mount namespace; a descriptor is not. */
	bool has_place = place >= 0 && fchdir(place) == 0;
	try_calls(l);
	try_devices(l);
	try_landlock(l);
	try_rest(l);
	int r = result(unshare(CLONE_NEWUSER));
	note(l, USER_NAMESPACES, r);
	if (r < 0)
		return;
	r = map_self(uid, gid);
	note(l, ID_MAP, r);
	if (r < 0)
		return;
	r = result(unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID));
	note(l, NAMESPACES, r);
	if (r < 0)
		return;
	pid_t pid = fork();
	if (!pid) {
		look_inside(l, has_place);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

/* --- the file system of the home directory --------------------------------------------------- */

static const char *const parts[] = { "low", "up", "wk" };

static int make_place(int home, char name[32])
{
	snprintf(name, 32, "probe-%d", (int)getpid());
	if (mkdirat(home, name, 0700) < 0)
		return -1;
	auto_fd int place = openat(home, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; place >= 0 && i < array_size(parts); i++)
		if (mkdirat(place, parts[i], 0700) < 0)
			return -1;
	return take_fd(&place);
}

static void remove_place(int home, int place, const char *name)
{
	/* The kernel makes them, deepest last, and takes away the modes. */
	static const char *const inner[] = { "wk/work", "wk/work/incompat",
		"wk/work/incompat/volatile" };

	for (size_t i = 0; i < array_size(inner); i++)
		fchmodat(place, inner[i], 0700, 0);
	unlinkat(place, "wk/work/incompat/volatile/dirty", 0);
	for (size_t i = array_size(inner); i-- > 0;)
		unlinkat(place, inner[i], AT_REMOVEDIR);
	for (size_t i = 0; i < array_size(parts); i++)
		unlinkat(place, parts[i], AT_REMOVEDIR);
	unlinkat(home, name, AT_REMOVEDIR);
}

/* Only root maps the ids of mounts; it takes a user namespace of the child's. */
static void try_home_ids(struct look *l, pid_t child, int place)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)child);
	auto_fd int userns = open(path, O_RDONLY | O_CLOEXEC);
	auto_fd int tree = userns < 0 ? -1 : mnt_clone(place, "low", false);
	if (userns < 0)
		return;
	note(l, HOME_IDS, tree < 0 ? tree : mnt_idmap(tree, userns));
}

/* --- all of it ----------------------------------------------------------------------------- */

/* Waits for the child, which holds the other end of the pipe, and lets it go. */
static void wait_child(struct look *l, pid_t pid, int done, int go, int place)
{
	struct pollfd p = { .fd = done, .events = POLLIN };
	int64_t end_ms = clock_now_ms() + LOOK_MS;
	int64_t left_ms = LOOK_MS;

	while (left_ms > 0 && poll(&p, 1, (int)left_ms) < 0 && errno == EINTR)
		left_ms = end_ms - clock_now_ms();
	if (!geteuid() && place >= 0 && l->found[ID_MAP].done && !l->found[ID_MAP].sysno)
		try_home_ids(l, pid, place);
	close(go);
	/* Process 1 of its pid namespace goes with it. */
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void look(struct look *l, int place)
{
	int done[2], go[2];
	char c;

	if (pipe2(done, O_CLOEXEC) < 0)
		return;
	if (pipe2(go, O_CLOEXEC) < 0) {
		close(done[0]);
		close(done[1]);
		return;
	}
	pid_t pid = fork();
	if (!pid) {
		close(go[1]);
		look_child(l, place);
		_exit(write(done[1], "d", 1) == 1 && read(go[0], &c, 1) == 0 ? 0 : 1);
	}
	close(done[1]);
	close(go[0]);
	if (pid > 0)
		wait_child(l, pid, done[0], go[1], place);
	else
		close(go[1]);
	close(done[0]);
}

static void report(const struct look *l, enum key key, int64_t file_system, struct jail_place *ret)
{
	struct fault f;
	char room[160];

	*ret = (struct jail_place){ .key = keys[key].key, .is_needed = keys[key].is_needed,
		.was_tried = l->found[key].done,
		.held = l->found[key].done && !l->found[key].sysno };
	snprintf(ret->observed, sizeof ret->observed, "%s", !ret->was_tried ? "not tried" :
		l->found[key].what[0] ? l->found[key].what : ret->held ? "it is done" :
		strerror(l->found[key].sysno));
	if (ret->held || !ret->was_tried)
		return;
	fault_set(&f, FAULT_DENIED, l->found[key].sysno, "%s", keys[key].words);
	const char *fix = cause_find(file_system, &f, room);
	snprintf(ret->fix, sizeof ret->fix, "%s", fix ? fix : "");
}

size_t jail_places(int home, struct jail_place ret[JAIL_PLACES_MAX])
{
	struct look *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	struct statfs vfs = { 0 };
	char name[32];
	size_t n = 0;

	if (l == MAP_FAILED)
		return 0;
	auto_fd int place = make_place(home, name);
	look(l, place);
	if (place >= 0)
		remove_place(home, place, name);
	fstatfs(home, &vfs);
	for (enum key key = 0; key < KEYS; key++)
		if (key != HOME_IDS || !geteuid())
			report(l, key, (int64_t)vfs.f_type, &ret[n++]);
	munmap(l, sizeof *l);
	return n;
}
