/*
 * How long a jail takes: start, /bin/true, end; and an execution by a spare.
 *
 *	bench-jail [ROUNDS [PROGRAM]]    medians in µs, one JSON object; PROGRAM for spare_exec
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/mem.h"
#include "rig.h"

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t median(int64_t *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
	return v[n / 2];
}

static void expect(struct jail_exec *x, enum jail_exec_event_kind kind)
{
	struct jail_exec_event e;

	rig_exec_event(x, &e);
	if (e.kind != kind) {
		fprintf(stderr, "event %d in place of %d (%s: %s)\n", e.kind, kind, e.stage,
			strerror(e.sysno));
		abort();
	}
}

static void run_program(struct jail_exec *x, char *const *argv)
{
	struct jail_command c = rig_default(argv);
	struct fault f;

	if (jail_exec_start(x, &c, &f) < 0)
		abort();
	expect(x, JAIL_EXEC_STARTED);
	expect(x, JAIL_EXEC_ENDED);
}

/* [µs] CPU time of this process and of all that it waited for: unlike the clock it does not
 * mind what else the machine does. */
static int64_t cpu_us(void)
{
	struct rusage self, all;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &all);
	return (int64_t)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + all.ru_utime.tv_sec +
		all.ru_stime.tv_sec) * 1000000 + self.ru_utime.tv_usec + self.ru_stime.tv_usec +
		all.ru_utime.tv_usec + all.ru_stime.tv_usec;
}

static int64_t run_bwrap(void)
{
	int64_t start_us = clock_now_us();
	pid_t pid = vfork();

	if (!pid) {
		execl("/usr/bin/bwrap", "bwrap", "--unshare-all", "--ro-bind", "/", "/", "/bin/true", NULL);
		_exit(127);
	}
	int status;
	waitpid(pid, &status, 0);
	if (status)
		abort();
	return clock_now_us() - start_us;
}

/* Into the skeleton: nothing of /tmp is seen inside. */
static char *bring(struct rig *r, const char *path)
{
	auto_free char *command = mem_format("install -m 755 '%s' '%s/skel/small'", path, r->dir);

	if (system(command))
		abort();
	return (char *)"/small";
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 50;
	char *program[] = { (char *)"/bin/true", NULL };
	char *small[] = { (char *)"/bin/true", NULL };
	auto_free int64_t *all = mem_new_array(int64_t, 5 * n);
	int64_t *ready = all, *run = all + n, *whole = all + 2 * n, *bwrap = all + 3 * n,
		*spare = all + 4 * n;
	struct rig r;
	struct jail_exec *x;

	rig_make(&r);
	if (argc > 2)
		small[0] = bring(&r, argv[2]);
	int64_t cpu_jail_us = 0, cpu_bwrap_us = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t start_us = clock_now_us(), start_cpu_us = cpu_us();
		rig_start(&r);
		ready[i] = clock_now_us() - start_us;
		run_program(r.spare, program);
		run[i] = clock_now_us() - start_us;
		r.spare = jail_exec_free(r.spare);
		r.jail = jail_free(r.jail);
		whole[i] = clock_now_us() - start_us;
		cpu_jail_us += cpu_us() - start_cpu_us;
		rig_stop(&r);
		start_cpu_us = cpu_us();
		bwrap[i] = run_bwrap();
		cpu_bwrap_us += cpu_us() - start_cpu_us;
	}
	rig_start(&r);
	for (size_t i = 0; i < n; i++) {
		x = rig_take(&r);
		usleep(2000);
		int64_t start_us = clock_now_us();
		run_program(x, small);
		spare[i] = clock_now_us() - start_us;
		jail_exec_free(x);
	}
	rig_close(&r);
	printf("{\"rounds\":%zu,\"ready_us\":%lld,\"ended_us\":%lld,\"whole_us\":%lld,", n,
		(long long)median(ready, n), (long long)median(run, n), (long long)median(whole, n));
	printf("\"bwrap_us\":%lld,\"spare_exec_us\":%lld,", (long long)median(bwrap, n),
		(long long)median(spare, n));
	printf("\"jail_cpu_us\":%lld,\"bwrap_cpu_us\":%lld}\n", (long long)(cpu_jail_us / (int64_t)n),
		(long long)(cpu_bwrap_us / (int64_t)n));
	return 0;
}
