/* A real jail: what runs in it, what it cannot do, how it ends, what is left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"
#include "rig.h"
#include "sys/landlock.h"

static struct rig rig;
static struct rig_end end;

static void expect_output(const char *script, const char *output)
{
	rig_shell(&rig, &end, script);
	assert_true(end.started);
	assert_string_equal(end.out.data, output);
	assert_int_equal(end.event.kind, JAIL_EXEC_ENDED);
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* A command that goes on by itself, with /dev/null for everything. */
static struct jail_exec *start(const char *script)
{
	struct jail_exec *x = rig_take(&rig);
	struct jail_command c =
		rig_default((char *[]){ (char *)"/bin/sh", (char *)"-c", (char *)script, NULL });
	struct jail_exec_event e;
	struct fault f;

	assert_int_equal(jail_exec_start(x, &c, &f), 0);
	rig_exec_event(x, &e);
	assert_int_equal(e.kind, JAIL_EXEC_STARTED);
	return x;
}

static void test_report(void **state)
{
	(void)state;
	assert_int_equal(rig.report.overlay_volatile, 1);
	assert_int_equal(rig.report.proc_masked, 1);
	assert_int_equal(rig.report.seccomp, 1);
	int abi = 0, set = landlock_open(&abi);
	assert_int_equal(rig.report.landlock_abi, set < 0 ? 0 : abi);
	close(set);
	assert_int_equal(rig.report.userns_limited, 1);
	assert_int_equal(rig.report.sealed, 1);
	assert_int_equal(rig.report.private_keyring, 1);
	assert_int_equal(rig.report.net_loopback, 1);
	/* Before Linux 6.2 the root is closed by its mount. */
	if (abi >= LANDLOCK_ABI_TRUNCATE)
		assert_string_equal(rig.report.fallbacks, "");
	assert_true(rig.root >= 0);
}

static void test_output_and_status(void **state)
{
	(void)state;
	expect_output("echo out; echo err >&2; exit 7", "out\nerr\n");
	assert_true(WIFEXITED(end.event.status));
	assert_int_equal(WEXITSTATUS(end.event.status), 7);
	assert_int_equal(end.event.leftovers, 0);
	assert_true(end.event.usage.max_rss_bytes > 0);
}

static void test_signal_status(void **state)
{
	(void)state;
	expect_output("kill -USR1 $$", "");
	assert_true(WIFSIGNALED(end.event.status));
	assert_int_equal(WTERMSIG(end.event.status), SIGUSR1);
}

static void test_identity(void **state)
{
	(void)state;
	expect_output("id -u; id -g; pwd; hostname; echo $HOME $PATH; umask; env | sort | grep -v ^_",
		"1000\n1000\n/workspace\nrig\n/home/sandbox /usr/local/bin:/usr/bin:/bin\n0022\n"
		"HOME=/home/sandbox\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/workspace\n");
}

static void test_descriptors(void **state)
{
	(void)state;
	/* ls itself opens the directory as 3. */
	rig_run(&rig, &end, (char *[]){ (char *)"ls", (char *)"/proc/self/fd", NULL });
	assert_string_equal(end.out.data, "0\n1\n2\n3\n");
	expect_output("readlink /proc/self/fd/0", "/dev/null\n");
}

static void test_signals_are_as_new(void **state)
{
	(void)state;
	expect_output("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -s '\\t\\n' ' '",
		"SigBlk: 0000000000000000 SigIgn: 0000000000000000 ");
}

static void expect_failure(struct jail_command c, const char *stage, int sysno)
{
	rig_command(&rig, &end, &c, NULL);
	assert_false(end.started);
	assert_int_equal(end.event.kind, JAIL_EXEC_FAILED);
	assert_string_equal(end.event.stage, stage);
	assert_int_equal(end.event.sysno, sysno);
}

