/* A directory of its own for each test: made in setup, gone with everything in it after, also
 * when an assertion failed. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct temp_dir {
	char path[PATH_MAX];
	int fd;
};

static inline int temp_dir_unlink(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

/* Removes a tree of any depth and mode. */
static inline int temp_dir_remove(const char *path)
{
	char command[2 * PATH_MAX + 64];

	if (!nftw(path, temp_dir_unlink, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT))
		return 0;
	snprintf(command, sizeof command, "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", path, path);
	return system(command);
}

static inline int temp_dir_setup(void **state)
{
	struct temp_dir *t = calloc(1, sizeof *t);
	const char *tmp = getenv("TMPDIR");

	if (!t)
		return -1;
	snprintf(t->path, sizeof t->path, "%s/sbx-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(t->path))
		return -1;
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = t;
	return t->fd < 0 ? -1 : 0;
}

static inline int temp_dir_teardown(void **state)
{
	struct temp_dir *t = *state;

	close(t->fd);
	int r = temp_dir_remove(t->path);
	free(t);
	return r;
}

#define test_in_temp_dir(fn) cmocka_unit_test_setup_teardown(fn, temp_dir_setup, temp_dir_teardown)
