/*
 * fuzz SEED MS: random system calls with arguments of interesting shapes, for so long.
 *
 * Each round is a child of its own that makes some descriptors and then CALLS calls; a round is
 * repeated by `fuzz-round SEED ROUND`. Left out is only what would stop the fuzzer and nothing
 * else: leaving, and signals to its own parent. A timer interrupts what waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inside.h"

enum { CALLS = 200, ROUND_MS = 150, TICK_US = 3000, AREA = 64 * 1024, NR_MAX = 480, FDS = 24 };

static uint64_t state;
static char *area, *frozen; /* writable, with nothing behind it; read-only */

/* xorshift64*, the same everywhere. */
static uint64_t next(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static uint64_t pick(const uint64_t *list, size_t n)
{
	return list[next() % n];
}

#define PICK(list) pick(list, sizeof(list) / sizeof *(list))

static const char *const paths[] = { "/", ".", "..", "/proc/1/root", "/proc/1/exe", "/proc/self/exe",
	"/proc/self/fd/3", "/proc/self/ns/user", "/proc/self/mem", "/proc/sys/kernel/core_pattern",
	"/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/user/max_user_namespaces",
	"/proc/self/oom_score_adj", "/proc/self/uid_map", "/dev/null", "/dev/tty", "/dev/ptmx",
	"/dev/shm/fuzz", "/dev/mem", "/dev/loop0", "/dev/kmsg", "/etc/passwd", "/usr/bin/env", "/sys",
	"/sys/fs/cgroup", "/tmp/fuzz", "/workspace/fuzz/a", "/workspace/fuzz/b", "fuzz/../../..",
	"/run/sbx", "fuzz-key", "user", "keyring", "proc", "tmpfs", "cgroup2", "overlay", "security.capability",
	"user.fuzz", "trusted.overlay.opaque", "", "lo" };
static const uint64_t values[] = { 0, 1, 2, 3, 4, 7, 8, 15, 16, 63, 64, 127, 255, 256, 512, 1000,
	1024, 4095, 4096, 65535, 65536, 0x80000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x7fffffffffffffff, 0x8000000000000000, ~0ull, ~0ull - 1, ~0ull - 99 /* AT_FDCWD */,
	/* reboot(2), mount(2), clone(2), mknod(2), ioctl(2), socket(2) */
	0xfee1dead, 672274793, 0x01234567, 0x4321fedc, 0x1000, 0x1020, 0x4000, 0x40000, 0x10000000,
	0x20000, 0x40000000, 0x7e020000, 0020666, 0060666, 0100777, 0106777, 0x5412, 0x541c, 0x5423,
	0x4c00, 0x4c82, 0x1267, 0x125d, 0x890b, 0x8914, 0x8924, 0xae01, 17, 38, 40, 44, 0x800, 0x80800 };

static uint64_t pointer(void)
{
	static const uint64_t wild[] = { 0, 1, 8, 0x1000, 0x400000, 0x7fffffffe000, 0x800000000000,
		0xffff800000000000, 0xffffffff81000000, ~0ull, ~7ull };

	switch (next() % 8) {
	case 0:
		return PICK(wild);
	case 1:
		return (uint64_t)(area + AREA - next() % 64); /* runs off its end */
	case 2:
		return (uint64_t)frozen;
	case 3:
	case 4:
		return (uint64_t)paths[next() % (sizeof paths / sizeof *paths)];
	default:
		return (uint64_t)(area + (next() % AREA & ~7ull));
	}
}

static uint64_t argument(void)
{
	switch (next() % 8) {
	case 0:
	case 1:
		return next() % FDS;
	case 2:
	case 3:
		return PICK(values);
	case 4:
		return next() & next();
	default:
		return pointer();
	}
}

/* Structures that calls read: descriptors, numbers, pointers to more of it. */
static void fill(void)
{
	for (int i = 0; i < 256; i++) {
		uint64_t v = argument();
		memcpy(area + (next() % (AREA - 8) & ~3ull), &v, next() % 2 ? 8 : 4);
	}
}

/* Whom signals and limits may reach: process 1, itself, nobody. */
static uint64_t process(void)
{
	const uint64_t all[] = { 1, (uint64_t)getpid(), 0x3fffffff, ~0x3fffffffull, 1ull << 32 | 1 };

	return PICK(all);
}

static long make_call(void)
{
	long nr = next() % 64 ? (long)(next() % NR_MAX) : (long)(next() % NR_MAX | 0x40000000);
	uint64_t a[6];

	for (int i = 0; i < 6; i++)
		a[i] = argument();
	switch (nr) {
	case SYS_exit:
	case SYS_exit_group:
	case SYS_rt_sigreturn:
		return 0;
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
	case SYS_rt_sigqueueinfo:
	case SYS_rt_tgsigqueueinfo:
	case SYS_prlimit64:
	case SYS_setpriority:
	case SYS_process_vm_writev:
		a[0] = process();
		a[1] = nr == SYS_tgkill || nr == SYS_rt_tgsigqueueinfo || nr == SYS_setpriority ?
			process() : a[1];
		break;
	case SYS_clone:
		a[1] = 0; /* a stack of nobody would only crash */
		a[0] &= ~0xff00ull;
		break;
	default:
		break;
	}
	pid_t me = getpid();
	long r = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if ((pid_t)syscall(SYS_getpid) != me)
		_exit(0);
	return r;
}

static void open_some(void)
{
	int pair[2], null = open("/dev/null", O_RDWR);

	/* Its own output stays that of the parent alone. */
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	for (size_t i = 0; i < sizeof paths / sizeof *paths && i < 16; i++)
		(void)!open(paths[next() % (sizeof paths / sizeof *paths)],
			next() % 2 ? O_RDONLY | O_NONBLOCK : O_RDWR | O_CREAT | O_NONBLOCK, 0600);
	if (!pipe2(pair, O_NONBLOCK))
		(void)!write(pair[1], "fuzz", 4);
	(void)!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
	(void)!socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	(void)!socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, 0);
	(void)!eventfd(0, EFD_NONBLOCK);
	(void)!syscall(SYS_memfd_create, "fuzz", 0);
}

