/* The same command in the program that has libyaml, json-c and libarchive in it. They are seldom needed,
 * and a program that is linked with no library starts in a tenth of the time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmds.h"

enum { PATH_ROOM = 4096 };

/* Beside this one in the build directory, below libexec where it is installed. */
static const char *const places[] = { SBX_PROGRAM "-full", SBX_FULL };

/* The directory of this program, with a slash at the end. */
static int find_own_dir(char dir[PATH_ROOM], struct fault *f)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_ROOM - 1);

	if (n <= 0)
		return fault_set(f, FAULT_SYSTEM, errno, "read /proc/self/exe");
	dir[n] = 0;
	char *slash = strrchr(dir, '/');
	if (!slash)
		return fault_set(f, FAULT_SYSTEM, 0, "this program has no path");
	slash[1] = 0;
	return 0;
}

int more_run(const struct cmd_env *env, const char *what, struct fault *f)
{
	char dir[PATH_ROOM];
	char own[] = SBX_PROGRAM;
	size_t n = 0;
	int r = find_own_dir(dir, f);

	if (r < 0)
		return r;
	while (env->argv[n])
		n++;
	auto_free char **argv = mem_new_array(char *, n + 2);
	argv[0] = own;
	memcpy(argv + 1, env->argv, n * sizeof *argv);
	for (size_t i = 0; i < array_size(places); i++) {
		auto_free char *path = mem_format("%s%s", places[i][0] == '/' ? "" : dir, places[i]);
		execv(path, argv);
		if (errno != ENOENT && errno != ENOTDIR)
			return fault_set(f, FAULT_SYSTEM, errno, "run %.150s", path);
	}
	return fault_set(f, FAULT_NOT_FOUND, 0, "%s needs the program " SBX_PROGRAM "-full, which is "
		"not installed", what);
}
