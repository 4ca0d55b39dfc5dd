/* Processes, memory and what a program is allowed to be. All of it is bounded in time. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inside.h"

enum { MIB = 1 << 20 };

/* status: what the kernel says about this process's rights */
static int run_status(int argc, char **argv)
{
	static const char *const wanted[] = { "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff",
		"CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "NSpid", "Seccomp_filters" };
	char line[512];
	FILE *f = fopen("/proc/self/status", "re");

	(void)argc, (void)argv;
	if (!f)
		return 3;
	while (fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		colon[1 + strcspn(colon + 1, "\n")] = 0;
		for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
			if (!strcmp(line, wanted[i]))
				say_text(line, "OK", colon + 1 + strspn(colon + 1, "\t "));
	}
	fclose(f);
	char bits[16];
	snprintf(bits, sizeof bits, "%d", prctl(PR_GET_SECUREBITS));
	say_text("securebits", "OK", bits);
	snprintf(bits, sizeof bits, "%d", prctl(PR_GET_DUMPABLE));
	say_text("dumpable", "OK", bits);
	return 0;
}

/* by-memfd: copies this program into anonymous memory and runs `status` from there */
static int run_by_memfd(int argc, char **argv)
{
	char buffer[65536];
	ssize_t n;
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = (int)syscall(SYS_memfd_create, "again", 0);

	(void)argc, (void)argv;
	if (in < 0 || out < 0) {
		say("memfd", -1, errno);
		return 1;
	}
	while ((n = read(in, buffer, sizeof buffer)) > 0)
		if (write(out, buffer, (size_t)n) != n)
			return 3;
	close(in);
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("mmap-rwx", p == MAP_FAILED ? -1 : 0, errno);
	say("memfd", 0, 0);
	char *again[] = { (char *)"again", (char *)"status", NULL }, *env[] = { NULL };
	syscall(SYS_execveat, out, "", again, env, 0x1000 /* AT_EMPTY_PATH */);
	say("execveat", -1, errno);
	return 1;
}

/* eat KIND MIB: takes memory; malloc, shared, memfd, shm. Prints how far it got. */
static int run_eat(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	long wanted = atol(argv[1]);
	int fd = -1;
	if (!strcmp(argv[0], "memfd"))
		fd = (int)syscall(SYS_memfd_create, "eat", 0);
	if (!strcmp(argv[0], "shm"))
		fd = open("/dev/shm/eat", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int flags = !strcmp(argv[0], "malloc") ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_ANONYMOUS;
	for (long i = 0; i < wanted; i++) {
		static char block[MIB];
		if (fd >= 0) {
			memset(block, (int)i | 1, sizeof block);
			ssize_t n = write(fd, block, sizeof block);
			if (n == (ssize_t)sizeof block)
				continue;
			say("eat", n < 0 ? -1 : n, n < 0 ? errno : ENOSPC);
			return 1;
		}
		void *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p == MAP_FAILED) {
			say("eat", -1, errno);
			return 1;
		}
		memset(p, (int)i | 1, MIB);
	}
	say("eat", wanted, 0);
	return 0;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* bomb SECONDS: everybody forks; says at the end what the most was that lived by its own count */
static int run_bomb(int argc, char **argv)
{
	double end = now_s() + (argc ? atof(argv[0]) : 2);
	long forked = 0, refused = 0;
	pid_t first = getpid();

	while (now_s() < end) {
		pid_t p = fork();
		if (p < 0) {
			refused++;
			usleep(1000);
		} else if (p > 0) {
			forked++;
		}
	}
	if (getpid() != first)
		_exit(0);
	char detail[64];
	snprintf(detail, sizeof detail, "%ld", refused);
	say_text("refused", refused ? "EAGAIN" : "OK", detail);
	return 0;
}

/* zombies N: children that end, never waited for; orphans too */
static int run_zombies(int argc, char **argv)
{
	long n = argc ? atol(argv[0]) : 100, made = 0;

	for (long i = 0; i < n; i++) {
		pid_t p = fork();
		if (p < 0)
			continue;
		if (!p) {
			if (!fork())
				_exit(0);
			_exit(0);
		}
		made++;
		/* The parent only ever waits for some: the rest are zombies until it ends. */
		if (i % 4 == 0)
			waitpid(p, NULL, 0);
	}
	say("made", made, 0);
	return 0;
}

/* daemon SECONDS: double fork, setsid, deaf to signals; prints nothing more */
static int run_daemon(int argc, char **argv)
{
	unsigned seconds = argc ? (unsigned)atoi(argv[0]) : 5;

	for (int i = 1; i < 64; i++)
		signal(i, SIG_IGN);
	for (int depth = 0; depth < 2; depth++) {
		pid_t p = fork();
		if (p < 0)
			return 3;
		if (p)
			_exit(0);
		setsid();
	}
	for (time_t end = time(NULL) + (time_t)seconds; time(NULL) < end;)
		sleep(1);
	return 0;
}

/* stop KIND: self, group, vfork, deaf. Never ends by itself before 60 s. */
static int run_stop(int argc, char **argv)
{
	const char *kind = argc ? argv[0] : "self";

	alarm(60);
	if (!strcmp(kind, "self"))
		kill(getpid(), SIGSTOP);
	if (!strcmp(kind, "group"))
		kill(0, SIGSTOP);
	if (!strcmp(kind, "vfork")) {
		pid_t p = vfork();
		if (!p)
			for (;;)
				pause();
	}
	for (int i = 1; i < 64; i++)
		if (i != SIGALRM)
			signal(i, SIG_IGN);
	for (;;)
		pause();
	return 0;
}

/* spin N: N processes that compute until they are ended */
static int run_spin(int argc, char **argv)
{
	long n = argc ? atol(argv[0]) : 1;

	alarm(60);
	for (long i = 1; i < n; i++)
		if (!fork()) {
			alarm(60);
			for (volatile unsigned long k = 0;; k++)
				;
		}
	for (volatile unsigned long k = 0;; k++)
		;
	return 0;
}

const struct probe process_probes[] = {
	{ "status", run_status },
	{ "by-memfd", run_by_memfd },
	{ "eat", run_eat },
	{ "bomb", run_bomb },
	{ "zombies", run_zombies },
	{ "daemon", run_daemon },
	{ "stop", run_stop },
	{ "spin", run_spin },
	{ 0 },
};
