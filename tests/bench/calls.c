/*
 * Times system calls, inside a jail and outside: static, without a libc that is found there.
 *
 *	calls open|stat|getppid FILE    for every line of stdin, [ns] of one call in a loop
 *	calls walk DIR                  for every line, [ns] of statx over a whole tree
 *	calls change STEP N DIR         appends to every STEP-th file of what fill made; once
 *	calls fill N DIR                makes N files, 100 a directory; once
 *	calls write BYTES               writes so much to stdout; once
 *	calls dirty FILE BYTES          writes so much into a new file and syncs nothing; once
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 20000, FILES_PER_DIR = 100 };

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void call(char kind, const char *file)
{
	struct stat st;
	int fd;

	if (kind == 'g') {
		syscall(SYS_getppid);
	} else if (kind == 's') {
		if (stat(file, &st) < 0)
			fail(file);
	} else {
		fd = open(file, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fail(file);
		close(fd);
	}
}

static void walk(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!d)
		fail(name);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			fail(e->d_name);
		if (S_ISDIR(st.st_mode))
			walk(fd, e->d_name);
	}
	closedir(d);
}

static long long one(const char *what, const char *file)
{
	long long start_ns = now_ns();

	if (*what == 'w') {
		walk(AT_FDCWD, file);
		return now_ns() - start_ns;
	}
	for (int i = 0; i < CALLS; i++)
		call(*what, file);
	return (now_ns() - start_ns) / CALLS;
}

static void touch(const char *dir, int i, int flags)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%03d", dir, i / FILES_PER_DIR);
	if ((flags & O_CREAT) && i % FILES_PER_DIR == 0 && mkdir(path, 0755) < 0)
		fail(path);
	snprintf(path, sizeof path, "%s/%03d/%02d", dir, i / FILES_PER_DIR, i % FILES_PER_DIR);
	int fd = open(path, flags | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "x", 1) != 1)
		fail(path);
	close(fd);
}

static void write_bytes(int fd, long long n)
{
	static char block[65536];

	memset(block, 'x', sizeof block - 1);
	block[sizeof block - 1] = '\n';
	while (n > 0) {
		ssize_t done = write(fd, block, sizeof block);
		if (done < 0)
			fail("write");
		n -= done;
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int c;

	if (!strcmp(what, "write")) {
		write_bytes(1, atoll(argv[2]));
		return 0;
	}
	if (argc > 3 && !strcmp(what, "dirty")) {
		int fd = open(argv[2], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			fail(argv[2]);
		write_bytes(fd, atoll(argv[3]));
		return 0;
	}
	if (argc > 3 && !strcmp(what, "fill")) {
		for (int i = 0; i < atoi(argv[2]); i++)
			touch(argv[3], i, O_CREAT | O_EXCL);
		return 0;
	}
	if (argc > 4 && !strcmp(what, "change")) {
		for (int i = 0; i < atoi(argv[3]); i += atoi(argv[2]))
			touch(argv[4], i, 0);
		return 0;
	}
	if (!strchr("osgw", *what) || argc != 3)
		return 2;
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		printf("%lld\n", one(what, argv[2]));
		fflush(stdout);
	}
	return 0;
}