/* A link of /proc that leads anywhere: it is not followed, or may not even be read. */
static void expect_no_magic(struct jail_command c, const char *stage)
{
	rig_command(&rig, &end, &c, NULL);
	assert_false(end.started);
	assert_string_equal(end.event.stage, stage);
	assert_true(end.event.sysno == ELOOP || end.event.sysno == EACCES);
}

static void test_start_failures_are_typed(void **state)
{
	struct jail_command c = rig_default((char *[]){ (char *)"no-such-program", NULL });

	(void)state;
	expect_failure(c, "exec", ENOENT);
	c.argv = (char *[]){ (char *)"/etc/passwd", NULL };
	expect_failure(c, "exec", EACCES);
	c.argv = (char *[]){ (char *)"", NULL };
	expect_failure(c, "exec", ENOENT);
	c.argv = (char *[]){ (char *)"/bin/true", NULL };
	c.cwd = "/no/such";
	expect_failure(c, "cwd", ENOENT);
	c.cwd = "/etc/passwd";
	expect_failure(c, "cwd", ENOTDIR);
	c.cwd = "/proc/1/cwd";
	expect_no_magic(c, "cwd");
	c.cwd = "/proc/self/fd/32/../../..";
	expect_no_magic(c, "cwd");
	c.cwd = "/";
	c.argv = (char *[]){ (char *)"/proc/self/exe", NULL };
	expect_no_magic(c, "exec");
	c.argv = (char *[]){ (char *)"/bin/true", NULL };
	c.rlimits.nproc = 1;
	c.uid = 1000;
	rig_command(&rig, &end, &c, NULL); /* a limit that is in use already is no crash */
	assert_true(end.event.kind == JAIL_EXEC_ENDED || end.event.kind == JAIL_EXEC_FAILED);
}

static void test_path_search(void **state)
{
	static char *env[] = { (char *)"PATH=/nowhere:/etc/passwd:/tmp/bin:/usr/bin", NULL };
	struct jail_command c = rig_default((char *[]){ (char *)"tool", (char *)"x", NULL });

	(void)state;
	rig_shell(&rig, &end, "mkdir -p /tmp/bin; echo 'echo script $0 $1' > /tmp/bin/tool");
	c.env = env;
	expect_failure(c, "exec", EACCES); /* there, but not executable */
	rig_shell(&rig, &end, "chmod +x /tmp/bin/tool");
	rig_command(&rig, &end, &c, NULL); /* no #!: /bin/sh runs it, as execvp does */
	assert_string_equal(end.out.data, "script /tmp/bin/tool x\n");
	c.argv = (char *[]){ (char *)"true", NULL };
	rig_command(&rig, &end, &c, NULL); /* found behind those that failed */
	assert_true(end.started);
	assert_int_equal(end.event.status, 0);
}

static void test_stdin(void **state)
{
	auto_text struct text in = { 0 };
	struct jail_command c = rig_default((char *[]){ (char *)"md5sum", NULL });

	(void)state;
	for (int i = 0; i < 300000; i++)
		text_put_char(&in, (char)(i * 7));
	rig_command(&rig, &end, &c, &in);
	assert_int_equal(end.out.n, 36);
	expect_output("cat; echo end", "end\n");
}

static void test_long_command(void **state)
{
	auto_text struct text arg = { 0 };

	(void)state;
	for (int i = 0; i < 120000; i++)
		text_put_char(&arg, 'x');
	rig_run(&rig, &end, (char *[]){ (char *)"/bin/sh", (char *)"-c", (char *)"echo ${#1} ${#2}",
		(char *)"sh", arg.data, arg.data, NULL });
	assert_string_equal(end.out.data, "120000 120000\n");
}

static void test_rlimits(void **state)
{
	struct jail_command c = rig_default((char *[]){ (char *)"/bin/sh", (char *)"-c",
		(char *)"ulimit -Hn; ulimit -Sn; ulimit -Hf; ulimit -St; ulimit -Ht; ulimit -Hc", NULL });

	(void)state;
	c.rlimits = (struct jail_rlimits){ .nofile = 77, .fsize_bytes = 1 << 20, .cpu_s = 9 };
	rig_command(&rig, &end, &c, NULL);
	/* fsize in blocks of 512 bytes; core: 1 byte is 0 blocks */
	assert_string_equal(end.out.data, "77\n77\n2048\n9\n10\n0\n");
}

