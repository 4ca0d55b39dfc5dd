/* The file helper inside: a stream of files, put where cp wants it. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "fuzz.h"
#include "jail/builtin.h"
#include "jail/files.h"
#include "temp-dir.h"

static size_t n_seen;

static int see(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)type;
	fuzz_check(strncmp(path + at->base, ".sbx-put-", 9) != 0);
	fuzz_check(S_ISLNK(st->st_mode) || !(st->st_mode & 07000));
	n_seen += at->level == 1;
	return 0;
}

/* As a builtin of an exec-init: the stream on descriptor 0, what it says to 1. */
static int run(const uint8_t *p, size_t n, const char *path, const char *name)
{
	char *argv[] = { (char *)path, (char *)name, NULL };
	auto_fd int in = fuzz_open(p, n), out = fuzz_open("", 0);

	fuzz_check(dup2(in, 0) == 0 && dup2(out, 1) == 1);
	return files_put(argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct temp_dir *t;

	fuzz_check(temp_dir_setup((void **)&t) == 0);
	int status = run(p, n, t->path, "top");
	fuzz_check(status == FILES_DONE || status == FILES_FAILED || status == FILES_SKIPPED);
	n_seen = 0;
	fuzz_check(nftw(t->path, see, 16, FTW_PHYS | FTW_MOUNT) == 0);
	fuzz_check(n_seen <= 1);
	fuzz_check(!n_seen || faccessat(t->fd, "top", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	/* Once more over what is there now. */
	run(p, n, t->path, "top");
	fuzz_check(temp_dir_teardown((void **)&t) == 0);
	return 0;
}
