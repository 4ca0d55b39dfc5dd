/* The Python driver, compiled once for an interpreter: start.h. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/probe.h"
#include "session/start.h"
#include "store/record.h"

/* More are of interpreters that are gone. HEADER_BYTES: the least that is one. */
enum { KEPT_MAX = 16, COMPILED_BYTES = 1024 * 1024, HEADER_BYTES = 16 };

/* A header of the interpreter's magic number and no source to compare with, then the code. Source:
 * PEP 552; Python 3.7 and later. */
static const char script[] =
	"import sys, marshal, _frozen_importlib_external as x\n"
	"c = compile(sys.stdin.buffer.read(), '/run/sbx/python.py', 'exec', 0, True)\n"
	"sys.stdout.buffer.write(x.MAGIC_NUMBER + bytes(12) + marshal.dumps(c))\n";

/* By the driver and the interpreter; false: it is not there. */
static bool make_name(const char *interpreter, char ret[DIGEST_TEXT])
{
	const struct jail_file *driver = &driver_files()[DRIVER_PYTHON];
	char key[PROBE_KEY];
	struct stat st;

	if (stat(interpreter, &st) < 0)
		return false;
	probe_key(key, interpreter, &st);
	struct digest *d = digest_new();
	digest_add(d, driver->data, driver->n);
	digest_add(d, key, strlen(key));
	digest_end(d, ret);
	return true;
}

static void make_room(int dir)
{
	auto_fd int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int n = 0;

	if (!d)
		return;
	take_fd(&fd);
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && ++n > KEPT_MAX)
			unlinkat(dir, e->d_name, 0);
	closedir(d);
}

static size_t compile(const char *interpreter, void *room)
{
	const struct jail_file *driver = &driver_files()[DRIVER_PYTHON];
	char *argv[] = { (char *)interpreter, (char *)"-ISBc", (char *)script, NULL };
	auto_fd int source = memfd_create("driver", MFD_CLOEXEC);

	if (source < 0 || fd_write_all(source, driver->data, driver->n) < 0 ||
		lseek(source, 0, SEEK_SET) < 0)
		return 0;
	return probe_ask(argv, source, room, COMPILED_BYTES);
}

void compiled_make(int home, const char *interpreter)
{
	char name[DIGEST_TEXT];
	auto_fd int dir = -1;
	struct fault f;

	if (home < 0 || !make_name(interpreter, name) || file_make_dir(home, "drivers", 0700, &dir, &f) < 0 ||
		faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return;
	make_room(dir);
	auto_free void *code = mem_zeroed(1, COMPILED_BYTES);
	/* One that cannot be made is an empty file: nobody tries again. */
	file_replace(dir, name, code, compile(interpreter, code), &f);
}

bool compiled_read(int home, const char *interpreter, struct text *t)
{
	char name[DIGEST_TEXT];
	auto_fd int dir = -1;
	struct fault f;

	return make_name(interpreter, name) && file_open_dir(home, "drivers", &dir, &f) >= 0 &&
		file_read(dir, name, COMPILED_BYTES, t, &f) >= 0 && t->n > HEADER_BYTES;
}
