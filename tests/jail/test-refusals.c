/* Where a jail cannot be made, or not as it should be: each says why, and none hangs. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "rig.h"

static struct jail_spec spec_of(const struct rig *r)
{
	/* Without a file of its own a jail has no mount at /run/sbx. */
	static const struct jail_file file = { "file", "x", 1 };

	return (struct jail_spec){ .id = "sess_rig", .hostname = "rig", .fs_fd = r->fs, .skel_fd = r->skel,
		.id_base = r->id_base, .shm_bytes = 1 << 20,
		.files = &file, .n_files = 1 };
}

/* Starts a jail that must fail in its set-up. */
static void expect_failure(struct rig *r, enum fault_kind kind, const char *text)
{
	struct jail_spec s = spec_of(r);
	struct jail_event e;
	struct fault f;

	assert_int_equal(jail_start(&s, &r->jail, &f), 0);
	assert_int_equal(jail_release(r->jail, NULL, 0, -1, &f), 0);
	rig_event(r, &e);
	assert_int_equal(e.kind, JAIL_EVENT_FAILED);
	assert_int_equal(e.number, 0);
	if (e.fault.kind != kind || !strstr(e.fault.text, text))
		fail_msg("%s: %s", fault_kind_name(e.fault.kind), e.fault.text);
	rig_event(r, &e);
	assert_int_equal(e.kind, JAIL_EVENT_DEAD);
	rig_stop(r);
}

static void test_places_that_are_links(void **state)
{
	static const char *const places[] = { "dev", "proc", "sys", "usr", "run/sbx" };
	struct rig r;

	(void)state;
	for (size_t i = 0; i < array_size(places); i++) {
		rig_make(&r);
		assert_int_equal(unlinkat(r.skel, places[i], AT_REMOVEDIR), 0);
		assert_int_equal(symlinkat("/tmp", r.skel, places[i]), 0);
		expect_failure(&r, FAULT_SYSTEM, places[i]);
		rig_remove(&r);
	}
}

static void test_missing_place(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r);
	assert_int_equal(unlinkat(r.skel, "usr", AT_REMOVEDIR), 0);
	expect_failure(&r, FAULT_SYSTEM, "bind /usr: No such file");
	rig_remove(&r);
}

static void test_second_mount_of_the_same_files(void **state)
{
	struct rig r, other;

	(void)state;
	rig_open(&r);
	other = r;
	other.jail = NULL;
	struct jail_spec s = spec_of(&r);
	struct jail_event e;
	struct fault f;
	assert_int_equal(jail_start(&s, &other.jail, &f), 0);
	assert_int_equal(jail_release(other.jail, NULL, 0, -1, &f), 0);
	rig_event(&other, &e);
	assert_int_equal(e.kind, JAIL_EVENT_FAILED);
	assert_non_null(strstr(e.fault.text, "overlay"));
	jail_free(other.jail);
	rig_close(&r);
}

static void test_work_directory_of_another(void **state)
{
	struct rig r;

	(void)state;
	if (geteuid()) {
		print_message("skipped: only root can give a directory away\n");
		return;
	}
	rig_make(&r);
	assert_int_equal(fchownat(r.fs, "wk", 0, 0, 0), 0);
	expect_failure(&r, FAULT_SYSTEM, "Read-only file system");
	rig_remove(&r);
}

static void test_root_needs_a_block(void **state)
{
	struct jail *j = NULL;
	struct fault f;
	struct rig r;

	(void)state;
	if (geteuid()) {
		print_message("skipped: not root\n");
		return;
	}
	rig_make(&r);
	struct jail_spec s = spec_of(&r);
	s.id_base = 0;
	assert_int_equal(jail_start(&s, &j, &f), -FAULT_DENIED);
	assert_null(j);
	rig_remove(&r);
}

