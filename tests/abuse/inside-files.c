/* Opening, reading, writing and listing by path, and the descriptors that a program starts with. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"

/* fds: every descriptor of this process and what it is, before anything else was opened. */
static int run_fds(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int fd = 0; fd < 4096; fd++) {
		char path[64], target[512] = "?";
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(path, target, sizeof target - 1);
		target[n < 0 ? 0 : n] = 0;
		snprintf(path, sizeof path, "%d", fd);
		say_text(path, "OK", target);
	}
	return 0;
}

/* open PATH:FLAGS…: FLAGS of r, w, + (both), p (O_PATH), n (read non-blocking), d (directory) */
static int run_open(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char *colon = strrchr(argv[i], ':'), first[65] = "";
		int flags = O_CLOEXEC | O_NOCTTY;
		if (!colon)
			return 2;
		char kind = colon[1];
		flags |= kind == 'w' ? O_WRONLY : kind == '+' ? O_RDWR : kind == 'p' ? O_PATH :
			kind == 'd' ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
		*colon = 0;
		int fd = open(argv[i], flags);
		int error = errno;
		if (fd >= 0 && kind == 'r') {
			ssize_t n = read(fd, first, sizeof first - 1);
			error = errno;
			if (n < 0) {
				close(fd);
				fd = -1;
			} else {
				first[strcspn(first, "\n")] = 0;
				if (!n)
					snprintf(first, sizeof first, "(empty)");
			}
		}
		*colon = ':';
		say_text(argv[i], fd < 0 ? error_name(error) : "OK", first);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* put PATH=TEXT…: opens to write and writes */
static int run_put(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char *equal = strchr(argv[i], '=');
		if (!equal)
			return 2;
		*equal = 0;
		int fd = open(argv[i], O_WRONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : write(fd, equal + 1, strlen(equal + 1));
		say(argv[i], n, errno);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* link PATH…: readlink */
static int run_link(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char target[512];
		ssize_t n = readlink(argv[i], target, sizeof target - 1);
		int error = errno;
		target[n < 0 ? 0 : n] = 0;
		say_text(argv[i], n < 0 ? error_name(error) : "OK", target);
	}
	return 0;
}

/* loop-exe MS: tries to open every program's file for writing, for so long */
static int run_loop_exe(int argc, char **argv)
{
	long rounds = argc ? strtol(argv[0], NULL, 0) / 2 : 100, opened = 0, tried = 0;

	for (long i = 0; i < rounds; i++) {
		DIR *dir = opendir("/proc");
		for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
			char path[300];
			if (d->d_name[0] < '0' || d->d_name[0] > '9')
				continue;
			snprintf(path, sizeof path, "/proc/%s/exe", d->d_name);
			int fd = open(path, O_RDONLY | O_CLOEXEC);
			tried++;
			if (fd >= 0) {
				char again[64];
				snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
				int out = open(again, O_WRONLY | O_CLOEXEC);
				if (out >= 0) {
					char target[512] = "";
					if (readlink(again, target, sizeof target - 1) > 0)
						say_text("opened", "OK", target);
					opened++;
					close(out);
				}
				close(fd);
			}
		}
		if (dir)
			closedir(dir);
		usleep(2000);
	}
	char detail[64];
	snprintf(detail, sizeof detail, "%ld", tried);
	say_text("tried", "OK", detail);
	say_text("writable", opened ? "OK" : "EACCES", "");
	return 0;
}

/* break-out: chroot to a directory below, then climb */
static int run_break_out(int argc, char **argv)
{
	const char *place = argc ? argv[0] : "/tmp";

	if (chdir("/") < 0)
		return 3;
	int root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = chroot(place);
	say("chroot", r, errno);
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	r = fchdir(root);
	say("fchdir", r, errno);
	struct stat st;
	if (!stat(".", &st)) {
		char detail[64];
		snprintf(detail, sizeof detail, "%lu:%lu", (unsigned long)st.st_dev,
			(unsigned long)st.st_ino);
		say_text("where", "OK", detail);
	}
	return 0;
}

const struct probe file_probes[] = {
	{ "fds", run_fds },
	{ "open", run_open },
	{ "put", run_put },
	{ "link", run_link },
	{ "loop-exe", run_loop_exe },
	{ "break-out", run_break_out },
	{ 0 },
};