static void go_on(int signal)
{
	(void)signal;
}

static void limit(int which, rlim_t value)
{
	setrlimit(which, &(struct rlimit){ value, value });
}

static _Noreturn void be_round(uint64_t seed, uint64_t number)
{
	struct itimerval tick = { { 0, TICK_US }, { 0, TICK_US } };

	state = seed * 0x9e3779b97f4a7c15ull + number * 2 + 1;
	for (int i = 0; i < 8; i++)
		next();
	area = mmap(NULL, AREA + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	frozen = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || frozen == MAP_FAILED || mprotect(area, AREA, PROT_READ | PROT_WRITE))
		_exit(3);
	limit(RLIMIT_FSIZE, 1 << 20);
	limit(RLIMIT_AS, 256 << 20);
	limit(RLIMIT_CPU, 2);
	/* Not restarted: what waits is told EINTR. */
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = go_on }, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	open_some();
	for (int i = 0; i < CALLS; i++) {
		if (i % 8 == 0)
			fill();
		make_call();
	}
	_exit(0);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How it ended: 0 by itself, 1 by a signal, 2 it had to be killed. */
static int run_round(uint64_t seed, uint64_t number)
{
	int status = 0, late = 0;
	pid_t child = fork();

	if (!child)
		be_round(seed, number);
	if (child < 0) {
		usleep(1000);
		return 2;
	}
	int fd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t end = now_ms() + ROUND_MS;
	while (poll(&p, 1, (int)(end - now_ms() > 0 ? end - now_ms() : 0)) < 0)
		;
	if (!(p.revents & POLLIN)) {
		late = 1;
		kill(child, SIGKILL);
	}
	close(fd);
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	/* What a round cloned lives on without a parent; that of the execution collects it. */
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		;
	return late ? 2 : WIFSIGNALED(status);
}

static int run_fuzz(int argc, char **argv)
{
	uint64_t seed = argc ? strtoull(argv[0], NULL, 0) : 1, n = 0;
	int64_t end = now_ms() + (argc > 1 ? atol(argv[1]) : 1000);
	unsigned ends[3] = { 0 };
	char detail[96];

	mkdir("/workspace/fuzz", 0700);
	signal(SIGXFSZ, SIG_IGN);
	for (; now_ms() < end; n++)
		ends[run_round(seed, n)]++;
	snprintf(detail, sizeof detail, "%u by themselves, %u by a signal, %u late", ends[0], ends[1],
		ends[2]);
	say("rounds", (long)n, 0);
	say_text("ended", "OK", detail);
	return 0;
}

static int run_fuzz_round(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	say("round", run_round(strtoull(argv[0], NULL, 0), strtoull(argv[1], NULL, 0)), 0);
	return 0;
}

const struct probe fuzz_probes[] = {
	{ "fuzz", run_fuzz },
	{ "fuzz-round", run_fuzz_round },
	{ 0 },
};
