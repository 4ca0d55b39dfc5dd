/* A home directory in a test's temporary directory, and a child that is no root. */
#pragma once

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "store/record.h"
#include "temp-dir.h"

/* Also 77: a test that cannot be made here. */
enum { CHILD_SKIP = 77 };

static inline void home_set(struct temp_dir *t)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/home", t->path);
	setenv("SBX_HOME", path, 1);
}

static inline void home_open(struct temp_dir *t, struct store *st)
{
	struct fault f = { 0 };

	home_set(t);
	if (store_open(st, &f) < 0)
		fail_msg("%s", f.text);
}

/* Runs fn in a child as an ordinary user, to whom the temporary directory is given. fn
 * returns 0, or the line that failed. */
static inline void run_as_user(struct temp_dir *t, int (*fn)(struct temp_dir *t))
{
	int status;
	pid_t pid;

	if (geteuid() == 0)
		assert_int_equal(fchown(t->fd, 12345, 12345), 0);
	pid = fork();
	if (!pid) {
		if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(12345, 12345, 12345) < 0 ||
					      setresuid(12345, 12345, 12345) < 0))
			_exit(CHILD_SKIP);
		_exit(fn(t) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Runs fn in a child with a mount namespace or more of its own to make; fn may say CHILD_SKIP. */
static inline void run_apart(struct temp_dir *t, int (*fn)(struct temp_dir *t))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int r = fn(t);
		_exit(r == CHILD_SKIP ? CHILD_SKIP : r != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIP) {
		print_message("skip: no right to mount\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* For fn of run_as_user: cmocka's assertions do not work in a child. */
#define CHECK(e)                                                     \
	do {                                                         \
		if (!(e)) {                                          \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #e); \
			return __LINE__;                             \
		}                                                    \
	} while (0)
