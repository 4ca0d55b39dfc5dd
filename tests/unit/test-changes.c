#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/changes-inner.h"
#include "temp-dir.h"

/* --- an upper and a lower directory ------------------------------------------------------- */

struct place {
	struct temp_dir *top;
	int up, low;
	struct changes *c;
	mode_t mode; /* of what is closed */
};

/* The state may be a mode. */
static int place_new(void **state)
{
	struct place *p = mem_new(struct place);
	const mode_t *mode = *state;

	p->mode = mode ? *mode : 0;
	if (temp_dir_setup((void **)&p->top) < 0)
		return -1;
	if (mkdirat(p->top->fd, "up", 0755) < 0 || mkdirat(p->top->fd, "low", 0755) < 0)
		return -1;
	p->up = openat(p->top->fd, "up", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->low = openat(p->top->fd, "low", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->c = changes_new(0);
	*state = p;
	return p->up < 0 || p->low < 0 ? -1 : 0;
}

static int place_done(void **state)
{
	struct place *p = *state;

	changes_free(p->c);
	close(p->up);
	close(p->low);
	int r = temp_dir_teardown((void **)&p->top);
	free(p);
	return r;
}

#define in_place(t) cmocka_unit_test_setup_teardown(t, place_new, place_done)

static void put(int dir, const char *path, const char *text)
{
	auto_fd int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void dir(int at, const char *path)
{
	assert_int_equal(mkdirat(at, path, 0755), 0);
}

static void whiteout(int at, const char *path)
{
	assert_int_equal(mknodat(at, path, S_IFCHR, makedev(0, 0)), 0);
}

/* False where the file system has no user attributes. */
static bool make_opaque(int at, const char *path)
{
	auto_fd int fd = openat(at, path, O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	if (!fsetxattr(fd, "user.overlay.opaque", "y", 1, 0))
		return true;
	assert_int_equal(errno, EOPNOTSUPP);
	print_message("SKIPPED: no user attributes in /tmp\n");
	return false;
}

static void baseline(struct place *p)
{
	struct fault f;

	assert_int_equal(changes_scan(p->c, p->up, p->low, NULL, &f), 0);
}

/* "added /a\nrenamed /b < /c\n": the changes since the last scan, as one text. */
static void expect(struct place *p, const char *text)
{
	struct change_list l = { 0 };
	struct fault f;
	auto_text struct text t = { 0 };

	assert_int_equal(changes_scan(p->c, p->up, p->low, &l, &f), 0);
	for (uint32_t i = 0; i < l.n; i++) {
		text_format(&t, "%s %s", change_names[l.items[i].kind], l.items[i].path);
		if (l.items[i].old_path)
			text_format(&t, " < %s", l.items[i].old_path);
		text_put(&t, "\n");
	}
	assert_string_equal(text_string(&t), text);
	assert_int_equal(l.n, l.total);
	change_list_done(&l);
}

/* --- tests -------------------------------------------------------------------------------- */

static void test_plain(void **state)
{
	struct place *p = *state;

	dir(p->low, "workspace");
	dir(p->up, "workspace");
	put(p->up, "workspace/old", "1");
	baseline(p);
	expect(p, "");
	put(p->up, "workspace/new", "22");
	dir(p->up, "workspace/d");
	put(p->up, "workspace/d/x\ny", "");
	put(p->up, "workspace/old", "2");
	expect(p, "added /workspace/d\nadded /workspace/d/x\ny\nadded /workspace/new\n"
		   "modified /workspace/old\n");
	expect(p, "");
	assert_int_equal(changes_entries(p->c), 5);
	assert_int_equal(fchmodat(p->up, "workspace/old", 0600, 0), 0);
	assert_int_equal(fchmodat(p->up, "workspace/d", 0700, 0), 0);
	expect(p, "metadata /workspace/d\nmetadata /workspace/old\n");
	assert_int_equal(renameat(p->up, "workspace/new", p->up, "workspace/d/moved"), 0);
	expect(p, "renamed /workspace/d/moved < /workspace/new\n");
	assert_int_equal(unlinkat(p->up, "workspace/d/moved", 0), 0);
	assert_int_equal(unlinkat(p->up, "workspace/d/x\ny", 0), 0);
	assert_int_equal(unlinkat(p->up, "workspace/d", AT_REMOVEDIR), 0);
	put(p->up, "workspace/d", "now a file");
	expect(p, "modified /workspace/d\ndeleted /workspace/d/moved\ndeleted /workspace/d/x\ny\n");
	assert_int_equal(changes_entries(p->c), 3);
}

static void test_rename_over_and_links(void **state)
{
	struct place *p = *state;

	put(p->up, "a", "aaa");
	put(p->up, "b", "b");
	dir(p->up, "d1");
	put(p->up, "d1/f", "f");
	baseline(p);
	assert_int_equal(renameat(p->up, "b", p->up, "a"), 0);
	expect(p, "modified /a\ndeleted /b\n");
	assert_int_equal(renameat(p->up, "d1", p->up, "d2"), 0);
	expect(p, "renamed /d2 < /d1\nrenamed /d2/f < /d1/f\n");
	/* One inode more by name, none more by size. */
	uint64_t before = changes_bytes(p->c);
	assert_int_equal(linkat(p->up, "a", p->up, "a2", 0), 0);
	expect(p, "metadata /a\nadded /a2\n");
	assert_int_equal(changes_bytes(p->c), before);
	assert_int_equal(unlinkat(p->up, "a", 0), 0);
	expect(p, "deleted /a\nmetadata /a2\n");
}

static void test_lower(void **state)
{
	struct place *p = *state;

	dir(p->low, "etc");
	put(p->low, "etc/same", "text");
	put(p->low, "etc/longer", "text");
	put(p->low, "etc/other", "text");
	put(p->low, "etc/gone", "text");
	assert_int_equal(symlinkat("x", p->low, "etc/link"), 0);
	assert_int_equal(symlinkat("etc", p->low, "through"), 0);
	baseline(p);
	dir(p->up, "etc");            /* a mere copy-up */
	put(p->up, "etc/same", "text");
	put(p->up, "etc/longer", "text and more");
	put(p->up, "etc/other", "TEXT");
	put(p->up, "etc/new", "");
	whiteout(p->up, "etc/gone");
	whiteout(p->up, "etc/never"); /* made and deleted: of nothing */
	assert_int_equal(symlinkat("y", p->up, "etc/link"), 0);
	expect(p, "deleted /etc/gone\nmodified /etc/link\nmodified /etc/longer\nadded /etc/new\n"
		   "modified /etc/other\nmetadata /etc/same\n");
	expect(p, "");
	/* Below a link of lower there is nothing, whatever it points to. */
	dir(p->up, "through");
	put(p->up, "through/same", "text");
	expect(p, "modified /through\nadded /through/same\n");
	/* Deleted and made again. */
	assert_int_equal(unlinkat(p->up, "etc/gone", 0), 0);
	put(p->up, "etc/gone", "again");
	expect(p, "added /etc/gone\n");
	assert_int_equal(unlinkat(p->up, "etc/same", 0), 0);
	whiteout(p->up, "etc/same");
	expect(p, "deleted /etc/same\n");
}

static void test_copy_up_of_directory(void **state)
{
	struct place *p = *state;

	dir(p->low, "a");
	dir(p->low, "a/b");
	dir(p->low, "a/c");
	put(p->low, "a/b/f", "1");
	baseline(p);
	dir(p->up, "a");
	dir(p->up, "a/b");
	dir(p->up, "a/c");
	assert_int_equal(fchmodat(p->up, "a/c", 0700, 0), 0);
	put(p->up, "a/b/g", "1");
	expect(p, "added /a/b/g\nmetadata /a/c\n");
}

static void test_hidden_directories(void **state)
{
	struct place *p = *state;

	dir(p->low, "a");
	dir(p->low, "a/b");
	put(p->low, "a/b/1", "");
	put(p->low, "a/b/2", "");
	put(p->low, "a/3", "");
	dir(p->low, "o");
	dir(p->low, "o/p");
	put(p->low, "o/p/4", "4");
	put(p->low, "o/5", "");
	dir(p->low, "q");
	put(p->low, "q/6", "");
	dir(p->up, "a");
	dir(p->up, "a/b");
	whiteout(p->up, "a/b/1");
	baseline(p);
	/* rm -r a: whiteout 1 and the copies of a and b went with it. */
	assert_int_equal(unlinkat(p->up, "a/b/1", 0), 0);
	assert_int_equal(unlinkat(p->up, "a/b", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(p->up, "a", AT_REMOVEDIR), 0);
	whiteout(p->up, "a");
	/* q is a file now. */
	put(p->up, "q", "file");
	expect(p, "deleted /a\ndeleted /a/3\ndeleted /a/b\ndeleted /a/b/2\nmodified /q\ndeleted /q/6\n");
	/* rm -r o; mkdir -p o/p; echo 4 > o/p/4 */
	dir(p->up, "o");
	dir(p->up, "o/p");
	put(p->up, "o/p/4", "4");
	if (make_opaque(p->up, "o")) {
		expect(p, "deleted /o/5\nmetadata /o/p/4\n");
		expect(p, "");
		/* Nothing of lower shows through any more. */
		assert_int_equal(unlinkat(p->up, "o/p/4", 0), 0);
		expect(p, "deleted /o/p/4\n");
		put(p->up, "o/5", "");
		expect(p, "added /o/5\n");
	}
}

static void test_bytes(void **state)
{
	struct place *p = *state;
	struct fault f;
	uint64_t bytes = 0, entries = 0;
	char block[65536] = { 1 };

	for (int i = 0; i < 10; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%d", i);
		auto_fd int fd = openat(p->up, name, O_WRONLY | O_CREAT, 0644);
		assert_int_equal(fd_write_all(fd, block, sizeof block), 0);
		fsync(fd);
		assert_int_equal(linkat(p->up, name, p->up, (snprintf(name, sizeof name, "g%d", i), name), 0), -1);
	}
	assert_int_equal(linkat(p->up, "f0", p->up, "hard", 0), 0);
	/* Sparse: 1 TiB that takes nothing. */
	auto_fd int sparse = openat(p->up, "sparse", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(sparse, (off_t)1 << 40), 0);
	baseline(p);
	assert_true(changes_bytes(p->c) >= 10 * sizeof block);
	assert_true(changes_bytes(p->c) < 11 * sizeof block);
	assert_int_equal(changes_measure(p->up, UINT64_MAX, UINT64_MAX, &bytes, &entries, &f), 0);
	assert_int_equal(bytes, changes_bytes(p->c));
	assert_int_equal(changes_measure(p->up, 3 * sizeof block, UINT64_MAX, &bytes, &entries, &f), 0);
	assert_true(bytes > 3 * sizeof block && bytes < 8 * sizeof block);
}

static void test_deep(void **state)
{
	enum { DEPTH = 10000 };
	struct place *p = *state;
	struct change_list l = { 0 };
	struct fault f;

	/* Two subdirectories on each level, so that there is something to come back for. */
	int at = dup(p->up);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(at, "a", 0755), 0);
		assert_int_equal(mkdirat(at, "b", 0755), 0);
		int next = openat(at, i & 1 ? "a" : "b", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
	int64_t start = clock_now_us();
	assert_int_equal(changes_scan(p->c, p->up, p->low, &l, &f), 0);
	print_message("10,000 deep, 20,000 directories: %.1f ms\n",
		(double)(clock_now_us() - start) / 1000);
	assert_int_equal(l.total, 2 * DEPTH);
	assert_true(l.n > 500 && l.n <= LIMIT_FILES_LISTED);
	size_t bytes = 0;
	for (uint32_t i = 0; i < l.n; i++) {
		bytes += strlen(l.items[i].path);
		assert_true(strlen(l.items[i].path) < 4096);
		assert_true(!i || strcmp(l.items[i - 1].path, l.items[i].path) < 0);
	}
	assert_true(bytes <= LIMIT_FILES_BYTES);
	change_list_done(&l);
	expect(p, "");
	assert_int_equal(changes_entries(p->c), 2 * DEPTH);
}

static void test_limit(void **state)
{
	struct place *p = *state;
	struct fault f;
	struct change_list l = { 0 };

	put(p->up, "a", "1");
	baseline(p);
	uint64_t bytes = changes_bytes(p->c);
	p->c->n_max = 3;
	put(p->up, "b", "1");
	put(p->up, "c", "1");
	put(p->up, "d", "1");
	put(p->up, "a", "22");
	assert_int_equal(changes_scan(p->c, p->up, p->low, &l, &f), -FAULT_LIMIT);
	assert_int_equal(changes_entries(p->c), 1);
	assert_int_equal(changes_bytes(p->c), bytes);
	/* What the scan that failed saw is new to the next one. */
	assert_int_equal(unlinkat(p->up, "d", 0), 0);
	expect(p, "modified /a\nadded /b\nadded /c\n");
}

/* Whatever the modes: as root here, and as an ordinary user in a child. */
static void make_closed(struct place *p)
{
	dir(p->up, "closed");
	put(p->up, "closed/in", "1");
	dir(p->up, "closed/deep");
	put(p->up, "closed/deep/er", "1");
	dir(p->up, "x");
	put(p->up, "x/f", "1");
}

static void close_all(struct place *p, mode_t mode)
{
	assert_int_equal(fchmodat(p->up, "closed/deep/er", 0, 0), 0);
	assert_int_equal(fchmodat(p->up, "closed/deep", mode, 0), 0);
	assert_int_equal(fchmodat(p->up, "closed", mode, 0), 0);
}

static void test_closed(void **state)
{
	struct place *p = *state;
	uint64_t bytes, entries;
	struct fault f;

	baseline(p);
	make_closed(p);
	close_all(p, p->mode);
	expect(p, "added /closed\nadded /closed/deep\nadded /closed/deep/er\nadded /closed/in\n"
		  "added /x\nadded /x/f\n");
	expect(p, "");
	assert_int_equal(changes_entries(p->c), 6);
	put(p->up, "x/f", "22");
	expect(p, "modified /x/f\n");
	assert_int_equal(changes_measure(p->up, UINT64_MAX, UINT64_MAX, &bytes, &entries, &f), 0);
	assert_int_equal(bytes, changes_bytes(p->c));
}

static const mode_t modes[] = { 0, 0111, 0222, 0444, 0555 };
#define closed(i) { "test_closed", test_closed, place_new, place_done, (void *)&modes[i] }
#define CLOSED closed(0), closed(1), closed(2), closed(3), closed(4)

static void test_closed_as_user(void **state)
{
	int status;

	(void)state;
	if (geteuid()) {
		print_message("SKIPPED: not root; test_closed did the same\n");
		skip();
	}
	pid_t pid = fork();
	if (!pid) {
		const struct CMUnitTest as_user[] = { CLOSED };
		if (setresgid(4711, 4711, 4711) < 0 || setresuid(4711, 4711, 4711) < 0)
			_exit(9);
		unsetenv("TMPDIR"); /* it may be root's alone */
		/* Changing ids has made /proc/self root's. */
		prctl(PR_SET_DUMPABLE, 1);
		_exit(cmocka_run_group_tests_name("as uid 4711", as_user, NULL, NULL) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void make_many(struct place *p)
{
	char name[32];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "dir%d", i);
		dir(p->up, name);
		for (int k = 0; k < 100; k++) {
			snprintf(name, sizeof name, "dir%d/file%d", i, k);
			put(p->up, name, "x");
		}
	}
}

static double time_scan(struct place *p, struct change_list *l)
{
	struct fault f;
	int64_t start = clock_now_us();

	assert_int_equal(changes_scan(p->c, p->up, p->low, l, &f), 0);
	return (double)(clock_now_us() - start) / 1000;
}

static void test_many(void **state)
{
	struct place *p = *state;
	struct change_list l = { 0 };
	double best = 1e9;

	make_many(p);
	print_message("20,200 entries: first scan %.1f ms", time_scan(p, &l));
	assert_int_equal(l.total, 20200);
	assert_int_equal(l.n, LIMIT_FILES_LISTED);
	assert_string_equal(l.items[0].path, "/dir0");
	change_list_done(&l);
	for (int i = 0; i < 5; i++) {
		double ms = time_scan(p, &l);
		best = ms < best ? ms : best;
		assert_int_equal(l.total, 0);
		change_list_done(&l);
	}
	print_message(", without changes %.1f ms", best);
	for (int i = 0; i < 100; i++) {
		char name[32];
		snprintf(name, sizeof name, "dir%d/file7", i);
		put(p->up, name, "xy");
	}
	print_message(", 100 changed %.1f ms\n", time_scan(p, &l));
	assert_int_equal(l.total, 100);
	change_list_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_place(test_plain),
		in_place(test_rename_over_and_links),
		in_place(test_lower),
		in_place(test_copy_up_of_directory),
		in_place(test_hidden_directories),
		in_place(test_bytes),
		in_place(test_limit),
		CLOSED,
		cmocka_unit_test(test_closed_as_user),
		in_place(test_deep),
		in_place(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
