/* The parts of a weak jail that need no session: its plan, its paths, the end of a tree. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/mem.h"
#include "jail/host.h"
#include "jail/plan.h"
#include "jail/weak-tree.h"
#include "session/spec.h"
#include "sys/landlock.h"

static void make(uint32_t id_base, struct plan *p)
{
	static const struct jail_file files[] = { { "python.py", "print()\n", 8 } };
	struct jail_spec s = { .id = "sess_a", .hostname = "box", .fs_fd = -1, .skel_fd = -1,
		.is_weak = true, .id_base = id_base, .files = files, .n_files = 1 };
	struct fault f;

	*p = (struct plan){ 0 };
	assert_int_equal(plan_make(&s, p, &f), 0);
}

static void test_plan_mounts_nothing(void **state)
{
	struct plan p;

	(void)state;
	make(0, &p);
	for (uint32_t i = 0; i < p.n_ops; i++)
		assert_true(p.ops[i].kind == PLAN_KEYRING || p.ops[i].kind == PLAN_DIRECTORY ||
			p.ops[i].kind == PLAN_FILE);
	assert_int_equal(p.n_exec_ops, 0);
	plan_done(&p);
}

/* Only below the session's own directory can anything be made; to devices it is written. */
static void test_plan_writes_in_one_place(void **state)
{
	uint32_t changes = LANDLOCK_ALL & ~(LANDLOCK_EXECUTE | LANDLOCK_READ | LANDLOCK_READ_DIR);
	struct plan p;

	(void)state;
	make(0, &p);
	for (uint32_t i = 0; i < p.n_rules; i++) {
		const struct plan_rule *r = &p.rules[i];
		if (!strcmp(r->path, "up"))
			assert_false(r->access & (LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK));
		else if (r->access & changes)
			assert_int_equal(strncmp(r->path, "/dev/", 5), 0);
	}
	plan_done(&p);
}

static size_t count(const struct plan *p, const char *call)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_calls; i++)
		n += !strcmp(p->calls[i].name, call);
	return n;
}

/* With an id of its own the payload owns nothing outside, and may use names. */
static void test_plan_of_owner_refuses_more(void **state)
{
	struct plan owner, other;

	(void)state;
	make(0, &owner);
	make(0x70000000, &other);
	assert_true(count(&owner, "fchmodat") && !count(&other, "fchmodat"));
	assert_true(count(&owner, "shmget") && count(&other, "shmget"));
	/* Of several rules for a call the first that fits decides. */
	for (size_t i = 0; i < other.n_calls; i++)
		if (!strcmp(other.calls[i].name, "socket")) {
			assert_true(!other.calls[i].when[0].test && other.calls[i].action != SECCOMP_ALLOW);
			break;
		}
	plan_done(&owner);
	plan_done(&other);
}

static void path_is(const char *path, const char *want)
{
	auto_free char *got = weak_path("/s/fs", path);

	assert_string_equal(got, want);
}

static void test_paths(void **state)
{
	(void)state;
	path_is("/workspace", "/s/fs/up/workspace");
	path_is("/workspace/a b", "/s/fs/up/workspace/a b");
	path_is("/workspaces", "/workspaces");
	path_is("/tmp/../etc", "/s/fs/up/tmp/../etc");
	path_is("/run/sbx/python.py", "/s/fs/run/python.py");
	path_is("/usr/tmp", "/usr/tmp");
	path_is("tmp", "tmp");
}

static void test_command(void **state)
{
	char *argv[] = { (char *)"cat", (char *)"/tmp/x", NULL };
	char *env[] = { (char *)"PATH=/home/sandbox/bin:/usr/bin:/tmp", (char *)"A=x/tmp", (char *)"B=",
		(char *)"TMPDIR=/tmp", NULL };
	struct jail_command c = { .argv = argv, .env = env, .uid = JAIL_UID, .gid = JAIL_UID };

	(void)state;
	weak_command("/s/fs", 100000, &c);
	assert_string_equal(c.cwd, "/s/fs/up/workspace");
	assert_string_equal(c.argv[1], "/tmp/x"); /* a program's arguments are its own */
	assert_string_equal(c.env[0], "PATH=/s/fs/up/home/sandbox/bin:/usr/bin:/s/fs/up/tmp");
	assert_string_equal(c.env[1], "A=x/tmp");
	assert_string_equal(c.env[2], "B=");
	assert_string_equal(c.env[3], "TMPDIR=/s/fs/up/tmp");
	assert_int_equal(c.uid, 101000);
	weak_command_done(&c);
}

static void test_path_back(void **state)
{
	char root[] = "/s/fs";
	struct jail j = { .weak_root = root };

	(void)state;
	auto_free char *inside = jail_path_inside(&j, "/s/fs/up/tmp/a.png");
	auto_free char *other = jail_path_inside(&j, "/etc/passwd");
	assert_string_equal(inside, "/tmp/a.png");
	assert_string_equal(other, "/etc/passwd");
}

/* A subreaper with a tree that went to its own session and ignores what can be ignored; beside it
 * a process that is none of its own. */
static int sweep_a_tree(void)
{
	int ready[2];
	char c;

	prctl(PR_SET_CHILD_SUBREAPER, 1ul, 0ul, 0ul, 0ul);
	if (pipe(ready) < 0)
		return 9;
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			signal(SIGTERM, SIG_IGN);
			setsid();
			if (fork() && i)
				_exit(0);
			if (write(ready[1], "r", 1) != 1)
				_exit(9);
			for (;;)
				pause();
		}
	for (int i = 0; i < 4; i++)
		if (read(ready[0], &c, 1) != 1)
			return 9;
	uint32_t n = weak_tree_sweep();
	return n == 4 && waitpid(-1, NULL, WNOHANG) < 0 ? 0 : 1;
}

static void test_a_tree_ends_and_nobody_else(void **state)
{
	int status;
	pid_t other = fork();

	(void)state;
	if (!other)
		for (;;)
			pause();
	pid_t pid = fork();
	if (!pid)
		_exit(sweep_a_tree());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void test_warning_says_signals(void **state)
{
	(void)state;
	assert_non_null(strstr(spec_weak_warning(5, true), "signal"));
	assert_null(strstr(spec_weak_warning(6, true), "signal"));
	assert_null(strstr(spec_weak_warning(5, false), "signal"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_mounts_nothing),
		cmocka_unit_test(test_plan_writes_in_one_place),
		cmocka_unit_test(test_plan_of_owner_refuses_more),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_path_back),
		cmocka_unit_test(test_a_tree_ends_and_nobody_else),
		cmocka_unit_test(test_warning_says_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
