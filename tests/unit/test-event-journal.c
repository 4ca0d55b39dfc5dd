#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sched.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "event/event.h"
#include "temp-dir.h"

static const char first_name[] = "0000000000000001.jsonl";

static int open_journal(struct temp_dir *t, struct journal *j)
{
	struct fault f = { 0 };

	*j = (struct journal){ 0 };
	return journal_open(t->fd, j, &f);
}

static int append(struct journal *j, const char *message)
{
	struct fault f = { 0 };
	struct text *t = event_begin(j, EVENT_LOG, "sess_a", NULL);

	json_put_string(t, "message", message);
	return event_end(j, &f);
}

static void append_n(struct journal *j, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(append(j, "m"), 0);
}

/* Reads what is there; the numbers must follow each other. Returns the last one. */
static uint64_t read_all(struct follow *fo, uint64_t last)
{
	struct fault f = { 0 };
	const char *line;
	size_t n;
	int r;

	while ((r = follow_next(fo, &line, &n, &f)) > 0) {
		enum event_type type;
		uint64_t seq;
		assert_true(event_peek(line, n, &seq, &type));
		assert_int_equal(seq, last + 1);
		last = seq;
	}
	assert_int_equal(r, 0);
	return last;
}

static uint64_t read_since(struct temp_dir *t, uint64_t since)
{
	struct fault f = { 0 };
	struct follow *fo;

	assert_int_equal(follow_open(t->fd, since, false, &fo, &f), 0);
	assert_int_equal(follow_fd(fo), -1);
	uint64_t last = read_all(fo, since);
	follow_free(fo);
	return last;
}

static void put_raw(struct temp_dir *t, const char *name, const void *p, size_t n)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	close(fd);
}

static off_t size_of(struct temp_dir *t, const char *name)
{
	struct stat st;

	return fstatat(t->fd, name, &st, 0) < 0 ? -1 : st.st_size;
}

static void numbers_go_on_when_it_is_opened_again(void **state)
{
	struct temp_dir *t = *state;
	auto_text struct text all = { 0 };
	struct fault f;
	struct journal j;

	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 3);
	journal_close(&j);
	assert_int_equal(open_journal(t, &j), 0);
	assert_int_equal(j.seq, 3);
	append_n(&j, 2);
	journal_close(&j);
	assert_int_equal(read_since(t, 0), 5);
	assert_int_equal(read_since(t, 3), 5);
	assert_int_equal(read_since(t, 5), 5);
	assert_int_equal(file_read(t->fd, first_name, 1 << 20, &all, &f), 0);
	assert_true(strncmp(all.data, "{\"schema\":\"sbx.events/1\"}\n{\"seq\":1,\"timestamp\":\"", 48) == 0);
}

static void torn_line_is_cut(void **state)
{
	static const char zeros[300000];
	struct temp_dir *t = *state;
	struct journal j;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(open_journal(t, &j), 0);
		append_n(&j, 2);
		assert_int_equal(j.seq, 2 * i + 2);
		journal_close(&j);
		if (i == 0)
			put_raw(t, first_name, "{\"seq\":3,\"timest", 16);
		else
			put_raw(t, first_name, zeros, sizeof zeros);
		if (i == 1)
			put_raw(t, first_name, "\nnot an event\n", 14);
		assert_int_equal(read_since(t, 0), 2 * i + 2);
	}
	assert_int_equal(open_journal(t, &j), 0);
	assert_true(size_of(t, first_name) < 4096);
	append_n(&j, 1);
	journal_close(&j);
	assert_int_equal(read_since(t, 0), 7);
}

static void torn_head_is_written_again(void **state)
{
	struct temp_dir *t = *state;
	struct journal j;

	put_raw(t, first_name, "{\"sche", 6);
	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 1);
	journal_close(&j);
	put_raw(t, "0000000000000002.jsonl", "", 0);
	assert_int_equal(open_journal(t, &j), 0);
	assert_int_equal(j.seq, 1);
	append_n(&j, 1);
	journal_close(&j);
	assert_int_equal(read_since(t, 0), 2);
}

static void unknown_schema_is_refused(void **state)
{
	struct temp_dir *t = *state;
	struct fault f = { 0 };
	struct follow *fo;
	struct journal j;
	const char *line;
	size_t n;

	put_raw(t, first_name, "{\"schema\":\"sbx.events/10\"}\n", 27);
	assert_int_equal(open_journal(t, &j), -FAULT_FORMAT);
	assert_int_equal(follow_open(t->fd, 0, false, &fo, &f), 0);
	assert_int_equal(follow_next(fo, &line, &n, &f), -FAULT_FORMAT);
	follow_free(fo);
	assert_int_equal(size_of(t, first_name), 27);
}

static void fill_segments(struct journal *j, int n_segments)
{
	char *big = malloc(1 << 20);

	memset(big, 'x', (1 << 20) - 1);
	big[(1 << 20) - 1] = 0;
	for (int i = 0; i < 9 * n_segments; i++)
		assert_int_equal(append(j, big), 0);
	free(big);
}

