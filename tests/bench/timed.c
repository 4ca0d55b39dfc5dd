/*
 * Times a command from outside: one run for every line of stdin, its wall time [ns] to stdout.
 *
 *	timed [-m MNT] [-w WORKERS] [-n RUNS] [-a AFTER] COMMAND...
 *
 *	-m MNT      in the mount namespace of this file
 *	-w, -n      one sample is WORKERS processes of RUNS runs each, at the same time
 *	-a AFTER    a line for sh after each sample, untimed
 *
 * A run that fails ends it: "failed STATUS". Commands read and write /dev/null; stderr is ours.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct timed {
	char **argv;
	const char *after;
	int null_fd, mnt_fd;
	long workers, runs;
};

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int wait_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* vfork, as the cheapest caller there is: what is measured is the command. */
static int run(const struct timed *t)
{
	pid_t pid = vfork();

	if (!pid) {
		if (t->mnt_fd >= 0 && setns(t->mnt_fd, CLONE_NEWNS) < 0)
			_exit(126);
		dup2(t->null_fd, 0);
		dup2(t->null_fd, 1);
		execv(t->argv[0], t->argv);
		_exit(127);
	}
	return pid < 0 ? 255 : wait_status(pid);
}

static int work(const struct timed *t)
{
	int status = 0;

	for (long i = 0; i < t->runs && !status; i++)
		status = run(t);
	return status;
}

static int sample(const struct timed *t, long long *ret_ns)
{
	long long start_ns = now_ns();
	int status = 0;

	if (t->workers == 1) {
		status = work(t);
	} else {
		for (long i = 0; i < t->workers; i++)
			if (fork() == 0)
				_exit(work(t));
		for (long i = 0; i < t->workers; i++)
			status |= wait_status(-1);
	}
	*ret_ns = now_ns() - start_ns;
	return status;
}

static long positive(const char *s)
{
	char *end;
	long n = strtol(s, &end, 10);

	if (*end || n < 1 || n > 10000) {
		fprintf(stderr, "timed: %s: not from 1 to 10000\n", s);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct timed t = { .null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), .mnt_fd = -1,
		.workers = 1, .runs = 1 };
	long long ns;
	int c, status;

	while ((c = getopt(argc, argv, "+m:w:n:a:")) != -1) {
		if (c == 'm')
			t.mnt_fd = open(optarg, O_RDONLY | O_CLOEXEC);
		else if (c == 'w')
			t.workers = positive(optarg);
		else if (c == 'n')
			t.runs = positive(optarg);
		else if (c == 'a')
			t.after = optarg;
		else
			return 2;
		if (c == 'm' && t.mnt_fd < 0) {
			perror(optarg);
			return 2;
		}
	}
	t.argv = argv + optind;
	if (optind == argc || t.null_fd < 0)
		return 2;
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		status = sample(&t, &ns);
		if (t.after && system(t.after) < 0)
			status = 255;
		if (status) {
			printf("failed %d\n", status);
			return 1;
		}
		printf("%lld\n", ns);
		fflush(stdout);
	}
	return 0;
}