static void test_fork_limit_holds(void **state)
{
	struct jail_command c = rig_default((char *[]){ (char *)"/bin/sh", (char *)"-c",
		(char *)"i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; echo all", NULL });

	(void)state;
	c.rlimits.nproc = 20;
	rig_command(&rig, &end, &c, NULL);
	assert_null(strstr(end.out.data, "all"));
	assert_int_equal(end.event.kind, JAIL_EXEC_ENDED);
	assert_in_range(end.event.leftovers, 1, 20);
}

static void test_oom_score(void **state)
{
	struct jail_command c = rig_default((char *[]){ (char *)"/bin/sh", (char *)"-c",
		(char *)"cat /proc/self/oom_score_adj /proc/1/oom_score_adj", NULL });

	(void)state;
	c.oom_score_adj = 321;
	rig_command(&rig, &end, &c, NULL);
	assert_string_equal(end.out.data, "321\n0\n");
}

static void test_leftovers_are_killed_and_counted(void **state)
{
	(void)state;
	rig_shell(&rig, &end, "for i in 1 2 3; do (trap '' TERM HUP; setsid sleep 300 & ) </dev/null"
		" >/dev/null 2>&1; done; sleep 0.2; exit 3");
	assert_int_equal(WEXITSTATUS(end.event.status), 3);
	assert_int_equal(end.event.leftovers, 3);
}

static void test_stopped_processes_are_no_obstacle(void **state)
{
	struct jail_exec_event e;
	struct jail_exec *x;

	(void)state;
	rig_shell(&rig, &end, "sleep 300 </dev/null >/dev/null 2>&1 & kill -STOP $!; exit 0");
	assert_int_equal(end.event.leftovers, 1);
	x = start("kill -STOP $$; sleep 300");
	sleep_ms(50);
	jail_exec_signal(x, SIGKILL, JAIL_TO_LEADER);
	rig_exec_event(x, &e);
	assert_int_equal(e.kind, JAIL_EXEC_ENDED);
	assert_int_equal(WTERMSIG(e.status), SIGKILL);
	jail_exec_free(x);
}

static void test_orphans_are_reaped(void **state)
{
	(void)state;
	rig_shell(&rig, &end, "i=0; while [ $i -lt 600 ]; do (true &); i=$((i+1)); done; sleep 0.3;"
		"grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l");
	assert_string_equal(end.out.data, "0\n");
	assert_int_equal(end.event.leftovers, 0);
}

static void test_signals(void **state)
{
	struct jail_exec_event e;
	struct jail_exec *x = start("trap 'exit 5' INT; while :; do sleep 0.05; done");

	(void)state;
	sleep_ms(100);
	jail_exec_signal(x, SIGINT, JAIL_TO_LEADER);
	rig_exec_event(x, &e);
	assert_int_equal(WEXITSTATUS(e.status), 5);
	jail_exec_free(x);

	/* The group: the shell and the sleep of the same session. */
	x = start("trap 'exit 6' INT; sleep 300; exit 7");
	sleep_ms(100);
	jail_exec_signal(x, SIGINT, JAIL_TO_GROUP);
	rig_exec_event(x, &e);
	assert_int_equal(WEXITSTATUS(e.status), 6);
	jail_exec_free(x);

	/* Everything: also what left the session. */
	x = start("setsid sleep 300 & wait; exit 8");
	sleep_ms(100);
	jail_exec_signal(x, SIGTERM, JAIL_TO_ALL);
	rig_exec_event(x, &e);
	assert_int_equal(WTERMSIG(e.status), SIGTERM);
	jail_exec_free(x);
}

