#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "session/probe.h"
#include "session/runtime.h"

enum { ANSWER_BYTES = 4096, CACHE_BYTES = 64 * 1024, WORD = PROBE_KEY - 128 };
static const char cache_name[] = "runtimes";

/* Everything that changes when a package replaces the program. */
void probe_key(char key[PROBE_KEY], const char *path, const struct stat *st)
{
	snprintf(key, PROBE_KEY, "%s %ju %jd %jd ", path, (uintmax_t)st->st_ino,
		(intmax_t)st->st_size,
		(intmax_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec);
}

static bool find_kept(const struct probe *p, const char *key, uint32_t ret[3])
{
	size_t n = strlen(key);
	uint32_t v[3];

	for (const char *line = text_string(&p->kept); *line;) {
		if (!strncmp(line, key, n) &&
			sscanf(line + n, "%9" SCNu32 " %9" SCNu32 " %9" SCNu32, &v[0], &v[1], &v[2]) ==
				3) {
			memcpy(ret, v, sizeof v);
			return true;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

static void load(struct probe *p)
{
	struct fault f;

	if (p->loaded || p->home < 0)
		return;
	p->loaded = true;
	/* Without it, or with a damaged one, everything is asked again. */
	if (file_read(p->home, cache_name, CACHE_BYTES, &p->kept, &f) < 0 ||
		strlen(text_string(&p->kept)) != p->kept.n)
		text_clear(&p->kept);
}

/* Filters of old container engines answer EPERM to clone3, which the library takes for final. */
static pid_t spawn_by_fork(char *const *argv, char *const *env, int in, int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	int null = open("/dev/null", O_RDWR);
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0 && dup2(in < 0 ? null : in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(null, 2) >= 0)
		execve(argv[0], argv, env);
	_exit(127);
}

static int spawn(char *const argv[], int in, int out, pid_t *ret_pid)
{
	char *env[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin", (char *)"LC_ALL=C", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, usual;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawn_file_actions_init(&actions);
	if (in < 0)
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	int r = posix_spawn(ret_pid, argv[0], &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (r != EPERM)
		return -r;
	*ret_pid = spawn_by_fork(argv, env, in, out);
	return *ret_pid < 0 ? -errno : 0;
}

/* Reads until the end, the bound, or the time limit. */
static size_t read_answer(int fd, char *answer, size_t room)
{
	int64_t end_ms = clock_now_ms() + PROBE_LIMIT_MS;
	size_t n = 0;

	while (n < room) {
		int64_t left_ms = end_ms - clock_now_ms();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int r = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;
		if (r < 0 && errno == EINTR)
			continue;
		ssize_t got = r > 0 ? read(fd, answer + n, room - n) : 0;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return n;
}

size_t probe_ask(char *const argv[], int in, void *answer, size_t room)
{
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return 0;
	auto_fd int from = pipe_fds[0], out = pipe_fds[1];
	if (spawn(argv, in, out, &pid) < 0)
		return 0;
	drop_fd(&out);
	size_t n = read_answer(from, answer, room);
	/* It has answered, or it has had its time: either way nothing of it is left. */
	kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return n;
}

static bool ask(const char *path, uint32_t ret[3])
{
	char *argv[] = { (char *)path, (char *)"--version", NULL };
	char answer[ANSWER_BYTES];

	answer[probe_ask(argv, -1, answer, sizeof answer - 1)] = 0;
	return runtime_parse_version(answer, ret);
}

bool probe_version(struct probe *p, const char *path, const struct stat *st, uint32_t ret[3])
{
	char key[PROBE_KEY];

	if (strlen(path) >= WORD || path[strcspn(path, " \n")])
		return false;
	load(p);
	probe_key(key, path, st);
	if (find_kept(p, key, ret))
		return true;
	if (!ask(path, ret))
		return false;
	if (p->kept.n > CACHE_BYTES / 2)
		text_clear(&p->kept);
	text_format(&p->kept, "%s%" PRIu32 " %" PRIu32 " %" PRIu32 "\n", key, ret[0], ret[1], ret[2]);
	p->changed = true;
	return true;
}

void probe_done(struct probe *p)
{
	struct fault f;

	if (p->changed && p->home >= 0)
		file_replace(p->home, cache_name, p->kept.data, p->kept.n, &f);
	text_done(&p->kept);
}