static void segments_are_named_by_their_first_event(void **state)
{
	struct temp_dir *t = *state;
	struct journal j;

	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 1);
	fill_segments(&j, 2);
	journal_close(&j);
	/* 1 small line and 8 big ones: the eighth crossed the limit. */
	assert_true(size_of(t, first_name) > (off_t)JOURNAL_SEGMENT_BYTES);
	assert_true(size_of(t, "0000000000000010.jsonl") > 0);
	for (uint64_t since = 0; since <= 19; since++)
		assert_int_equal(read_since(t, since), 19);
	assert_int_equal(open_journal(t, &j), 0);
	assert_int_equal(j.seq, 19);
	append_n(&j, 1);
	journal_close(&j);
	/* A segment that was collected is no gap for who begins behind it. */
	assert_int_equal(unlinkat(t->fd, first_name, 0), 0);
	assert_int_equal(read_since(t, 12), 20);
	struct fault f;
	struct follow *fo;
	assert_int_equal(follow_open(t->fd, 0, false, &fo, &f), 0);
	assert_int_equal(read_all(fo, 9), 20);
	follow_free(fo);
}

static void damaged_line_is_passed_over(void **state)
{
	struct temp_dir *t = *state;
	struct journal j;
	struct fault f;
	struct follow *fo;

	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 2);
	put_raw(t, first_name, "\0\x1b garbage\n", 11);
	j.n_segment += 11;
	append_n(&j, 1);
	assert_int_equal(read_since(t, 0), 3);
	assert_int_equal(follow_open(t->fd, 0, false, &fo, &f), 0);
	assert_int_equal(read_all(fo, 0), 3);
	fill_segments(&j, 1);
	put_raw(t, first_name, "garbage at the end\n", 19);
	append_n(&j, 1);
	assert_int_equal(read_all(fo, 3), 13);
	follow_free(fo);
	journal_close(&j);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void follower_wakes(void **state)
{
	struct temp_dir *t = *state;
	struct fault f = { 0 };
	struct follow *fo[8];
	struct journal j;

	/* Before there is any segment. */
	for (int i = 0; i < 8; i++) {
		assert_int_equal(follow_open(t->fd, 0, true, &fo[i], &f), 0);
		assert_int_equal(read_all(fo[i], 0), 0);
		assert_false(is_readable(follow_fd(fo[i]), 0));
	}
	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 1);
	for (int i = 0; i < 8; i++) {
		assert_true(is_readable(follow_fd(fo[i]), 0));
		assert_int_equal(read_all(fo[i], 0), 1);
		assert_false(is_readable(follow_fd(fo[i]), 0));
	}
	fill_segments(&j, 2);
	append_n(&j, 1);
	for (int i = 0; i < 8; i++) {
		assert_true(is_readable(follow_fd(fo[i]), 0));
		assert_int_equal(read_all(fo[i], 1), 20);
		assert_false(is_readable(follow_fd(fo[i]), 0));
		assert_false(follow_is_gone(fo[i]));
	}
	journal_close(&j);
	assert_int_equal(unlinkat(t->fd, "0000000000000018.jsonl", 0), 0);
	for (int i = 0; i < 8; i++) {
		assert_true(is_readable(follow_fd(fo[i]), 0));
		assert_true(follow_is_gone(fo[i]));
		follow_free(fo[i]);
	}
}

/* One writer, one reader at full speed: nothing is missed or seen twice. */
static void follower_races_the_writer(void **state)
{
	enum { N = 20000 };
	struct temp_dir *t = *state;
	struct fault f = { 0 };
	struct follow *fo;
	uint64_t last = 0;
	pid_t pid = fork();

	if (!pid) {
		char big[2048];
		struct journal j;
		int r = open_journal(t, &j);
		memset(big, 'y', sizeof big - 1);
		big[sizeof big - 1] = 0;
		for (int i = 0; !r && i < N; i++)
			r = append(&j, big);
		_exit(r != 0);
	}
	assert_int_equal(follow_open(t->fd, 0, true, &fo, &f), 0);
	while (last < N) {
		last = read_all(fo, last);
		if (last < N)
			assert_true(is_readable(follow_fd(fo), 10000));
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	follow_free(fo);
}

static void torn_line_waits_for_its_end(void **state)
{
	struct temp_dir *t = *state;
	struct fault f = { 0 };
	struct follow *fo;
	struct journal j;

	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 1);
	assert_int_equal(follow_open(t->fd, 0, true, &fo, &f), 0);
	/* What a full disk leaves for a moment, then cuts; another line takes the place. */
	put_raw(t, first_name, "{\"seq\":2,\"timestamp\":\"bad", 25);
	assert_int_equal(read_all(fo, 0), 1);
	assert_int_equal(ftruncate(j.fd, (off_t)j.n_segment), 0);
	append_n(&j, 1);
	assert_int_equal(read_all(fo, 1), 2);
	put_raw(t, first_name, "{\"seq\":3,\"timestamp\":\"x\",\"type\":\"lo", 36);
	assert_int_equal(read_all(fo, 2), 2);
	put_raw(t, first_name, "g\"}\n", 4);
	assert_int_equal(read_all(fo, 2), 3);
	follow_free(fo);
	journal_close(&j);
}

