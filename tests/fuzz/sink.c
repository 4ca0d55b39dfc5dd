/* A stream of files out of a session, on its way to the host: a tar, and a directory. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "fuzz.h"
#include "pack/pack.h"
#include "temp-dir.h"

static int feed(struct pack_sink *k, const uint8_t *p, size_t n, struct fault *f)
{
	int r = pack_feed(k, p, n, f), end;

	pack_sink_end(k, NULL, &end, f);
	fuzz_check(r >= 0 || end == r);
	/* Also a BUG: a failure of a kind that there is not, told by the stream. */
	if (end < 0 && f->kind != FAULT_BUG)
		fuzz_check_fault(end, f);
	return end;
}

static void check_tar(const uint8_t *p, size_t n)
{
	auto_fd int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct pack_sink *k;
	struct fault f;

	if (pack_sink_tar(fd, "top", &k, &f) == 0)
		feed(k, p, n, &f);
}

static size_t n_seen;

static int see(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *name = path + at->base;

	(void)type;
	/* Nothing under a temporary name stays behind, and no rights come in. */
	fuzz_check(strncmp(name, ".sbx-cp.", 8) != 0);
	fuzz_check(!(st->st_mode & 07000));
	n_seen += at->level == 1;
	return 0;
}

/* Whatever the stream says, only the one name that was given comes to be. */
static void check_dir(const uint8_t *p, size_t n)
{
	struct temp_dir *t;
	struct pack_sink *k;
	struct fault f;

	fuzz_check(temp_dir_setup((void **)&t) == 0);
	fuzz_check(pack_sink_dir(t->fd, "top", &k, &f) == 0);
	feed(k, p, n, &f);
	n_seen = 0;
	fuzz_check(nftw(t->path, see, 16, FTW_PHYS | FTW_MOUNT) == 0);
	fuzz_check(n_seen <= 1);
	fuzz_check(!n_seen || faccessat(t->fd, "top", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	fuzz_check(temp_dir_teardown((void **)&t) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	check_tar(p, n);
	check_dir(p, n);
	return 0;
}
