#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sys/cgroup-inner.h"
#include "temp-dir.h"

/* --- where ---------------------------------------------------------------------------- */

static const char hybrid_self[] =
	"9:name=systemd:/\n4:memory:/process_api/0c36\n3:cpuset:/set\n2:cpuacct:/acct\n1:cpu:/\n0::/\n";
static const char hybrid_mounts[] =
	"23 1 8:1 / / rw,relatime - ext4 /dev/vda rw\n"
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime shared:7 - cgroup cgroup rw,cpuacct\n"
	"35 31 0:32 / /sys/fs/cgroup/mem\\040ory rw,relatime - cgroup cgroup rw,memory\n"
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static void expect_where(const char *self, const char *mounts, const char *controller,
	const char *path, const char *top)
{
	auto_free char *got = NULL, *got_top = NULL;

	assert_int_equal(cgroup_where(self, mounts, controller, &got, &got_top), 0);
	assert_string_equal(got, path);
	assert_string_equal(got_top, top);
}

static void expect_nowhere(const char *self, const char *mounts, const char *controller, int r)
{
	char *got = NULL;

	assert_int_equal(cgroup_where(self, mounts, controller, &got, NULL), r);
	assert_null(got);
}

static void test_where(void **state)
{
	static const char docker_self[] = "5:cpuacct,cpu:/docker/1f\n4:memory:/docker/1f/x\n3:pids:/other\n";
	static const char docker_mounts[] =
		"1 2 0:1 /docker/1f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
		"1 2 0:1 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
		"1 2 0:1 /docker/1f /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";
	static const char systemd_self[] = "0::/user.slice/user-1000.slice/a:b.scope\n";
	static const char systemd_mounts[] = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

	(void)state;
	expect_where(hybrid_self, hybrid_mounts, "memory", "/sys/fs/cgroup/mem ory/process_api/0c36",
		"/sys/fs/cgroup/mem ory");
	expect_where(hybrid_self, hybrid_mounts, "cpu", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu");
	expect_where(hybrid_self, hybrid_mounts, NULL, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified");
	expect_nowhere(hybrid_self, hybrid_mounts, "pids", -ENOENT);
	expect_nowhere(hybrid_self, hybrid_mounts, "cpuset", -ENOENT);
	expect_where(docker_self, docker_mounts, "cpu", "/sys/fs/cgroup/cpu,cpuacct",
		"/sys/fs/cgroup/cpu,cpuacct");
	expect_where(docker_self, docker_mounts, "memory", "/sys/fs/cgroup/memory/x",
		"/sys/fs/cgroup/memory");
	expect_nowhere(docker_self, docker_mounts, "pids", -EXDEV);
	expect_nowhere(docker_self, docker_mounts, NULL, -ENOENT);
	expect_where(systemd_self, systemd_mounts, NULL,
		"/sys/fs/cgroup/user.slice/user-1000.slice/a:b.scope", "/sys/fs/cgroup");
	expect_nowhere("0::/../x\n", systemd_mounts, NULL, -EXDEV);
	expect_nowhere("", "", "cpu", -ENOENT);
	expect_nowhere("0::\n0:\n::\n:", "- - -\n1 2 3 4 5 6 -\n", NULL, -ENOENT);
}

static void test_below_mount(void **state)
{
	(void)state;
	assert_true(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/cpu/sbx-a"));
	assert_true(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/unified/x/sbx-a"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/cpu"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/cpus/sbx-a"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/sbx-a"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/cpu/../../../../tmp/sbx-a"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/cpu//sbx-a"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, "/sys/fs/cgroup/cpu/./sbx-a"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, "sys/fs/cgroup/cpu/sbx-a"));
	assert_false(cgroup_is_below_mount(hybrid_mounts, ""));
}

/* --- a tree of our own ------------------------------------------------------------------ */

struct fake {
	struct temp_dir *dir;
	const char *top;
	char proc[PATH_MAX + 8];
	struct cgroup_host host;
};

static int fake_sysno; /* what make_dir fails with */

static void put_file(const char *dir, const char *name, const char *text)
{
	auto_free char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void expect_file(const char *dir, const char *name, const char *text)
{
	auto_text struct text t = { 0 };
	auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(cgroup_read_text(fd, name, &t), 0);
	assert_string_equal(text_string(&t), text);
}

/* What the kernel puts into a new group. The file "gives" of the parent says which
 * controllers of v2 it hands down. */
static int fake_make_dir(const char *path)
{
	static const char *const files[] = { "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
		"memory.use_hierarchy", "pids.max", "cpu.cfs_period_us", "cpu.cfs_quota_us",
		"cgroup.procs", "tasks", "memory.max", "memory.swap.max", "memory.oom.group", "cpu.max",
		"cgroup.subtree_control" };
	auto_text struct text gives = { 0 };
	auto_free char *parent = strdup(path);

	if (fake_sysno)
		return -fake_sysno;
	/* Two hierarchies mounted together, or a second try: what is there stays. */
	if (mkdir(path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	for (size_t i = 0; i < array_size(files); i++)
		put_file(path, files[i], "");
	put_file(path, "memory.use_hierarchy", "1\n");
	put_file(path, "cgroup.type", "domain\n");
	*strrchr(parent, '/') = 0;
	auto_fd int dir = open(parent, O_RDONLY | O_DIRECTORY);
	cgroup_read_text(dir, "gives", &gives);
	put_file(path, "cgroup.controllers", text_string(&gives));
	return 0;
}

static int fake_new(void **state)
{
	struct fake *k = mem_new(struct fake);
	auto_free char *self = NULL;

	if (temp_dir_setup((void **)&k->dir) < 0)
		return -1;
	*state = k;
	k->top = k->dir->path;
	snprintf(k->proc, sizeof k->proc, "%s/proc", k->top);
	assert_int_equal(mkdir(k->proc, 0755), 0);
	assert_true(asprintf(&self, "%s/self", k->proc) > 0);
	assert_int_equal(mkdir(self, 0755), 0);
	k->host = (struct cgroup_host){ k->proc, fake_make_dir };
	fake_sysno = 0;
	return 0;
}

static void fake_text(struct fake *k, const char *self, const char *mounts)
{
	put_file(k->proc, "self/cgroup", self);
	/* Every @ is the top directory. */
	auto_text struct text t = { 0 };
	for (const char *p = mounts; *p; p++) {
		if (*p == '@')
			text_put(&t, k->top);
		else
			text_put_char(&t, *p);
	}
	put_file(k->proc, "self/mountinfo", text_string(&t));
}

static const char *fake_dir(struct fake *k, const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof path, "%s/%s", k->top, name);
	if (mkdir(path, 0755) < 0)
		assert_int_equal(errno, EEXIST);
	return path;
}

/* What this process would write "0" to: those of the session, or of a child group. */
static size_t open_doors(struct cgroup *cg, uint32_t child, int doors[CGROUP_DOORS + 1])
{
	struct fault f;
	size_t n = 0;

	if (!child)
		assert_int_equal(cgroup_open_doors(cg, doors, &n, &f), 0);
	if (child) {
		doors[n++] = cgroup_child_make(cg, child);
		assert_true(doors[0] >= 0);
	}
	return n;
}

static void enter(struct cgroup *cg, uint32_t child)
{
	int doors[CGROUP_DOORS + 1];
	size_t n = open_doors(cg, child, doors);

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(write(doors[i], "0", 1), 1);
		close(doors[i]);
	}
}

static int fake_done(void **state)
{
	struct fake *k = *state;
	int r = temp_dir_teardown((void **)&k->dir);

	free(k);
	return r;
}

#define in_fake(t) cmocka_unit_test_setup_teardown(t, fake_new, fake_done)

static const struct cgroup_limits limits = { .cpu_milli = 1500, .memory_bytes = 64 * MIB,
	.pids = 32 };

static void test_fake_v1(void **state)
{
	struct fake *k = *state;
	struct fault f;
	struct cgroup *cg = NULL;
	char paths[2048];

	fake_text(k, "3:memory:/own\n2:pids:/\n1:cpu,cpuacct:/\n",
		"1 2 0:1 / @/mem rw - cgroup c rw,memory\n1 2 0:1 / @/pids rw - cgroup c rw,pids\n"
		"1 2 0:1 / @/cpu rw - cgroup c rw,cpu,cpuacct\n");
	fake_dir(k, "mem"), fake_dir(k, "mem/own"), fake_dir(k, "pids"), fake_dir(k, "cpu");
	assert_int_equal(cgroup_make_on(&k->host, "a1", &limits, &cg, &f), 0);
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		assert_string_equal(cgroup_enforced(cg, c), "cgroup-v1");
		assert_string_equal(cgroup_why(cg, c), "");
	}
	expect_file(fake_dir(k, "mem/own/sbx-a1"), "memory.limit_in_bytes", "67108864");
	expect_file(fake_dir(k, "mem/own/sbx-a1"), "memory.memsw.limit_in_bytes", "67108864");
	expect_file(fake_dir(k, "pids/sbx-a1"), "pids.max", "32");
	expect_file(fake_dir(k, "cpu/sbx-a1"), "cpu.cfs_quota_us", "150000");
	expect_file(fake_dir(k, "cpu/sbx-a1"), "cpu.cfs_period_us", "100000");
	enter(cg, 0);
	expect_file(fake_dir(k, "pids/sbx-a1"), "tasks", "0");
	expect_file(fake_dir(k, "mem/own/sbx-a1"), "tasks", "0");
	enter(cg, 3);
	expect_file(fake_dir(k, "mem/own/sbx-a1/e3"), "tasks", "0");

	/* OOM kills: v1 counts in the victim's group alone. */
	put_file(fake_dir(k, "mem/own/sbx-a1/e3"), "memory.oom_control", "under_oom 0\noom_kill 2\n");
	put_file(fake_dir(k, "mem/own/sbx-a1/e3"), "memory.usage_in_bytes", "4096\n");
	put_file(fake_dir(k, "mem/own/sbx-a1/e3"), "memory.max_usage_in_bytes", "8192\n");
	struct cgroup_usage u;
	cgroup_child_read(cg, 3, &u);
	assert_true(u.has_memory);
	assert_int_equal(u.oom_kills, 2);
	assert_int_equal(u.memory_peak_bytes, 8192);
	cgroup_read(cg, &u);
	assert_int_equal(u.oom_kills, 2);
	assert_false(u.has_memory);
	cgroup_child_remove(cg, 3);
	cgroup_read(cg, &u);
	assert_int_equal(u.oom_kills, 2);

	cgroup_paths(cg, paths, sizeof paths);
	assert_non_null(strstr(paths, "/mem/own/sbx-a1\n"));
	assert_non_null(strstr(paths, "/cpu/sbx-a1\n"));
	size_t full = strlen(paths);
	cgroup_paths(cg, paths, full);
	assert_int_equal(paths[strlen(paths) - 1], '\n');
	assert_true(strlen(paths) < full);
	assert_null(cgroup_remove(cg));
}

static void test_fake_v2(void **state)
{
	struct fake *k = *state;
	struct fault f;
	struct cgroup *cg = NULL;
	struct cgroup_usage u;

	fake_text(k, "0::/app.slice/run.scope\n", "1 2 0:1 / @/cg rw - cgroup2 c rw\n");
	fake_dir(k, "cg");
	put_file(fake_dir(k, "cg/app.slice"), "cgroup.controllers", "memory pids\n");
	put_file(fake_dir(k, "cg/app.slice"), "cgroup.subtree_control", "memory pids\n");
	put_file(fake_dir(k, "cg/app.slice"), "cgroup.procs", "");
	put_file(fake_dir(k, "cg/app.slice"), "gives", "memory pids\n");
	/* The own group has processes: the kernel refuses to hand anything down. A directory
	 * in the file's place refuses to be written. */
	put_file(fake_dir(k, "cg/app.slice/run.scope"), "cgroup.controllers", "memory pids\n");
	put_file(fake_dir(k, "cg/app.slice/run.scope"), "cgroup.procs", "");
	fake_dir(k, "cg/app.slice/run.scope/cgroup.subtree_control");
	assert_int_equal(cgroup_make_on(&k->host, "b", &limits, &cg, &f), 0);
	assert_string_equal(cgroup_enforced(cg, CGROUP_MEMORY), "cgroup-v2");
	assert_string_equal(cgroup_enforced(cg, CGROUP_PIDS), "cgroup-v2");
	assert_string_equal(cgroup_enforced(cg, CGROUP_CPU), "none");
	assert_string_not_equal(cgroup_why(cg, CGROUP_CPU), "");
	expect_file(fake_dir(k, "cg/app.slice/sbx-b"), "memory.max", "67108864");
	expect_file(fake_dir(k, "cg/app.slice/sbx-b"), "memory.swap.max", "0");
	expect_file(fake_dir(k, "cg/app.slice/sbx-b"), "memory.oom.group", "0");
	expect_file(fake_dir(k, "cg/app.slice/sbx-b"), "pids.max", "32");
	expect_file(fake_dir(k, "cg/app.slice/sbx-b"), "cpu.max", "");
	expect_file(fake_dir(k, "cg/app.slice/sbx-b"), "cgroup.subtree_control", "+memory");
	enter(cg, 0);
	expect_file(fake_dir(k, "cg/app.slice/sbx-b"), "cgroup.procs", "");
	expect_file(fake_dir(k, "cg/app.slice/sbx-b/base"), "cgroup.procs", "0");
	enter(cg, 1);
	expect_file(fake_dir(k, "cg/app.slice/sbx-b/e1"), "cgroup.procs", "0");

	put_file(fake_dir(k, "cg/app.slice/sbx-b"), "memory.current", "12288\n");
	put_file(fake_dir(k, "cg/app.slice/sbx-b"), "memory.events", "low 0\noom 3\noom_kill 1\n");
	put_file(fake_dir(k, "cg/app.slice/sbx-b"), "pids.current", "7\n");
	put_file(fake_dir(k, "cg/app.slice/sbx-b"), "pids.events", "max 5\n");
	put_file(fake_dir(k, "cg/app.slice/sbx-b"), "cpu.stat", "usage_usec 1234\nuser_usec 1\n");
	cgroup_read(cg, &u);
	assert_true(u.has_memory && u.has_pids && u.has_cpu);
	assert_int_equal(u.memory_bytes, 12288);
	assert_int_equal(u.memory_peak_bytes, 12288);
	assert_int_equal(u.oom_kills, 1);
	assert_int_equal(u.pids_denied, 5);
	assert_int_equal(u.cpu_us, 1234);
	assert_null(cgroup_remove(cg));
}

/* A caller whose group lies below one of his own that is no slice (DelegateSubgroup= of systemd),
 * with a limit in the given file. */
static struct cgroup *make_below_service(struct fake *k, const char *file, const char *value)
{
	static const char *const files[] = { "memory.max", "memory.high", "pids.max", "cpu.max" };
	struct cgroup *cg = NULL;
	struct fault f;

	fake_text(k, "0::/x.service/main\n", "1 2 0:1 / @/cg rw - cgroup2 c rw\n");
	fake_dir(k, "cg");
	put_file(fake_dir(k, "cg/x.service"), "cgroup.controllers", "cpu memory pids\n");
	put_file(fake_dir(k, "cg/x.service"), "cgroup.subtree_control", "");
	put_file(fake_dir(k, "cg/x.service"), "cgroup.procs", "");
	put_file(fake_dir(k, "cg/x.service"), "gives", "cpu memory pids\n");
	put_file(fake_dir(k, "cg/x.service/main"), "cgroup.controllers", "");
	put_file(fake_dir(k, "cg/x.service/main"), "cgroup.procs", "");
	for (size_t i = 0; i < array_size(files); i++)
		put_file(fake_dir(k, "cg/x.service/main"), files[i], "max\n");
	put_file(fake_dir(k, "cg/x.service/main"), file, value);
	assert_int_equal(cgroup_make_on(&k->host, "e", &limits, &cg, &f), 0);
	return cg;
}

static void test_fake_v2_hands_down(void **state)
{
	struct fake *k = *state;
	struct cgroup *cg = make_below_service(k, "pids.max", "9000\n");

	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		assert_string_equal(cgroup_enforced(cg, c), "cgroup-v2");
	expect_file(fake_dir(k, "cg/x.service/sbx-e"), "pids.max", "32");
	cgroup_remove(cg);
}

/* What limits the caller holds for his sessions, too. */
static void test_fake_v2_escapes_no_limit(void **state)
{
	static const char *const own[][2] = { { "memory.max", "1048576\n" }, { "memory.high", "1048576\n" },
		{ "pids.max", "31\n" }, { "cpu.max", "5000 100000\n" } };

	for (size_t i = 0; i < array_size(own); i++) {
		struct cgroup *cg = make_below_service(*state, own[i][0], own[i][1]);
		assert_string_equal(cgroup_enforced(cg, CGROUP_MEMORY), "none");
		assert_non_null(strstr(cgroup_why(cg, CGROUP_MEMORY), "would escape"));
		cgroup_remove(cg);
	}
}

static void test_fake_v2_cpu(void **state)
{
	struct fake *k = *state;
	struct fault f;
	struct cgroup *cg = NULL;
	struct cgroup_limits small = { .cpu_milli = 5 };

	fake_text(k, "0::/\n", "1 2 0:1 / @/cg rw - cgroup2 c rw\n");
	put_file(fake_dir(k, "cg"), "cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
	put_file(fake_dir(k, "cg"), "cgroup.subtree_control", "");
	put_file(fake_dir(k, "cg"), "cgroup.procs", "");
	put_file(fake_dir(k, "cg"), "gives", "cpu memory pids\n");
	assert_int_equal(cgroup_make_on(&k->host, "c", &small, &cg, &f), 0);
	assert_string_equal(cgroup_enforced(cg, CGROUP_CPU), "cgroup-v2");
	expect_file(fake_dir(k, "cg/sbx-c"), "cpu.max", "5000 1000000\n");
	/* Not asked for: accounted, never called enforced. */
	assert_string_equal(cgroup_enforced(cg, CGROUP_MEMORY), "none");
	assert_string_equal(cgroup_why(cg, CGROUP_MEMORY), "no limit was asked for");
	assert_null(cgroup_remove(cg));
}

static void test_none(void **state)
{
	struct fake *k = *state;
	struct fault f;
	struct cgroup *cg = NULL;
	struct cgroup_usage u;
	char paths[64];

	fake_text(k, "", "");
	assert_int_equal(cgroup_make_on(&k->host, "d", &limits, &cg, &f), 0);
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		assert_string_equal(cgroup_enforced(cg, c), "none");
		assert_non_null(strstr(cgroup_why(cg, c), "does not have it"));
	}
	enter(cg, 0);
	assert_int_equal(cgroup_child_make(cg, 1), -ENOENT);
	cgroup_child_read(cg, 1, &u);
	cgroup_child_remove(cg, 1);
	cgroup_read(cg, &u);
	assert_false(u.has_memory || u.has_cpu || u.has_pids);
	cgroup_paths(cg, paths, sizeof paths);
	assert_string_equal(paths, "");
	cgroup_remove(cg);

	fake_text(k, "3:memory:/\n0::/\n",
		"1 2 0:1 / @/mem rw - cgroup c rw,memory\n1 2 0:1 / @/cg rw - cgroup2 c rw\n");
	fake_dir(k, "mem");
	put_file(fake_dir(k, "cg"), "cgroup.procs", "");
	put_file(fake_dir(k, "cg"), "cgroup.controllers", "cpu pids\n");
	put_file(fake_dir(k, "cg"), "cgroup.subtree_control", "cpu pids\n");
	fake_sysno = EROFS;
	assert_int_equal(cgroup_make_on(&k->host, "d", &limits, &cg, &f), 0);
	assert_non_null(strstr(cgroup_why(cg, CGROUP_MEMORY), "read-only"));
	assert_non_null(strstr(cgroup_why(cg, CGROUP_PIDS), "read-only"));
	cgroup_remove(cg);
	fake_sysno = EACCES;
	assert_int_equal(cgroup_make_on(&k->host, "d", &limits, &cg, &f), 0);
	assert_non_null(strstr(cgroup_why(cg, CGROUP_MEMORY), "not delegated"));
	cgroup_remove(cg);
	assert_int_equal(cgroup_make_on(&k->host, "../d", &limits, &cg, &f), -FAULT_BUG);
}

/* --- this machine ------------------------------------------------------------------------ */

static struct cgroup *make_real(const struct cgroup_limits *l)
{
	struct cgroup *cg = NULL;
	struct fault f;
	char id[ID_TEXT];

	id_make("test-", id);
	assert_int_equal(cgroup_make(id, l, &cg, &f), 0);
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		print_message("real: %s %s\n", cgroup_enforced(cg, c), cgroup_why(cg, c));
	if (strcmp(cgroup_enforced(cg, CGROUP_MEMORY), "none") &&
		strcmp(cgroup_enforced(cg, CGROUP_PIDS), "none"))
		return cg;
	print_message("SKIPPED: no memory and pids control groups for this user here\n");
	cgroup_remove(cg);
	skip();
	return NULL;
}

/* A child that enters the groups (number 0: the session's only; cg NULL: none), waits for a byte, then does
 * fn. It has entered when this returns. */
static pid_t start_child(struct cgroup *cg, uint32_t number, int *ret_go, int (*fn)(void))
{
	int go[2], in[2], doors[2 * CGROUP_DOORS];
	char c;

	size_t n = cg ? open_doors(cg, 0, doors) : 0;
	if (number)
		n += open_doors(cg, number, doors + n);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (size_t i = 0; i < n; i++)
			if (write(doors[i], "0", 1) != 1)
				_exit(98);
		close(go[1]);
		close(in[1]);
		if (read(go[0], &c, 1) < 0)
			_exit(99);
		_exit(fn());
	}
	close(go[0]);
	close(in[1]);
	assert_int_equal(read(in[0], &c, 1), 0);
	close(in[0]);
	for (size_t i = 0; i < n; i++)
		close(doors[i]);
	*ret_go = go[1];
	return pid;
}

static int eat(void)
{
	for (size_t i = 0; i < 128; i++) {
		volatile char *p = malloc(MIB);
		if (!p)
			return 1;
		for (size_t at = 0; at < MIB; at += 4096)
			p[at] = 1;
	}
	return 0;
}

static int fork_much(void)
{
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		if (!pid)
			for (;;)
				pause();
		if (pid < 0) {
			int r = errno == EAGAIN ? 7 : 8;
			signal(SIGTERM, SIG_IGN);
			kill(0, SIGTERM);
			return r;
		}
	}
	return 0;
}

