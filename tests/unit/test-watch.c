#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "session/watch.h"
#include "sys/proc.h"
#include "temp-dir.h"

static int up;

static int place_new(void **state)
{
	if (temp_dir_setup(state) < 0)
		return -1;
	up = ((struct temp_dir *)*state)->fd;
	return 0;
}

static int write_file(const char *name, size_t mib)
{
	static char block[MIB];
	int fd = openat(up, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	for (size_t i = 0; i < mib; i++)
		assert_int_equal(fd_write_all(fd, block, sizeof block), 0);
	return fd;
}

static void test_disk_none(void **state)
{
	struct watch_disk w;
	uint64_t used = 7;

	(void)state;
	watch_disk_init(&w, 0);
	watch_disk_begin(&w, 1000);
	assert_int_equal(watch_disk_next_ms(&w), 0);
	assert_int_equal(watch_disk_step(&w, up, 2000, &used), 0);
	assert_int_equal(used, 7);
}

static void test_disk_over(void **state)
{
	struct watch_disk w;
	uint64_t used = 0;
	int64_t now = 1000;

	(void)state;
	watch_disk_init(&w, 16 * MIB);
	watch_disk_begin(&w, now);
	assert_int_equal(watch_disk_next_ms(&w), now + WATCH_FIRST_MS);
	/* Too early: nothing is looked at. */
	assert_int_equal(watch_disk_step(&w, up, now, &used), 0);
	assert_false(w.is_known);
	now = watch_disk_next_ms(&w);
	assert_int_equal(watch_disk_step(&w, up, now, &used), 0);
	assert_true(w.is_known);
	assert_true(watch_disk_next_ms(&w) >= now + WATCH_MIN_MS);
	close(write_file("a", 12));
	now = watch_disk_next_ms(&w) + 100;
	assert_int_equal(watch_disk_step(&w, up, now, &used), 0);
	/* It fell by more than half of 16 MiB: it was walked, and less is left. */
	assert_true(w.used_bytes >= 12 * MIB);
	close(write_file("b", 8));
	now = watch_disk_next_ms(&w) + 100;
	assert_int_equal(watch_disk_step(&w, up, now, &used), WATCH_OVER);
	assert_true(used >= 20 * MIB && used < 22 * MIB);
	assert_false(w.over_entries);
	assert_int_equal(unlinkat(up, "a", 0), 0);
	now = watch_disk_next_ms(&w) + 5000;
	assert_int_equal(watch_disk_step(&w, up, now, &used), 0);
	assert_true(w.used_bytes < 10 * MIB);
}

/* Another writer of the same file system fills it: the walk says that it was not us. */
static void test_disk_others(void **state)
{
	struct watch_disk w;
	uint64_t used = 0;
	char other[] = "/tmp/test-watch-other-XXXXXX";
	int fd = mkstemp(other);
	static char block[MIB];

	(void)state;
	watch_disk_init(&w, 8 * MIB);
	watch_disk_begin(&w, 1000);
	assert_int_equal(watch_disk_step(&w, up, 1100, &used), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(fd_write_all(fd, block, sizeof block), 0);
	assert_int_equal(watch_disk_step(&w, up, 1300, &used), 0);
	assert_true(w.used_bytes < MIB);
	close(fd);
	unlink(other);
}

static void test_disk_entries(void **state)
{
	struct watch_disk w;
	uint64_t used = 0;

	(void)state;
	watch_disk_init(&w, GIB);
	assert_true(w.limit_entries >= WATCH_ENTRIES_MIN);
	w.limit_entries = 300;
	watch_disk_begin(&w, 1000);
	assert_int_equal(watch_disk_step(&w, up, 1100, &used), 0);
	for (int i = 0; i < 400; i++) {
		char name[16];
		snprintf(name, sizeof name, "e%d", i);
		close(openat(up, name, O_WRONLY | O_CREAT, 0644));
	}
	assert_int_equal(watch_disk_step(&w, up, 100000, &used), WATCH_OVER);
	assert_true(w.over_entries);
}

static pid_t start(int (*fn)(void), int *ret_ready)
{
	int ready[2];

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a check that fails leaves nobody behind */
		fn();
		if (write(ready[1], "", 1) < 0)
			_exit(1);
		while (pause())
			;
	}
	close(ready[1]);
	*ret_ready = ready[0];
	return pid;
}

static void wait_ready(int fd)
{
	char c;

	assert_int_equal(read(fd, &c, 1), 1);
	close(fd);
}

static void end(pid_t pid)
{
	kill(-pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int family(void)
{
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			if (!fork())
				while (pause())
					;
			while (pause())
				;
		}
	usleep(20000);
	return 0;
}

static void test_tree(void **state)
{
	int ready;
	pid_t pid = start(family, &ready);
	uint64_t newest;
	pid_t gone;

	(void)state;
	wait_ready(ready);
	for (int i = 0; i < 1000 && watch_tree_count(pid, &newest) != 5; i++)
		usleep(5000);
	assert_int_equal(watch_tree_count(pid, &newest), 5);
	assert_true(newest >= proc_start_ticks(pid) && newest <= proc_now_ticks());
	struct watch_leader l;
	struct watch_look look;
	watch_leader_open(&l, getpid());
	watch_leader_look(&l, &look);
	assert_int_equal(look.children, 4);
	watch_leader_close(&l);
	assert_true(watch_child(pid) > 0);
	assert_int_equal(watch_tree_count(watch_child(pid), &newest), 2);
	int64_t begin = clock_now_us();
	for (int i = 0; i < 20; i++)
		assert_true(watch_tree_rss(pid) > 0);
	print_message("rss of 5 processes: %d us\n", (int)(clock_now_us() - begin) / 20);
	gone = pid;
	end(pid);
	assert_int_equal(watch_tree_count(gone, &newest), 0);
	assert_int_equal(watch_tree_rss(gone), 0);
	assert_int_equal(watch_child(gone), 0);
	assert_int_equal(watch_peak_rss(gone), 0);
	assert_int_equal(watch_tree_count(0, &newest), 0);
	assert_int_equal(newest, 0);
}

static int eat(void)
{
	for (int i = 0; i < 2; i++) {
		volatile char *p = malloc(16 * MIB);
		for (size_t at = 0; p && at < 16 * MIB; at += 4096)
			p[at] = 1;
		if (!i && fork())
			break;
	}
	return 0;
}

/* By CPU time: the machine may be busy. */
static void burn_60ms(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC * 60 / 1000;

	while (clock() < end)
		;
}

static int burn(void)
{
	if (!fork()) {
		burn_60ms();
		_exit(0);
	}
	waitpid(-1, NULL, 0);
	burn_60ms();
	return 0;
}

static void test_memory_and_cpu(void **state)
{
	int ready;
	pid_t pid = start(eat, &ready);

	(void)state;
	wait_ready(ready);
	uint64_t rss = 0;
	/* The child that has the first 16 MiB in common and makes 16 more may not be done yet. */
	for (int i = 0; i < 200 && rss < 31 * MIB; i++) {
		rss = watch_tree_rss(pid);
		usleep(5000);
	}
	/* What is common counts once, or twice where the kernel tells no parts; some of it is with
	 * whoever started this. */
	assert_true(rss >= 31 * MIB && rss < 64 * MIB);
	assert_true(watch_peak_rss(pid) >= 16 * MIB);
	end(pid);

	pid = start(burn, &ready);
	wait_ready(ready);
	struct watch_leader l;
	struct watch_look look;
	watch_leader_open(&l, getpid());
	assert_int_equal(l.pid, pid);
	watch_leader_look(&l, &look);
	int64_t us = look.cpu_us + look.waited_us;
	print_message("cpu: %d us\n", (int)us);
	assert_true(us >= 100000 && us < 200000);
	assert_true(look.waited_us >= 40000 && look.cpu_us >= 50000);
	assert_int_equal(look.children, 0);
	end(pid);
	watch_leader_look(&l, &look);
	assert_int_equal(look.cpu_us + look.waited_us, 0);
	watch_leader_close(&l);
}

static int hold_deleted(void)
{
	int fd = write_file("deleted", 5);

	unlinkat(up, "deleted", 0);
	fsync(fd);
	write_file("kept", 1);
	return fork() ? 0 : 1;
}

static void test_deleted(void **state)
{
	int ready;
	pid_t pid = start(hold_deleted, &ready);
	struct watch_disk w;
	uint64_t used = 0;

	(void)state;
	wait_ready(ready);
	/* Two processes have it open: it counts once. */
	uint64_t bytes = watch_tree_deleted(pid);
	assert_true(bytes >= 5 * MIB && bytes < 6 * MIB);
	watch_disk_init(&w, 4 * MIB);
	watch_disk_begin(&w, 1000);
	assert_int_equal(watch_disk_step(&w, up, 1100, &used), 0);
	w.tree = pid;
	assert_int_equal(watch_disk_step(&w, up, 90000, &used), WATCH_OVER);
	end(pid);
}

static void test_shm(void **state)
{
	(void)state;
	assert_true(watch_shm_is_empty(up));
	assert_int_equal(mkdirat(up, "dev", 0755), 0);
	assert_int_equal(mkdirat(up, "dev/shm", 0755), 0);
	assert_true(watch_shm_is_empty(up));
	close(openat(up, "dev/shm/x", O_CREAT | O_WRONLY, 0600));
	assert_false(watch_shm_is_empty(up));
	/* A link in its place is not followed, and not called empty. */
	assert_int_equal(unlinkat(up, "dev/shm/x", 0), 0);
	assert_int_equal(unlinkat(up, "dev/shm", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("/", up, "dev/shm"), 0);
	assert_false(watch_shm_is_empty(up));
}

#define in_place(t) cmocka_unit_test_setup_teardown(t, place_new, temp_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_place(test_disk_none), in_place(test_disk_over), in_place(test_disk_others),
		in_place(test_disk_entries), in_place(test_tree), in_place(test_memory_and_cpu),
		in_place(test_deleted), in_place(test_shm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
