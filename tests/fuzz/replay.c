/*
 * Gives a target the inputs of its corpora: replay DIRECTORY…. Each input is one test, in a child,
 * so that one that crashes or hangs is named and nothing that it made is left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "temp-dir.h"

/* [s] Of one input; the longest of those that are kept takes a part of the first second. */
enum { INPUT_LIMIT_S = 60 };

/* What the child is at, for the parent to tell. */
struct shared {
	size_t n;
	char path[PATH_MAX];
};

static int is_input(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* A copy of exactly its size: what is read behind its end is seen. */
static void replay_file(struct shared *at, const char *dir, const char *name)
{
	struct stat st;

	snprintf(at->path, sizeof at->path, "%s/%s", dir, name);
	int fd = open(at->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		exit(2);
	size_t n = (size_t)st.st_size;
	uint8_t *p = malloc(n ? n : 1);
	if (!p || read(fd, p, n) != (ssize_t)n)
		exit(2);
	close(fd);
	alarm(INPUT_LIMIT_S);
	LLVMFuzzerTestOneInput(p, n);
	alarm(0);
	free(p);
	at->n++;
}

static void replay_all(struct shared *at, char **dirs)
{
	for (; *dirs; dirs++) {
		struct dirent **list;
		int n = scandir(*dirs, &list, is_input, alphasort);
		if (n < 0)
			exit(2);
		for (int i = 0; i < n; i++) {
			replay_file(at, *dirs, list[i]->d_name);
			free(list[i]);
		}
		free(list);
	}
	at->path[0] = 0;
}

int main(int argc, char **argv)
{
	struct shared *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	void *scratch;
	int status = -1;

	if (argc < 2 || at == MAP_FAILED || temp_dir_setup(&scratch) != 0)
		return 2;
	/* What a child that crashes leaves is in here. */
	setenv("TMPDIR", ((struct temp_dir *)scratch)->path, 1);
	pid_t pid = fork();
	if (!pid) {
		replay_all(at, argv + 1);
		exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	temp_dir_teardown(&scratch);
	bool passed = status == 0 && at->n > 0;
	printf("1..1\n%sok 1 - %zu inputs\n", passed ? "" : "not ", at->n);
	if (!passed)
		printf("# %s: %s %d\n", at->path[0] ? at->path : "at the end",
			WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return !passed;
}
