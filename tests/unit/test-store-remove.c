#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "store-home.h"

/* Names of DEPTH levels are longer than PATH_MAX. */
enum { DEPTH = 2500, WIDTH = 2000 };

static int make_session(struct store *st, struct store_session *s)
{
	struct session_spec spec = { .class = CLASS_TASK };
	struct fault f;

	return store_session_make(st, &spec, s, &f);
}

/* A chain of directories, far deeper than PATH_MAX; files beside each. */
static int make_deep(int dir)
{
	int at = dup(dir);

	for (int i = 0; i < DEPTH; i++) {
		CHECK(mkdirat(at, "d", i % 3 ? 0700 : 0755) == 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CHECK(next >= 0);
		if (i % 100 == 0)
			CHECK(mkdirat(next, "other", 0700) == 0 && symlinkat("/etc", next, "link") == 0);
		close(at);
		at = next;
	}
	close(at);
	return 0;
}

static int make_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0);

	CHECK(fd >= 0);
	close(fd);
	return 0;
}

static int make_nasty(int dir, const char *canary)
{
	int d;

	CHECK(symlinkat(canary, dir, "to-canary") == 0);
	CHECK(symlinkat("..", dir, "up") == 0);
	CHECK(mkfifoat(dir, "fifo", 0) == 0);
	CHECK(mknodat(dir, "socket", S_IFSOCK, 0) == 0);
	CHECK(make_file(dir, "a\nb\x1b\xff") == 0);
	CHECK(make_file(dir, "-rf") == 0);
	CHECK(linkat(dir, "-rf", dir, "hard", 0) == 0);
	if (geteuid() == 0)
		CHECK(mknodat(dir, "whiteout", S_IFCHR, makedev(0, 0)) == 0);
	CHECK(mkdirat(dir, "closed", 0700) == 0);
	d = openat(dir, "closed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(mkdirat(d, "inner", 0700) == 0);
	CHECK(symlinkat(canary, d, "inner/to-canary") == 0);
	CHECK(make_file(d, "f") == 0);
	CHECK(fchmodat(d, "inner", 0, 0) == 0 && fchmod(d, 0) == 0);
	close(d);
	CHECK(mkdirat(dir, "read-only", 0500) == 0 && mkdirat(dir, "sticky", 01777) == 0);
	CHECK(mkdirat(dir, "search-only", 0700) == 0);
	d = openat(dir, "search-only", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(make_file(d, "f") == 0 && fchmod(d, 0111) == 0);
	close(d);
	return 0;
}

static int trash_is_empty(const struct store *st)
{
	struct stat s;

	return unlinkat(st->dir, "trash", AT_REMOVEDIR) == 0 && mkdirat(st->dir, "trash", 0700) == 0 &&
		fstatat(st->dir, "sessions", &s, 0) == 0 && s.st_nlink == 2;
}

static int open_up(struct store_session *s)
{
	return openat(s->dir, "fs/up", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* With few descriptors: none may be needed a level. */
static int remove_all_kinds(struct temp_dir *t)
{
	char canary[PATH_MAX + 16], inner[PATH_MAX + 32];
	struct rlimit few = { 64, 64 };
	struct store_session s;
	struct store st;
	struct fault f;

	snprintf(canary, sizeof canary, "%s/canary", t->path);
	snprintf(inner, sizeof inner, "%s/file", canary);
	CHECK(mkdir(canary, 0700) == 0 && make_file(t->fd, "canary/file") == 0);
	home_set(t);
	CHECK(store_open(&st, &f) == 0 && make_session(&st, &s) == 0);
	int up = open_up(&s);
	CHECK(make_nasty(up, canary) == 0);
	CHECK(make_deep(up) == 0);
	CHECK(mkdirat(up, "wide", 0700) == 0);
	int wide = openat(up, "wide", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < WIDTH; i++) {
		char name[16];
		snprintf(name, sizeof name, "%d", i);
		CHECK(make_file(wide, name) == 0);
	}
	close(wide);
	CHECK(fchmod(up, 0) == 0);
	close(up);
	setrlimit(RLIMIT_NOFILE, &few);
	if (store_session_remove(&s, &f) < 0) {
		fprintf(stderr, "%s\n", f.text);
		return __LINE__;
	}
	store_session_close(&s);
	CHECK(trash_is_empty(&st));
	CHECK(access(inner, F_OK) == 0);
	store_close(&st);
	return 0;
}

static void root_removes_everything(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(remove_all_kinds(*state) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void user_removes_everything(void **state)
{
	run_as_user(*state, remove_all_kinds);
}

static int meet_a_mount(struct temp_dir *t)
{
	struct store_session s;
	struct store st;
	struct fault f;
	char path[3 * PATH_MAX];

	/* First: what is opened before sees the mounts of before. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return CHILD_SKIP;
	home_set(t);
	CHECK(mkdirat(t->fd, "canary", 0700) == 0 && make_file(t->fd, "canary/file") == 0);
	CHECK(store_open(&st, &f) == 0 && make_session(&st, &s) == 0);
	int up = open_up(&s);
	CHECK(mkdirat(up, "mnt", 0755) == 0 && make_file(up, "beside") == 0);
	close(up);
	snprintf(path, sizeof path, "%s/sessions/%s/fs/up/mnt", st.path, s.spec.id);
	char from[PATH_MAX + 16];
	snprintf(from, sizeof from, "%s/canary", t->path);
	if (mount(from, path, NULL, MS_BIND, NULL) < 0)
		return CHILD_SKIP;
	/* The rename moves the mount along; what is below it is another's. */
	CHECK(store_session_remove(&s, &f) == -FAULT_SYSTEM);
	CHECK(strstr(f.text, "mount"));
	CHECK(faccessat(t->fd, "canary/file", F_OK, 0) == 0);
	store_session_close(&s);
	return 0;
}

static void mounts_are_not_entered(void **state)
{
	struct temp_dir *t = *state;

	run_apart(t, meet_a_mount);
	/* Without the mount the rest goes. */
	struct store st;
	struct fault f;
	home_open(t, &st);
	assert_int_equal(store_empty_trash(&st, &f), 0);
	assert_true(trash_is_empty(&st));
	store_close(&st);
}

static void discard_is_one_step(void **state)
{
	struct store_session s, again;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	struct session_spec spec = { .class = CLASS_TASK, .name = "demo" };
	assert_int_equal(store_session_make(&st, &spec, &s, &f), 0);
	assert_int_equal(store_session_discard(&s, &f), 0);
	assert_int_equal(store_session_open(&st, "demo", &again, &f), -FAULT_NOT_FOUND);
	assert_int_equal(store_session_open(&st, s.spec.id, &again, &f), -FAULT_NOT_FOUND);
	assert_int_equal(store_session_discard(&s, &f), -FAULT_NOT_FOUND);
	assert_int_equal(store_empty_trash(&st, &f), 0);
	assert_true(trash_is_empty(&st));
	store_session_close(&s);
	store_close(&st);
}

static void trash_is_emptied_by_two_at_once(void **state)
{
	struct store_session s;
	struct store st;
	struct fault f;
	int status;

	home_open(*state, &st);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(make_session(&st, &s), 0);
		int up = open_up(&s);
		for (int k = 0; k < 50; k++) {
			char name[16];
			snprintf(name, sizeof name, "d%d", k);
			mkdirat(up, name, 0700);
		}
		close(up);
		assert_int_equal(store_session_discard(&s, &f), 0);
		store_session_close(&s);
	}
	pid_t pid = fork();
	int r = store_empty_trash(&st, &f);
	if (!pid)
		_exit(r != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(r, 0);
	assert_true(trash_is_empty(&st));
	store_close(&st);
}

static void work_directory_is_new(void **state)
{
	struct store_session s;
	bool other = true;
	struct stat before, after;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	assert_int_equal(make_session(&st, &s), 0);
	fstatat(s.dir, "fs/wk", &before, 0);
	assert_int_equal(store_session_fresh_work(&s, &other, &f), 0);
	fstatat(s.dir, "fs/wk", &after, 0);
	assert_false(other);
	assert_int_equal(before.st_ino, after.st_ino);
	/* As overlayfs leaves it. */
	assert_int_equal(mkdirat(s.dir, "fs/wk/work", 0), 0);
	store_boot_id(s.status.boot_id);
	assert_int_equal(store_session_fresh_work(&s, &other, &f), 0);
	assert_false(other);
	assert_int_equal(faccessat(s.dir, "fs/wk/work", F_OK, 0), -1);
	fstatat(s.dir, "fs/wk", &after, 0);
	assert_int_equal(after.st_mode, S_IFDIR | 0755);
	assert_int_equal(after.st_uid, before.st_uid);
	assert_int_equal(mkdirat(s.dir, "fs/wk/work", 0), 0);
	strcpy(s.status.boot_id, "another");
	assert_int_equal(store_session_fresh_work(&s, &other, &f), 0);
	assert_true(other);
	assert_int_equal(store_session_remove(&s, &f), 0);
	assert_true(trash_is_empty(&st));
	store_session_close(&s);
	store_close(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_temp_dir(root_removes_everything),
		test_in_temp_dir(user_removes_everything),
		test_in_temp_dir(mounts_are_not_entered),
		test_in_temp_dir(discard_is_one_step),
		test_in_temp_dir(trash_is_emptied_by_two_at_once),
		test_in_temp_dir(work_directory_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
