/*
 * calls "ATTEMPT CALL ARG…" …: one system call an argument, each in a child of its own.
 *
 * An ARG is a number, or:
 *	'text         pointer to a string
 *	null          NULL
 *	buf:N         pointer to N zero bytes
 *	q:1,2,3       pointer to 64-bit values
 *	d:1,2,3       pointer to 32-bit values
 *	open:PATH     descriptor, read-only; path:PATH the same with O_PATH, rw:PATH to write
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside.h"

enum { WORDS = 12, VALUES = 16, CALL_LIMIT_S = 5 };

/* Calls of the same number on every machine, which the headers may not know yet. */
enum {
	NR_OPEN_TREE = 428, NR_MOVE_MOUNT = 429, NR_FSOPEN = 430, NR_FSCONFIG = 431,
	NR_FSMOUNT = 432, NR_FSPICK = 433, NR_CLONE3 = 435, NR_PIDFD_OPEN = 434, NR_OPENAT2 = 437,
	NR_PIDFD_GETFD = 438, NR_PROCESS_MADVISE = 440, NR_MOUNT_SETATTR = 442,
	NR_QUOTACTL_FD = 443, NR_LANDLOCK_CREATE = 444, NR_MEMFD_SECRET = 447,
	NR_STATMOUNT = 457, NR_LISTMOUNT = 458, NR_OPEN_TREE_ATTR = 467, NR_FILE_SETATTR = 469,
	NR_IO_URING_SETUP = 425, NR_IO_URING_ENTER = 426, NR_IO_URING_REGISTER = 427,
	NR_UNKNOWN = 900,
};

static const struct {
	const char *name;
	long nr;
} calls[] = {
#define C(x) { #x, SYS_##x }
	C(acct), C(add_key), C(adjtimex), C(bpf), C(capset), C(chroot), C(clock_adjtime),
	C(clock_settime), C(clone), C(delete_module), C(fallocate), C(fanotify_init), C(fchdir),
	C(finit_module), C(getsockopt), C(init_module), C(ioctl), C(ioprio_set), C(kcmp), C(keyctl), C(kill),
	C(linkat), C(lookup_dcookie), C(mbind), C(memfd_create), C(migrate_pages), C(mkdirat), C(mknodat), C(mlockall),
	C(mmap), C(mount), C(move_pages), C(name_to_handle_at), C(nfsservctl), C(openat),
	C(open_by_handle_at), C(perf_event_open), C(personality), C(pivot_root), C(prctl),
	C(prlimit64), C(process_vm_readv), C(process_vm_writev), C(ptrace), C(quotactl),
	C(readlinkat), C(reboot), C(request_key), C(sched_setscheduler), C(setdomainname), C(setgid), C(setgroups),
	C(sethostname), C(setns), C(setpriority), C(setrlimit), C(set_mempolicy), C(settimeofday), C(setuid),
	C(socket), C(socketpair), C(swapoff), C(swapon), C(syslog), C(umount2), C(unlinkat),
	C(unshare), C(userfaultfd), C(vhangup), C(kexec_load), C(fchmodat), C(fchownat), C(truncate),
#ifdef __x86_64__
	C(ioperm), C(iopl), C(kexec_file_load), C(mknod), C(modify_ldt), C(_sysctl), C(sysfs),
	C(uselib), C(ustat), C(fork),
#endif
#undef C
	{ "open_tree", NR_OPEN_TREE }, { "move_mount", NR_MOVE_MOUNT }, { "fsopen", NR_FSOPEN },
	{ "fsconfig", NR_FSCONFIG }, { "fsmount", NR_FSMOUNT }, { "fspick", NR_FSPICK },
	{ "clone3", NR_CLONE3 }, { "pidfd_open", NR_PIDFD_OPEN }, { "openat2", NR_OPENAT2 },
	{ "pidfd_getfd", NR_PIDFD_GETFD }, { "process_madvise", NR_PROCESS_MADVISE },
	{ "mount_setattr", NR_MOUNT_SETATTR }, { "quotactl_fd", NR_QUOTACTL_FD },
	{ "landlock_create_ruleset", NR_LANDLOCK_CREATE }, { "memfd_secret", NR_MEMFD_SECRET },
	{ "statmount", NR_STATMOUNT }, { "listmount", NR_LISTMOUNT },
	{ "open_tree_attr", NR_OPEN_TREE_ATTR }, { "file_setattr", NR_FILE_SETATTR },
	{ "io_uring_setup", NR_IO_URING_SETUP }, { "io_uring_enter", NR_IO_URING_ENTER },
	{ "io_uring_register", NR_IO_URING_REGISTER }, { "unknown", NR_UNKNOWN },
};

/* The words of an attempt whose descriptor could not be opened have told all there is. */
static _Noreturn void end(const char *attempt, const char *result, const char *detail)
{
	say_text(attempt, result, detail);
	_exit(0);
}