static void test_kill_takes_the_whole_tree(void **state)
{
	int64_t begin_ms = clock_now_ms();
	struct jail_exec_event e;
	struct pollfd p;
	struct jail_exec *x = start("trap '' TERM INT; setsid sleep 300 & (setsid sh -c 'sleep 300; :' &);"
		"while :; do sleep 1; done");

	(void)state;
	jail_exec_kill(x);
	rig_exec_event(x, &e);
	assert_int_equal(e.kind, JAIL_EXEC_DEAD);
	p = (struct pollfd){ jail_exec_pidfd(x), POLLIN, 0 };
	assert_int_equal(poll(&p, 1, 2000), 1);
	assert_true(clock_now_ms() - begin_ms < 2000);
	jail_exec_free(x);
}

static void test_signal_since(void **state)
{
	/* An old child, then a mark, then new ones; the leader tells who lives. */
	struct jail_exec *x = start("lives() { grep -q '^State:.[RSD]' /proc/$1/status 2>/dev/null; };"
		"sleep 300 & old=$!; sleep 0.1; cut -d' ' -f22 /proc/self/stat > /tmp/mark; sleep 0.1;"
		"setsid sleep 300 & new=$!; sleep 300 & other=$!; : > /tmp/go;"
		"while [ -e /tmp/go ]; do sleep 0.02; done;"
		"lives $old || exit 1; lives $new && exit 2; lives $other && exit 3; exit 9");
	struct jail_exec_event e;

	(void)state;
	do
		rig_shell(&rig, &end, "[ -e /tmp/go ] && cat /tmp/mark");
	while (end.event.status);
	jail_exec_signal_since(x, SIGKILL, strtoull(end.out.data, NULL, 10));
	sleep_ms(100);
	rig_shell(&rig, &end, "rm /tmp/go");
	rig_exec_event(x, &e);
	assert_int_equal(e.kind, JAIL_EXEC_ENDED);
	assert_int_equal(WEXITSTATUS(e.status), 9);
	jail_exec_free(x);
}

static void test_terminal(void **state)
{
	struct jail_command c = rig_default((char *[]){ (char *)"/bin/sh", (char *)"-c",
		(char *)"tty; stty size; stat -c %u $(tty); read x; stty size; echo got $x", NULL });
	struct jail_exec *x = rig_take(&rig);
	struct jail_exec_event e;
	struct fault f;
	char buf[4096];
	size_t n = 0;

	(void)state;
	c.tty = true;
	c.rows = 24;
	c.columns = 80;
	assert_int_equal(jail_exec_start(x, &c, &f), 0);
	rig_exec_event(x, &e);
	assert_int_equal(e.kind, JAIL_EXEC_STARTED);
	int tty = e.tty_fd;
	assert_true(tty >= 0);
	sleep_ms(200);
	jail_exec_resize(x, 30, 100);
	sleep_ms(50);
	assert_int_equal(write(tty, "hi\n", 3), 3);
	rig_exec_event(x, &e);
	assert_int_equal(e.kind, JAIL_EXEC_ENDED);
	for (ssize_t r; n < sizeof buf - 1 && (r = read(tty, buf + n, sizeof buf - 1 - n)) > 0;)
		n += (size_t)r;
	buf[n] = 0;
	assert_string_equal(buf, "/dev/pts/0\r\n24 80\r\n1000\r\nhi\r\n30 100\r\ngot hi\r\n");
	close(tty);
	jail_exec_free(x);
}

static void test_files_are_kept_and_shared(void **state)
{
	(void)state;
	rig_shell(&rig, &end, "echo kept > /workspace/a; mkdir /tmp/d; mkfifo /tmp/f");
	assert_int_equal(end.event.status, 0);
	expect_output("cat /workspace/a; stat -c %u:%g /workspace/a", "kept\n1000:1000\n");
	struct stat st;
	assert_int_equal(fstatat(rig.fs, "up/workspace/a", &st, 0), 0);
	assert_int_equal(st.st_uid, geteuid() ? geteuid() : rig.id_base + 1000);
}