static int fork_in_group(void)
{
	setpgid(0, 0);
	return fork_much();
}

static int wait_forever(void)
{
	while (pause())
		;
	return 0;
}

static void test_real_oom(void **state)
{
	struct cgroup *cg = make_real(&limits);
	struct cgroup_usage u;
	int go, status;

	(void)state;
	pid_t pid = start_child(cg, 7, &go, eat);
	cgroup_child_read(cg, 7, &u);
	assert_true(u.has_memory);
	assert_int_equal(u.oom_kills, 0);
	close(go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cgroup_child_read(cg, 7, &u);
	assert_int_equal(u.oom_kills, 1);
	assert_true(u.memory_peak_bytes > 32 * MIB && u.memory_peak_bytes <= 66 * MIB);
	cgroup_read(cg, &u);
	assert_int_equal(u.oom_kills, 1);
	assert_true(u.has_memory && u.has_pids);
	assert_true(!u.has_cpu || u.cpu_us > 0);
	cgroup_child_remove(cg, 7);
	cgroup_read(cg, &u);
	assert_int_equal(u.oom_kills, 1);
	cgroup_remove(cg);
}

static void test_real_pids(void **state)
{
	struct cgroup *cg = make_real(&limits);
	struct cgroup_usage u;
	int go, status;

	(void)state;
	pid_t pid = start_child(cg, 0, &go, fork_in_group);
	close(go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	cgroup_read(cg, &u);
	assert_true(u.pids_denied >= 1);
	cgroup_remove(cg);
}

static void test_real_other_value(void **state)
{
	/* The kernel cuts what is greater than its counter holds. */
	struct cgroup_limits huge = { .memory_bytes = UINT64_MAX - 1 };
	struct cgroup *cg = make_real(&limits);
	struct fault f;
	char id[ID_TEXT], paths[2048];

	(void)state;
	cgroup_remove(cg);
	cg = NULL;
	id_make("test-", id);
	assert_int_equal(cgroup_make(id, &huge, &cg, &f), -FAULT_LIMIT);
	assert_null(cg);
	/* Nothing is left: the same name again makes new groups. */
	assert_int_equal(cgroup_make(id, &limits, &cg, &f), 0);
	cgroup_paths(cg, paths, sizeof paths);
	cgroup_remove(cg);
	for (char *save = NULL, *p = strtok_r(paths, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		assert_int_equal(access(p, F_OK), -1);
}

/* After a crash: the groups are full, nobody has the struct. */
static void test_real_remove_paths(void **state)
{
	struct cgroup *cg = make_real(&limits);
	struct fault f;
	char paths[4096];
	int go, status;

	(void)state;
	pid_t pid = start_child(cg, 1, &go, wait_forever);
	cgroup_paths(cg, paths, sizeof paths);
	assert_string_not_equal(paths, "");
	/* Reap beside, as init does for an orphan. */
	pid_t reaper = fork();
	if (!reaper) {
		_exit(cgroup_remove_paths(paths, &f) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(reaper, &status, 0), reaper);
	assert_int_equal(status, 0);
	close(go);
	assert_int_equal(cgroup_remove_paths(paths, &f), 0);
	for (char *save = NULL, *p = strtok_r(paths, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		assert_int_equal(access(p, F_OK), -1);
	cgroup_remove(cg);
}

/* v2, where the machine has it mounted with nothing in it: cgroup.kill. */
static void test_real_v2_kill(void **state)
{
	auto_text struct text self = { 0 }, mounts = { 0 };
	auto_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY);
	auto_free char *own = NULL, *group = NULL, *child = NULL;
	struct fault f;
	char word[16];
	int go, status;

	(void)state;
	assert_int_equal(cgroup_read_text(proc, "self/cgroup", &self), 0);
	assert_int_equal(cgroup_read_text(proc, "self/mountinfo", &mounts), 0);
	if (cgroup_where(self.data, mounts.data, NULL, &own, NULL) ||
		asprintf(&group, "%s/sbx-test-%d", own, (int)getpid()) < 0 || mkdir(group, 0755) < 0) {
		print_message("SKIPPED: no writable v2 hierarchy here\n");
		skip();
	}
	assert_true(asprintf(&child, "%s/e1", group) > 0);
	assert_int_equal(mkdir(child, 0755), 0);
	pid_t pid = start_child(NULL, 0, &go, wait_forever);
	snprintf(word, sizeof word, "%d", (int)pid);
	auto_fd int dir = open(child, O_RDONLY | O_DIRECTORY);
	assert_int_equal(cgroup_write(dir, "cgroup.procs", word), 0);
	/* Our own zombie does not keep a v2 group busy. */
	assert_int_equal(cgroup_remove_paths(group, &f), 0);
	assert_int_equal(access(group, F_OK), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(go);
}

static void test_remove_paths_refuses(void **state)
{
	static const char *const bad[] = { "/tmp/sbx-a", "/", "/sys/fs/cgroup/../../../tmp/sbx-x",
		"sbx-a", "/sys/fs/cgroup/memory/other", "/sys/fs/cgroup/memory/sbx-" };
	struct fault f;

	(void)state;
	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(cgroup_remove_paths(bad[i], &f), -FAULT_FORMAT);
	assert_int_equal(cgroup_remove_paths("", &f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_below_mount),
		in_fake(test_fake_v1),
		in_fake(test_fake_v2),
		in_fake(test_fake_v2_hands_down),
		in_fake(test_fake_v2_escapes_no_limit),
		in_fake(test_fake_v2_cpu),
		in_fake(test_none),
		cmocka_unit_test(test_remove_paths_refuses),
		cmocka_unit_test(test_real_oom),
		cmocka_unit_test(test_real_pids),
		cmocka_unit_test(test_real_other_value),
		cmocka_unit_test(test_real_remove_paths),
		cmocka_unit_test(test_real_v2_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