static long list(const char *text, int width)
{
	static uint64_t values[VALUES * WORDS];
	static size_t used;
	char *place = (char *)(values + used), *rest;
	size_t n = 0;

	used += VALUES;
	for (; *text && n < VALUES; n++) {
		uint64_t v = strtoull(text, &rest, 0);
		memcpy(place + n * (size_t)width, &v, (size_t)width);
		text = rest + (*rest == ',');
	}
	return (long)place;
}

static long descriptor(const char *attempt, const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		end(attempt, error_name(errno), "open");
	return fd;
}

static long argument(const char *attempt, const char *word)
{
	if (*word == '\'')
		return (long)(word + 1);
	if (!strcmp(word, "null"))
		return 0;
	if (!strncmp(word, "buf:", 4))
		return (long)calloc(1, strtoul(word + 4, NULL, 0));
	if (!strncmp(word, "q:", 2))
		return list(word + 2, 8);
	if (!strncmp(word, "d:", 2))
		return list(word + 2, 4);
	if (!strncmp(word, "open:", 5))
		return descriptor(attempt, word + 5, O_RDONLY);
	if (!strncmp(word, "rw:", 3))
		return descriptor(attempt, word + 3, O_RDWR);
	if (!strncmp(word, "path:", 5))
		return descriptor(attempt, word + 5, O_PATH);
	return *word == '-' ? strtol(word, NULL, 0) : (long)strtoull(word, NULL, 0);
}

static long number_of(const char *name)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].nr;
	return -1;
}

static void attempt_call(char *line)
{
	char *words[WORDS] = { 0 }, *save = NULL;
	long a[WORDS] = { 0 };
	size_t n = 0;

	for (char *w = strtok_r(line, " ", &save); w && n < WORDS; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (n < 2)
		end("?", "USAGE", "");
	long nr = number_of(words[1]);
	if (nr < 0)
		end(words[0], "ABSENT", words[1]);
	for (size_t i = 2; i < n; i++)
		a[i - 2] = argument(words[0], words[i]);
	pid_t me = getpid();
	errno = 0;
	long r = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	int error = errno;
	/* The new process of clone or fork has nothing to say. */
	if (getpid() != me)
		_exit(0);
	say(words[0], r, error);
}

static int run_calls(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		int status;
		pid_t child = fork();
		if (child < 0)
			return 3;
		if (!child) {
			alarm(CALL_LIMIT_S);
			attempt_call(argv[i]);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (WIFSIGNALED(status)) {
			char name[32];
			snprintf(name, sizeof name, WTERMSIG(status) == SIGSYS ? "SIGSYS" : "SIG%d",
				WTERMSIG(status));
			argv[i][strcspn(argv[i], " ")] = 0;
			say_text(argv[i], name, "");
		}
	}
	return 0;
}

/* --- calls of another machine: i386 by int 0x80, x32 by the bit in the number ---------------- */

#ifdef __x86_64__
enum { X32_BIT = 0x40000000 };

static long call_i386(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80"
		: "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static long call_x32(long nr, long a, long b, long c)
{
	long r = syscall(nr | X32_BIT, a, b, c);

	return r < 0 ? -errno : r;
}

static int run_foreign(int argc, char **argv)
{
	static const struct {
		const char *name;
		long (*call)(long nr, long a, long b, long c);
		long nr, a, b, c;
	} all[] = {
		{ "i386-getpid", call_i386, 20, 0, 0, 0 },
		{ "i386-socket", call_i386, 359, 1, 1, 0 },
		{ "i386-mount", call_i386, 21, 0, 0, 0 },
		{ "i386-ptrace", call_i386, 26, 0, 0, 0 },
		{ "i386-clock_settime", call_i386, 264, 99, 0, 0 },
		{ "x32-getpid", call_x32, 39, 0, 0, 0 },
		{ "x32-socket", call_x32, 41, 40, 1, 0 },
		{ "x32-mount", call_x32, 165, 0, 0, 0 },
		{ "x32-ptrace", call_x32, 521, 0, 0, 0 },
	};

	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int status;
		pid_t child = fork();
		if (child < 0)
			return 3;
		if (!child) {
			alarm(CALL_LIMIT_S);
			long r = all[i].call(all[i].nr, all[i].a, all[i].b, all[i].c);
			say(all[i].name, r < 0 ? -1 : r, (int)-r);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (WIFSIGNALED(status))
			say_text(all[i].name, WTERMSIG(status) == SIGSYS ? "SIGSYS" : "SIGNAL", "");
	}
	return 0;
}
#else
static int run_foreign(int argc, char **argv)
{
	(void)argc, (void)argv;
	say_text("none", "ABSENT", "");
	return 0;
}
#endif

const struct probe call_probes[] = {
	{ "calls", run_calls },
	{ "foreign", run_foreign },
	{ 0 },
};