/* A write that stops in the middle of a line: no part of it stays, its number is used again. */
static void failed_write_leaves_nothing(void **state)
{
	struct temp_dir *t = *state;
	struct rlimit old, low;
	struct fault f = { 0 };
	struct journal j;

	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 2);
	off_t size = size_of(t, first_name);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_IGN);
	low = (struct rlimit){ (rlim_t)size + 20, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	json_put_string(event_begin(&j, EVENT_LOG, "sess_a", NULL), "message", "longer than twenty bytes");
	int r = event_end(&j, &f);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(r, -FAULT_SYSTEM);
	assert_int_equal(f.sysno, EFBIG);
	assert_int_equal(size_of(t, first_name), size);
	assert_int_equal(j.seq, 2);
	append_n(&j, 1);
	assert_int_equal(read_since(t, 0), 3);
	journal_close(&j);
}

static int fill_small_disk(const char *path)
{
	struct temp_dir small = { .fd = -1 };
	struct fault f = { 0 };
	struct journal j;
	uint64_t n = 0;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", path, "tmpfs", 0, "size=64k") < 0)
		return 77;
	small.fd = open(path, O_RDONLY | O_DIRECTORY);
	if (open_journal(&small, &j) < 0)
		return 1;
	do
		json_put_string(event_begin(&j, EVENT_LOG, "sess_a", "exec_b"), "message", "some text of it");
	while (event_end(&j, &f) == 0 && ++n < 10000);
	if (f.sysno != ENOSPC || j.seq != n || size_of(&small, first_name) != (off_t)j.n_segment)
		return 2;
	return read_since(&small, 0) == n ? 0 : 3;
}

static void full_disk_is_reported(void **state)
{
	struct temp_dir *t = *state;
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fill_small_disk(t->path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skip: no right to mount a small tmpfs\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void too_long_a_line_is_refused(void **state)
{
	struct temp_dir *t = *state;
	struct journal j;
	size_t n = EVENT_LINE_BYTES + 1;
	char *big = malloc(n);

	memset(big, 'x', n - 1);
	big[n - 1] = 0;
	assert_int_equal(open_journal(t, &j), 0);
	assert_int_equal(append(&j, big), -FAULT_LIMIT);
	append_n(&j, 1);
	journal_close(&j);
	assert_int_equal(read_since(t, 0), 1);
	free(big);
}

static void content_from_inside_stays_one_line(void **state)
{
	static const char evil[] = "\"}\n{\"seq\":99,\"timestamp\":\"x\",\"type\":\"log\"}\n\0\r\x1b[0m\xff\\";
	struct temp_dir *t = *state;
	auto_text struct text all = { 0 };
	struct fault f = { 0 };
	struct journal j;

	assert_int_equal(open_journal(t, &j), 0);
	json_put_name(event_begin(&j, EVENT_LOG, "sess_a", "exec_b"), "path", evil, sizeof evil - 1);
	assert_int_equal(event_end(&j, &f), 0);
	append_n(&j, 1);
	journal_close(&j);
	assert_int_equal(read_since(t, 0), 2);
	assert_int_equal(file_read(t->fd, first_name, 1 << 20, &all, &f), 0);
	size_t lines = 0;
	for (size_t i = 0; i < all.n; i++) {
		assert_true((unsigned char)all.data[i] >= 0x20 || all.data[i] == '\n');
		lines += all.data[i] == '\n';
	}
	assert_int_equal(lines, 3);
	assert_non_null(strstr(all.data, "\"path_base64\":"));
}

static void strange_names_are_no_segments(void **state)
{
	struct temp_dir *t = *state;
	struct journal j;

	put_raw(t, "0000000000000000.jsonl", "x\n", 2);
	put_raw(t, "9.jsonl", "x\n", 2);
	put_raw(t, "0000000000000009.jsonl.tmp", "x\n", 2);
	put_raw(t, "-000000000000009.jsonl", "x\n", 2);
	put_raw(t, "99999999999999999999999.jsonl", "x\n", 2);
	assert_int_equal(open_journal(t, &j), 0);
	append_n(&j, 1);
	journal_close(&j);
	assert_int_equal(read_since(t, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_temp_dir(numbers_go_on_when_it_is_opened_again),
		test_in_temp_dir(torn_line_is_cut),
		test_in_temp_dir(torn_head_is_written_again),
		test_in_temp_dir(unknown_schema_is_refused),
		test_in_temp_dir(segments_are_named_by_their_first_event),
		test_in_temp_dir(damaged_line_is_passed_over),
		test_in_temp_dir(follower_wakes),
		test_in_temp_dir(follower_races_the_writer),
		test_in_temp_dir(torn_line_waits_for_its_end),
		test_in_temp_dir(failed_write_leaves_nothing),
		test_in_temp_dir(full_disk_is_reported),
		test_in_temp_dir(too_long_a_line_is_refused),
		test_in_temp_dir(content_from_inside_stays_one_line),
		test_in_temp_dir(strange_names_are_no_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
