/*
 * The program that the abuse tests run inside of a jail, and outside as the control.
 *
 *	inside PROBE ARGUMENT…            runs one probe
 *	inside userns PROBE ARGUMENT…     the same as id 0 of namespaces of its own: there all
 *	                                  that a jail's filter refuses is allowed
 *
 * Every attempt gives one line: PROBE ATTEMPT RESULT DETAIL. RESULT is OK, the name of an
 * error or the name of the signal that ended the attempt.
 * Static and without sanitizers: what it finds in its process is what the jail put there.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside.h"

static const char *probe_name = "?";

static const struct {
	int error;
	const char *name;
} errors[] = {
#define E(x) { x, #x }
	E(EPERM), E(ENOENT), E(ESRCH), E(EINTR), E(EIO), E(ENXIO), E(E2BIG), E(ENOEXEC), E(EBADF),
	E(ECHILD), E(EAGAIN), E(ENOMEM), E(EACCES), E(EFAULT), E(ENOTBLK), E(EBUSY), E(EEXIST),
	E(EXDEV), E(ENODEV), E(ENOTDIR), E(EISDIR), E(EINVAL), E(ENFILE), E(EMFILE), E(ENOTTY),
	E(ETXTBSY), E(EFBIG), E(ENOSPC), E(ESPIPE), E(EROFS), E(EMLINK), E(EPIPE), E(EDOM),
	E(ERANGE), E(EDEADLK), E(ENAMETOOLONG), E(ENOSYS), E(ENOTEMPTY), E(ELOOP), E(EOVERFLOW),
	E(ENOTSOCK), E(EDESTADDRREQ), E(EMSGSIZE), E(EPROTOTYPE), E(ENOPROTOOPT),
	E(EPROTONOSUPPORT), E(ESOCKTNOSUPPORT), E(EOPNOTSUPP), E(EAFNOSUPPORT), E(EADDRINUSE),
	E(EADDRNOTAVAIL), E(ENETDOWN), E(ENETUNREACH), E(ECONNABORTED), E(ECONNRESET),
	E(ECONNREFUSED), E(ETIMEDOUT), E(EHOSTUNREACH), E(EINPROGRESS), E(ESTALE), E(EDQUOT),
	E(EKEYREJECTED), E(ENOKEY), E(EUSERS), E(ENOTUNIQ), E(ENODATA),
#undef E
};

const char *error_name(int error)
{
	static char other[32];

	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].error == error)
			return errors[i].name;
	snprintf(other, sizeof other, "E%d", error);
	return other;
}

void say_text(const char *attempt, const char *result, const char *detail)
{
	printf("%s %s %s %s\n", probe_name, attempt, result, detail);
	fflush(stdout);
}

void say(const char *attempt, long r, int error)
{
	char value[32];

	snprintf(value, sizeof value, "%ld", r);
	say_text(attempt, r == -1 ? error_name(error) : "OK", value);
}

static const struct probe *find(const char *name)
{
	static const struct probe *const all[] = {
		call_probes, socket_probes, process_probes, file_probes, fuzz_probes };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (const struct probe *p = all[i]; p->name; p++)
			if (!strcmp(p->name, name))
				return p;
	fprintf(stderr, "inside: no such probe: %s\n", name);
	exit(2);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		perror(path);
		exit(3);
	}
	close(fd);
}

/* Becomes id 0 of a new user namespace that owns one of each other kind. */
static int enter_userns(void)
{
	char map[64], group_map[64];

	snprintf(map, sizeof map, "0 %d 1", (int)geteuid());
	snprintf(group_map, sizeof group_map, "0 %d 1", (int)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
			CLONE_NEWUTS) < 0) {
		perror("inside: unshare");
		return 3;
	}
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
	write_file("/proc/self/gid_map", group_map);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		perror("inside: private mounts");
		return 3;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int first = 1;

	if (argc > 2 && !strcmp(argv[1], "userns")) {
		int r = enter_userns();
		if (r)
			return r;
		/* The first child is the one in the new pid namespace. */
		pid_t child = fork();
		int status = 0;
		if (child < 0)
			return 3;
		if (child) {
			waitpid(child, &status, 0);
			return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
		}
		first = 2;
	}
	if (argc <= first) {
		fputs("usage: inside [userns] PROBE [ARGUMENT...]\n", stderr);
		return 2;
	}
	probe_name = argv[first];
	return find(argv[first])->run(argc - first - 1, argv + first + 1);
}
