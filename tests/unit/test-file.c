#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>

#include "base/auto.h"
#include "base/file.h"
#include "temp-dir.h"

static size_t count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.' || (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."));
	closedir(d);
	return n;
}

static void replace_then_read(void **state)
{
	struct temp_dir *t = *state;
	auto_text struct text got = { 0 };
	struct stat st;
	struct fault f;

	assert_int_equal(file_replace(t->fd, "a", "old", 3, &f), 0);
	assert_int_equal(file_replace(t->fd, "a", "n\0w!", 4, &f), 0);
	assert_int_equal(file_read(t->fd, "a", 4, &got, &f), 0);
	assert_int_equal(got.n, 4);
	assert_memory_equal(got.data, "n\0w!", 4);
	assert_int_equal(fstatat(t->fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(count_entries(t->path), 1);
}

static void failure_leaves_the_old_file_and_no_other(void **state)
{
	struct temp_dir *t = *state;
	struct fault f = { 0 };

	assert_int_equal(mkdirat(t->fd, "dir", 0700), 0);
	assert_int_equal(file_replace(t->fd, "dir", "x", 1, &f), -FAULT_SYSTEM);
	assert_int_equal(f.sysno, EISDIR);
	assert_int_equal(count_entries(t->path), 1);
}

static void missing_and_too_large(void **state)
{
	struct temp_dir *t = *state;
	auto_text struct text got = { 0 };
	struct fault f;

	assert_int_equal(file_read(t->fd, "none", 10, &got, &f), -FAULT_NOT_FOUND);
	assert_int_equal(file_replace(t->fd, "a", "12345", 5, &f), 0);
	assert_int_equal(file_read(t->fd, "a", 5, &got, &f), 0);
	assert_int_equal(file_read(t->fd, "a", 4, &got, &f), -FAULT_LIMIT);
}

static void links_are_not_followed(void **state)
{
	struct temp_dir *t = *state;
	auto_text struct text got = { 0 };
	struct fault f;
	int fd;

	assert_int_equal(file_replace(t->fd, "secret", "x", 1, &f), 0);
	assert_int_equal(symlinkat("secret", t->fd, "link"), 0);
	assert_int_equal(file_read(t->fd, "link", 10, &got, &f), -FAULT_SYSTEM);
	assert_int_equal(mkdirat(t->fd, "dir", 0700), 0);
	assert_int_equal(symlinkat("dir", t->fd, "dirlink"), 0);
	assert_int_equal(file_open_dir(t->fd, "dirlink", &fd, &f), -FAULT_SYSTEM);
	assert_int_equal(file_make_dir(t->fd, "dirlink", 0700, &fd, &f), -FAULT_SYSTEM);
	/* A link in the place of the file itself is replaced, not written through. */
	assert_int_equal(file_replace(t->fd, "link", "y", 1, &f), 0);
	assert_int_equal(file_read(t->fd, "secret", 10, &got, &f), 0);
	assert_string_equal(got.data, "x");
}

static void a_fifo_does_not_block(void **state)
{
	struct temp_dir *t = *state;
	auto_text struct text got = { 0 };
	struct fault f;

	assert_int_equal(mkfifoat(t->fd, "fifo", 0600), 0);
	alarm(10);
	assert_int_equal(file_read(t->fd, "fifo", 10, &got, &f), 0);
	alarm(0);
	assert_int_equal(got.n, 0);
}

static void directories(void **state)
{
	struct temp_dir *t = *state;
	struct fault f;
	auto_fd int a = -1, b = -1;
	int c = -7;

	assert_int_equal(file_open_dir(t->fd, "d", &c, &f), -FAULT_NOT_FOUND);
	assert_int_equal(c, -7);
	assert_int_equal(file_make_dir(t->fd, "d", 0700, &a, &f), 0);
	assert_int_equal(file_make_dir(t->fd, "d", 0700, &b, &f), 0);
	assert_true(fcntl(a, F_GETFD) & FD_CLOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_temp_dir(replace_then_read),
		test_in_temp_dir(failure_leaves_the_old_file_and_no_other),
		test_in_temp_dir(missing_and_too_large),
		test_in_temp_dir(links_are_not_followed),
		test_in_temp_dir(a_fifo_does_not_block),
		test_in_temp_dir(directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