static void test_drivers(void **state)
{
	(void)state;
	expect_output("cat /run/sbx/driver; stat -c '%a' /run/sbx/driver; : > /run/sbx/x", "content\n444\n"
		"/bin/sh: 1: cannot create /run/sbx/x: Read-only file system\n");
}

static void test_every_wall_holds(void **state)
{
	struct jail_command c = rig_default((char *[]){ (char *)"probe", NULL });
	struct text bad = { 0 };
	int n = 0;

	(void)state;
	c.kind = JAIL_PROBE;
	rig_command(&rig, &end, &c, NULL);
	assert_int_equal(end.event.kind, JAIL_EXEC_ENDED);
	assert_int_equal(end.event.status, 0);
	for (const char *s = end.out.data; (s = strstr(s, "\"held\":")); s++, n++)
		if (strncmp(s, "\"held\":true", 11))
			text_format(&bad, "%.60s\n", s - 20 > end.out.data ? s - 20 : s);
	if (bad.n)
		fail_msg("%s\n%s", bad.data, end.out.data);
	assert_true(n > 100);
}

/* Positive control: outside, the same questions have other answers. */
static void test_the_probe_can_fail(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat("/proc/self/root/etc/shadow", &st), 0);
	rig_shell(&rig, &end, "[ -e /etc/shadow ]");
	assert_int_equal(WEXITSTATUS(end.event.status), 1);
}

static void test_mountinfo_shows_nothing_of_the_host(void **state)
{
	(void)state;
	rig_shell(&rig, &end, "cat /proc/self/mountinfo /proc/1/cmdline");
	assert_non_null(strstr(end.out.data, "lowerdir=low"));
	assert_null(strstr(end.out.data, "sbx-rig"));
}

static void test_fallocate(void **state)
{
	(void)state;
	rig_shell(&rig, &end, "fallocate -l 1M /tmp/big && stat -c %s /tmp/big");
	assert_string_equal(end.out.data, "1048576\n");
}

static void test_programs_of_all_kinds(void **state)
{
	(void)state;
	expect_output("python3 -c 'import threading, multiprocessing as m\n"
		"t = threading.Thread(target=print, args=(1,)); t.start(); t.join()\n"
		"with m.Pool(2) as p: print(p.map(abs, [-1, -2]))'", "1\n[1, 2]\n");
	expect_output("bash -c 'cat <(echo sub)'; perl -e 'print 6*7, qq(\\n)'", "sub\n42\n");
	expect_output("cd /workspace && rm -rf r && git init -q r && cd r && git -c user.name=a -c "
		"user.email=b commit -q --allow-empty -m x && git log --format=%s", "x\n");
}

static void test_limit_of_shared_memory(void **state)
{
	(void)state;
	rig_shell(&rig, &end, "head -c 20000000 /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x; rm /dev/shm/x");
	assert_non_null(strstr(end.out.data, "No space left"));
	assert_non_null(strstr(end.out.data, "16777216"));
}

