/*
 * Times the list of changes itself: for every line of stdin it appends to every STEP-th of the N
 * files that "calls fill N DIR" made, then prints how long the scan that lists them took [ns].
 *
 *	scan STEP N DIR
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "session/changes.h"

enum { FILES_PER_DIR = 100 }; /* as of calls.c */

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void touch(const char *dir, int i)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%03d/%02d", dir, i / FILES_PER_DIR, i % FILES_PER_DIR);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, "x", 1) != 1) {
		perror(path);
		exit(1);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	struct fault f;
	int c;

	if (argc != 4)
		return 2;
	int step = atoi(argv[1]), n = atoi(argv[2]);
	int up = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int lower = -1; /* nothing below */
	struct changes *changes = changes_new(0);
	if (step < 1 || up < 0 || changes_scan(changes, up, lower, NULL, &f) < 0)
		return 2;
	while ((c = getchar()) != EOF) {
		struct change_list list = { 0 };
		if (c != '\n')
			continue;
		for (int i = 0; i < n; i += step)
			touch(argv[3], i);
		long long start_ns = now_ns();
		if (changes_scan(changes, up, lower, &list, &f) < 0 ||
			list.total != (uint64_t)((n + step - 1) / step)) {
			printf("failed: %llu changes\n", (unsigned long long)list.total);
			return 1;
		}
		printf("%lld\n", now_ns() - start_ns);
		fflush(stdout);
		change_list_done(&list);
	}
	changes_free(changes);
	return 0;
}