/* Runs fn in a child; it returns the exit status. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int write_file(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

enum { OTHER_RESULT = 1, NOT_SET_UP = 2 };

static int without_userns(void)
{
	char map[32];
	struct fault f;
	unsigned uid = geteuid();

	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	if (unshare(CLONE_NEWUSER) < 0 || write_file("/proc/self/uid_map", map) < 0 ||
		write_file("/proc/sys/user/max_user_namespaces", "0") < 0)
		return NOT_SET_UP;
	if (rig_probe(&f) >= 0)
		return OTHER_RESULT;
	fprintf(stderr, "%s\n", f.text);
	return f.kind == FAULT_DENIED && strstr(f.text, "sysctl user.max_user_namespaces=") ? 0 :
										OTHER_RESULT;
}

static void test_no_user_namespaces(void **state)
{
	(void)state;
	if (!geteuid()) {
		print_message("skipped: as an ordinary user only\n");
		return;
	}
	assert_int_equal(in_child(without_userns), 0);
}

static int with_few_processes(void)
{
	struct rlimit few = { 1, 1 };
	struct fault f;

	if (setrlimit(RLIMIT_NPROC, &few) < 0)
		return NOT_SET_UP;
	if (rig_probe(&f) >= 0)
		return OTHER_RESULT;
	fprintf(stderr, "%s\n", f.text);
	return f.kind == FAULT_LIMIT && strstr(f.text, "ulimit -u") ? 0 : OTHER_RESULT;
}

static void test_no_processes_left(void **state)
{
	(void)state;
	if (!geteuid()) {
		print_message("skipped: root is not limited\n");
		return;
	}
	assert_int_equal(in_child(with_few_processes), 0);
}

/* The sysctl belongs to a pid namespace, so the host is not touched. */
static int without_memfd(void)
{
	struct rig r;
	struct rig_end e = { 0 };
	int status;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
		return NOT_SET_UP;
	pid_t pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		return WIFEXITED(status) ? WEXITSTATUS(status) : OTHER_RESULT;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("proc", "/proc", "proc", 0, NULL) < 0 ||
		write_file("/proc/sys/vm/memfd_noexec", "2") < 0)
		_exit(NOT_SET_UP);
	rig_open(&r);
	rig_run(&r, &e, (char *[]){ (char *)"/bin/true", NULL });
	bool right = !r.report.sealed && strstr(r.report.fallbacks, "memfd refused") && e.started &&
		!e.event.status;
	text_done(&e.out);
	rig_close(&r);
	_exit(right ? 0 : OTHER_RESULT);
}

static void test_memfd_refused(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("skipped: only root can forbid it\n");
		return;
	}
	int r = in_child(without_memfd);
	if (r == NOT_SET_UP)
		print_message("skipped: this kernel has no vm.memfd_noexec\n");
	else
		assert_int_equal(r, 0);
}

static int with_core_limit_0(void)
{
	struct rlimit none = { 0, 0 };
	struct rig r;

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return NOT_SET_UP;
	rig_open(&r);
	bool right = strstr(r.report.fallbacks, "core: ");
	rig_close(&r);
	return right ? 0 : OTHER_RESULT;
}

static void test_core_limit_cannot_be_set(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_core_limit_0), 0);
}

/* Standard descriptors that are closed, and others that must not get in. */
static int with_odd_descriptors(void)
{
	struct rig r;
	struct rig_end e = { 0 };

	rig_make(&r);
	for (int i = 3; i < 60; i++)
		if (fcntl(i, F_GETFD) < 0)
			dup2(2, i); /* without CLOEXEC */
	close(0);
	close(1);
	rig_start(&r);
	rig_run(&r, &e, (char *[]){ (char *)"ls", (char *)"/proc/self/fd", NULL });
	bool right = !strcmp(e.out.data, "0\n1\n2\n3\n");
	text_done(&e.out);
	rig_close(&r);
	return right ? 0 : OTHER_RESULT;
}

static void test_descriptors_of_the_caller_stay_out(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_odd_descriptors), 0);
}

static int with_odd_signals(void)
{
	struct rig r;
	struct rig_end e = { 0 };
	sigset_t all;

	for (int i = 1; i < 65; i++)
		if (i != SIGCHLD)
			signal(i, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	umask(0777);
	rig_open(&r);
	rig_run(&r, &e, (char *[]){ (char *)"grep", (char *)"-E", (char *)"^Sig(Blk|Ign)|^Umask",
		(char *)"/proc/self/status", NULL });
	bool right = !strcmp(e.out.data, "Umask:\t0022\nSigBlk:\t0000000000000000\n"
		"SigIgn:\t0000000000000000\n");
	text_done(&e.out);
	rig_close(&r);
	return right ? 0 : OTHER_RESULT;
}

static void test_signals_of_the_caller_stay_out(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_odd_signals), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_that_are_links),
		cmocka_unit_test(test_missing_place),
		cmocka_unit_test(test_second_mount_of_the_same_files),
		cmocka_unit_test(test_work_directory_of_another),
		cmocka_unit_test(test_root_needs_a_block),
		cmocka_unit_test(test_no_user_namespaces),
		cmocka_unit_test(test_no_processes_left),
		cmocka_unit_test(test_memfd_refused),
		cmocka_unit_test(test_core_limit_cannot_be_set),
		cmocka_unit_test(test_descriptors_of_the_caller_stay_out),
		cmocka_unit_test(test_signals_of_the_caller_stay_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