static void test_a_lost_host_ends_everything(void **state)
{
	int link[2];
	pid_t init = 0;
	char path[64];

	(void)state;
	assert_int_equal(pipe2(link, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (!pid) {
		struct rig other;
		rig_open(&other);
		init = jail_pid(other.jail);
		if (write(link[1], &init, sizeof init) != sizeof init ||
			write(link[1], other.dir, sizeof other.dir) != sizeof other.dir)
			_exit(1);
		rig = other;
		start("trap '' TERM HUP INT; while :; do sleep 1; done");
		kill(getpid(), SIGKILL);
	}
	char dir[128], command[300];
	assert_int_equal(read(link[0], &init, sizeof init), sizeof init);
	assert_int_equal(read(link[0], dir, sizeof dir), sizeof dir);
	waitpid(pid, NULL, 0);
	close(link[0]);
	close(link[1]);
	snprintf(path, sizeof path, "/proc/%d", (int)init);
	int64_t end_ms = clock_now_ms() + 3000;
	while (!access(path, F_OK) && clock_now_ms() < end_ms)
		sleep_ms(5);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", dir, dir);
	assert_int_equal(system(command), 0);
}

static unsigned count(const char *dir)
{
	unsigned n = 0;
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static unsigned count_mounts(void)
{
	char line[4096];
	unsigned n = 0;
	FILE *in = fopen("/proc/self/mountinfo", "re");

	while (in && fgets(line, sizeof line, in))
		n++;
	if (in)
		fclose(in);
	return n;
}

static void test_nothing_is_left(void **state)
{
	unsigned fds = count("/proc/self/fd"), mounts = count_mounts();
	struct rig other;

	(void)state;
	rig_make(&other);
	unsigned made = count("/proc/self/fd");
	for (int i = 0; i < 20; i++) {
		rig_start(&other);
		rig_shell(&other, &end, "sleep 300 </dev/null >/dev/null 2>&1 &");
		assert_int_equal(end.event.kind, JAIL_EXEC_ENDED);
		pid_t init = jail_pid(other.jail);
		rig_stop(&other);
		assert_int_equal(kill(init, 0), -1);
		assert_int_equal(count("/proc/self/fd"), made);
	}
	rig_remove(&other);
	assert_int_equal(count("/proc/self/fd"), fds);
	assert_int_equal(count_mounts(), mounts);
}

static void test_many_executions(void **state)
{
	struct jail_event e;
	uint32_t n = 60;

	(void)state;
	rig.reaped = 0;
	for (uint32_t i = 0; i < n; i++) {
		rig_run(&rig, &end, (char *[]){ (char *)"/bin/true", NULL });
		assert_int_equal(end.event.status, 0);
	}
	/* Each of them is reported gone; the events in between carry the spares. */
	int64_t end_ms = clock_now_ms() + 5000;
	while (rig.reaped < n && clock_now_ms() < end_ms) {
		rig_event(&rig, &e);
		if (e.kind == JAIL_EVENT_SPARE)
			rig.spare = e.exec;
	}
	assert_in_range(rig.reaped, n, n + 50);
}

static void test_probe_of_the_host(void **state)
{
	struct fault f;

	(void)state;
	if (rig_probe(&f) < 0)
		fail_msg("%s", f.text);
}

static int open_rig(void **state)
{
	static const struct jail_file files[] = { { "driver", "content\n", 8 } };

	(void)state;
	rig_make(&rig);
	rig.files = files;
	rig.n_files = 1;
	rig_start(&rig);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	text_done(&end.out);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_output_and_status),
		cmocka_unit_test(test_signal_status),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_signals_are_as_new),
		cmocka_unit_test(test_start_failures_are_typed),
		cmocka_unit_test(test_path_search),
		cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_rlimits),
		cmocka_unit_test(test_fork_limit_holds),
		cmocka_unit_test(test_oom_score),
		cmocka_unit_test(test_leftovers_are_killed_and_counted),
		cmocka_unit_test(test_stopped_processes_are_no_obstacle),
		cmocka_unit_test(test_orphans_are_reaped),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_kill_takes_the_whole_tree),
		cmocka_unit_test(test_signal_since),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_files_are_kept_and_shared),
		cmocka_unit_test(test_drivers),
		cmocka_unit_test(test_every_wall_holds),
		cmocka_unit_test(test_the_probe_can_fail),
		cmocka_unit_test(test_mountinfo_shows_nothing_of_the_host),
		cmocka_unit_test(test_fallocate),
		cmocka_unit_test(test_programs_of_all_kinds),
		cmocka_unit_test(test_limit_of_shared_memory),
		cmocka_unit_test(test_a_lost_host_ends_everything),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_many_executions),
		cmocka_unit_test(test_probe_of_the_host),
	};

	return cmocka_run_group_tests(tests, open_rig, close_rig);
}
