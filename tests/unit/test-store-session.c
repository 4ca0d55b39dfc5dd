#include "store-home.h"

static struct session_spec named(const char *name)
{
	struct session_spec spec = { .class = CLASS_TASK };

	snprintf(spec.name, sizeof spec.name, "%s", name);
	return spec;
}

static struct store_session make(struct store *st, const char *name)
{
	struct session_spec spec = named(name);
	struct store_session s;
	struct fault f;

	if (store_session_make(st, &spec, &s, &f) < 0)
		fail_msg("%s", f.text);
	return s;
}

static char **list_of(const char *a, const char *b)
{
	char **list = calloc(3, sizeof *list);

	list[0] = strdup(a);
	list[1] = strdup(b);
	return list;
}

static void fill_spec(struct session_spec *spec)
{
	*spec = named("demo");
	strcpy(spec->runtime, "python:3");
	strcpy(spec->runtime_resolved, "python:3.11");
	strcpy(spec->interpreter, "/usr/bin/python3.11");
	strcpy(spec->skeleton, "skel-0");
	for (int i = 0; i < LIMIT_KINDS; i++)
		spec->limits[i] = 1000000007ull * (uint64_t)(i + 1);
	spec->require = 1u << LIMIT_MEMORY | 1u << LIMIT_NOFILE;
	spec->lifetime_ms = 1;
	spec->idle_timeout_ms = 2;
	spec->dormant_after_ms = 3;
	spec->exec_timeout_ms = 4;
	spec->output_keep_bytes = 5;
	spec->env = list_of("A=a\nb\"\xc3\xa4", "B=\xff\xfe" "c");
	spec->tools = list_of("read", "write");
	spec->created_us = 1790000000123456;
}

static void spec_comes_back_as_it_was(void **state)
{
	struct session_spec spec;
	struct store_session s, again;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	fill_spec(&spec);
	assert_int_equal(store_session_make(&st, &spec, &s, &f), 0);
	assert_null(spec.env);
	assert_int_equal(store_session_open(&st, "demo", &again, &f), 0);
	struct session_spec a = s.spec, b = again.spec;
	for (int i = 0; i < 2; i++) {
		assert_string_equal(a.env[i], b.env[i]);
		assert_string_equal(a.tools[i], b.tools[i]);
	}
	assert_null(b.env[2]);
	assert_null(b.tools[2]);
	a.env = a.tools = b.env = b.tools = NULL;
	assert_string_equal(a.id, b.id);
	assert_memory_equal(a.limits, b.limits, sizeof a.limits);
	assert_string_equal(b.interpreter, "/usr/bin/python3.11");
	assert_string_equal(b.runtime_resolved, "python:3.11");
	assert_string_equal(b.skeleton, "skel-0");
	assert_int_equal(b.class, CLASS_TASK);
	assert_int_equal(b.require, a.require);
	assert_int_equal(b.created_us, 1790000000123456);
	assert_int_equal(b.lifetime_ms + 10 * b.idle_timeout_ms + 100 * b.dormant_after_ms +
		1000 * b.exec_timeout_ms + 10000 * b.output_keep_bytes, 54321);
	store_session_close(&again);
	store_session_close(&s);
	store_close(&st);
}

static void status_comes_back_as_it_was(void **state)
{
	struct store_session s, again;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	s = make(&st, "");
	s.status.state = STATE_READY;
	s.status.pid = 4711;
	s.status.pid_start_ticks = 123456789012;
	s.status.expires_us = 1790000000000001;
	store_boot_id(s.status.boot_id);
	strcpy(s.status.cgroup, "/a/b\n/c/d\n");
	strcpy(s.status.jail, "{\"seccomp\":true}");
	strcpy(s.status.enforced_by[LIMIT_PIDS], "cgroup-v1");
	s.status.n_contexts = CONTEXTS_MAX;
	for (uint32_t i = 0; i < CONTEXTS_MAX; i++) {
		snprintf(s.status.contexts[i].name, ID_TEXT, "c%u", i);
		strcpy(s.status.contexts[i].language, "python");
		s.status.contexts[i].epoch = UINT32_MAX - i;
		s.status.contexts[i].alive = i & 1;
	}
	assert_int_equal(store_status_write(&s, &f), 0);
	assert_int_equal(store_session_open(&st, s.spec.id, &again, &f), 0);
	assert_memory_equal(&s.status, &again.status, sizeof s.status);
	store_session_close(&again);
	store_session_close(&s);
	store_close(&st);
}

static void directory_is_complete(void **state)
{
	static const char *const parts[] = { "events", "exec", "fs", "fs/up", "fs/wk",
		"fs/root", "fs/low", "lock", "spec.json" };
	struct store_session s;
	struct stat b;
	struct store st;
	struct fault f;
	int fs;

	home_open(*state, &st);
	mode_t old = umask(077);
	s = make(&st, "");
	umask(old);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		assert_int_equal(fstatat(s.dir, parts[i], &b, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(store_session_fs(&s, &fs, &f), 0);
	assert_int_equal(fstatat(fs, "up", &b, 0), 0);
	assert_int_equal(b.st_mode, S_IFDIR | 0755);
	assert_int_equal(b.st_uid, st.id_base ? st.id_base : geteuid());
	assert_int_equal(fstat(fs, &b), 0);
	assert_int_equal(b.st_mode, S_IFDIR | 0755);
	assert_int_equal(fstat(s.dir, &b), 0);
	assert_int_equal(b.st_mode, S_IFDIR | 0700);
	close(fs);
	store_session_close(&s);
	store_close(&st);
}

static size_t count(int dir, const char *name)
{
	char path[64];
	struct stat s;
	size_t n = 0;

	/* Every session is a directory: each is one more link of its parent. */
	snprintf(path, sizeof path, "%s", name);
	assert_int_equal(fstatat(dir, path, &s, 0), 0);
	n = s.st_nlink - 2;
	return n;
}

static void names_are_taken_once(void **state)
{
	struct session_spec spec;
	struct store_session a, b;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	a = make(&st, "demo");
	spec = named("demo");
	assert_int_equal(store_session_make(&st, &spec, &b, &f), -FAULT_BUSY);
	assert_string_equal(spec.name, "demo");
	spec = named(a.spec.id);
	assert_int_equal(store_session_make(&st, &spec, &b, &f), -FAULT_BUSY);
	spec = named("other");
	strcpy(spec.id, a.spec.id);
	assert_int_equal(store_session_make(&st, &spec, &b, &f), -FAULT_BUSY);
	assert_int_equal(count(st.dir, "sessions"), 1);
	assert_int_equal(count(st.dir, "trash"), 0);
	assert_int_equal(store_session_open(&st, "other", &b, &f), -FAULT_NOT_FOUND);
	/* Free again when it is gone. */
	assert_int_equal(store_session_remove(&a, &f), 0);
	store_session_close(&a);
	b = make(&st, "demo");
	store_session_close(&b);
	store_close(&st);
}

static void wrong_ids_are_refused(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "../sessions/x", "A", "-a", "a\n" };
	struct store_session s;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	for (size_t i = 0; i < 8; i++) {
		struct session_spec spec = named(bad[i]);
		assert_int_equal(store_session_open(&st, bad[i], &s, &f), -FAULT_USAGE);
		if (bad[i][0])
			assert_int_equal(store_session_make(&st, &spec, &s, &f), -FAULT_USAGE);
	}
	assert_int_equal(store_session_open(&st, "nobody", &s, &f), -FAULT_NOT_FOUND);
	assert_non_null(strstr(f.text, "nobody"));
	store_close(&st);
}

static void stale_names_are_replaced(void **state)
{
	struct store_session s;
	struct store st;
	struct fault f;
	int names;

	home_open(*state, &st);
	names = openat(st.dir, "names", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(symlinkat("sess_gone", names, "demo"), 0);
	assert_int_equal(symlinkat("../../etc/passwd", names, "evil"), 0);
	assert_int_equal(store_session_open(&st, "demo", &s, &f), -FAULT_NOT_FOUND);
	assert_int_equal(store_session_open(&st, "evil", &s, &f), -FAULT_NOT_FOUND);
	s = make(&st, "demo");
	store_session_close(&s);
	s = make(&st, "evil");
	store_session_close(&s);
	assert_int_equal(store_session_open(&st, "evil", &s, &f), 0);
	assert_string_equal(s.spec.name, "evil");
	store_session_close(&s);
	close(names);
	store_close(&st);
}

/* Many take one stale name at once: one gets it. */
static void one_of_many_gets_a_name(void **state)
{
	enum { N = 8 };
	struct store st;
	int status, won = 0;
	pid_t pids[N];

	home_open(*state, &st);
	int names = openat(st.dir, "names", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(symlinkat("sess_gone", names, "demo"), 0);
	for (int i = 0; i < N; i++)
		if (!(pids[i] = fork())) {
			struct session_spec spec = named("demo");
			struct store_session s;
			struct fault f;
			int r = store_session_make(&st, &spec, &s, &f);
			_exit(r == 0 ? 0 : r == -FAULT_BUSY ? 1 : 2);
		}
	for (int i = 0; i < N; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		won += WEXITSTATUS(status) == 0;
	}
	assert_int_equal(won, 1);
	assert_int_equal(count(st.dir, "sessions"), 1);
	close(names);
	store_close(&st);
}

static void lock_has_one_holder(void **state)
{
	struct store_session a, b;
	struct store st;
	struct fault f;
	bool live;

	home_open(*state, &st);
	a = make(&st, "demo");
	assert_int_equal(store_session_open(&st, "demo", &b, &f), 0);
	assert_int_equal(store_session_lock(&b, &f), STORE_LOCKED);
	assert_int_equal(store_session_is_live(&b, &live, &f), 0);
	assert_true(live);
	/* The status of who held it before is read with it. */
	a.status.state = STATE_STOPPED;
	assert_int_equal(store_status_write(&a, &f), 0);
	store_session_close(&a);
	assert_int_equal(store_session_is_live(&b, &live, &f), 0);
	assert_false(live);
	assert_int_equal(store_session_lock(&b, &f), 0);
	assert_int_equal(b.status.state, STATE_STOPPED);
	assert_int_equal(store_session_lock(&b, &f), 0);
	store_session_close(&b);
	store_close(&st);
}

static void lock_of_a_removed_session_is_refused(void **state)
{
	struct store_session a, b;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	a = make(&st, "demo");
	assert_int_equal(store_session_open(&st, "demo", &b, &f), 0);
	assert_int_equal(store_session_discard(&a, &f), 0);
	store_session_close(&a);
	assert_int_equal(store_session_lock(&b, &f), -FAULT_NOT_FOUND);
	assert_int_equal(b.lock_fd, -1);
	assert_int_equal(store_empty_trash(&st, &f), 0);
	assert_int_equal(store_session_lock(&b, &f), -FAULT_NOT_FOUND);
	store_session_close(&b);
	store_close(&st);
}

struct seen {
	char ids[8][ID_TEXT];
	int n, n_damaged;
};

static int see(struct store_session *s, void *arg)
{
	struct seen *seen = arg;

	strcpy(seen->ids[seen->n++], s->spec.id);
	seen->n_damaged += s->damaged;
	return 0;
}

static void put_file(struct store_session *s, const char *name, const char *text, size_t n)
{
	int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
}

static void each_comes_oldest_first(void **state)
{
	struct seen seen = { .n = 0 };
	struct store_session s[4];
	struct store st;
	struct fault f;

	home_open(*state, &st);
	for (int i = 0; i < 4; i++) {
		s[i] = make(&st, "");
		struct timespec when[2] = { { .tv_sec = 1000 - i }, { .tv_sec = 1000 - i } };
		utimensat(s[i].dir, "spec.json", when, 0);
	}
	put_file(&s[1], "status.json", "{", 1);
	assert_int_equal(mkdirat(st.dir, "sessions/.half", 0700), 0);
	assert_int_equal(store_each(&st, see, &seen, &f), 0);
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.n_damaged, 1);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(seen.ids[i], s[3 - i].spec.id);
		store_session_close(&s[i]);
	}
	store_close(&st);
}

static void damage_is_a_fault_that_names_the_file(void **state)
{
	static const char *const bad[] = { "", "{", "null", "[]", "{\"schema\":\"sbx.spec/2\"}",
		"{\"schema\":\"sbx.spec/1\"}", "{\"schema\":\"sbx.status/1\"}", "\0\0\0\0" };
	static const char *const files[] = { "spec.json", "status.json" };
	struct store_session s, again;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	for (size_t file = 0; file < 2; file++)
		for (size_t i = 0; i < 8; i++) {
			s = make(&st, "demo");
			put_file(&s, files[file], bad[i], i == 7 ? 4 : strlen(bad[i]));
			assert_int_equal(store_session_open(&st, "demo", &again, &f), -FAULT_FORMAT);
			assert_non_null(strstr(f.text, files[file]));
			assert_non_null(strstr(f.text, s.spec.id));
			store_session_close(&s);
			/* It can be removed, and its name is free again. */
			assert_int_equal(store_session_open_any(&st, "demo", &again, &f), 0);
			assert_true(again.damaged);
			assert_int_equal(store_session_lock(&again, &f), 0);
			assert_int_equal(store_session_remove(&again, &f), 0);
			store_session_close(&again);
			assert_int_equal(store_session_open(&st, "demo", &s, &f), -FAULT_NOT_FOUND);
			assert_int_equal(faccessat(st.dir, "names/demo", F_OK, AT_SYMLINK_NOFOLLOW), -1);
		}
	s = make(&st, "demo");
	unlinkat(s.dir, "spec.json", 0);
	assert_int_equal(store_session_open(&st, "demo", &again, &f), -FAULT_FORMAT);
	store_session_close(&s);
	store_close(&st);
}

/* Each byte of both files wrong once: a fault or a session, never a crash (ASan). */
static void any_byte_may_be_damaged(void **state)
{
	static const char *const files[] = { "spec.json", "status.json" };
	struct session_spec spec;
	struct store_session s, again;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	fill_spec(&spec);
	assert_int_equal(store_session_make(&st, &spec, &s, &f), 0);
	s.status.n_contexts = 1;
	strcpy(s.status.contexts[0].name, "main");
	assert_int_equal(store_status_write(&s, &f), 0);
	for (size_t file = 0; file < 2; file++) {
		char was[4096], is[4096];
		int fd = openat(s.dir, files[file], O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, was, sizeof was);
		close(fd);
		assert_true(n > 100 && n < 4096);
		for (ssize_t at = 0; at < n; at++) {
			memcpy(is, was, (size_t)n);
			is[at] = (char)(is[at] ^ (at % 2 ? 0x80 : 0x01));
			put_file(&s, files[file], is, (size_t)n);
			int r = store_session_open(&st, s.spec.id, &again, &f);
			assert_true(r == 0 || r == -FAULT_FORMAT);
			if (!r)
				store_session_close(&again);
		}
		put_file(&s, files[file], was, (size_t)n);
	}
	store_session_close(&s);
	store_close(&st);
}

static void requests_are_found_again(void **state)
{
	char exec[ID_TEXT], body[DIGEST_TEXT], sum[DIGEST_TEXT];
	struct store_session s;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	s = make(&st, "");
	struct digest *d = digest_new();
	digest_add(d, "a", 1);
	digest_add(d, "bc", 2);
	d = digest_end(d, sum);
	assert_null(d);
	/* Source: FIPS 180-2, appendix B.1. */
	assert_string_equal(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(store_request_find(&s, "../../x\n", exec, body, &f), 0);
	assert_int_equal(store_request_note(&s, "../../x\n", "exec_a", sum, &f), 0);
	assert_int_equal(store_request_find(&s, "../../x\n", exec, body, &f), 1);
	assert_string_equal(exec, "exec_a");
	assert_string_equal(body, sum);
	assert_int_equal(store_request_find(&s, "other", exec, body, &f), 0);
	assert_int_equal(store_request_note(&s, "../../x\n", "exec_b", sum, &f), 0);
	assert_int_equal(store_request_find(&s, "../../x\n", exec, body, &f), 1);
	assert_string_equal(exec, "exec_b");
	store_session_close(&s);
	store_close(&st);
}

static void damaged_request_is_a_fault(void **state)
{
	static const char *const bad[] = { "", "\n", "exec_a\n", "exec_a 12\n", "../x ", "exec_a " };
	char exec[ID_TEXT] = "kept", body[DIGEST_TEXT], name[DIGEST_TEXT], path[DIGEST_TEXT + 16];
	struct store_session s;
	struct store st;
	struct fault f;

	home_open(*state, &st);
	s = make(&st, "");
	struct digest *d = digest_new();
	digest_add(d, "id", 2);
	digest_end(d, name);
	snprintf(path, sizeof path, "requests/%s", name);
	assert_int_equal(store_request_find(&s, "id", exec, body, &f), 0);
	assert_int_equal(mkdirat(s.dir, "requests", 0700), 0);
	for (size_t i = 0; i < 6; i++) {
		put_file(&s, path, bad[i], strlen(bad[i]));
		assert_int_equal(store_request_find(&s, "id", exec, body, &f), -FAULT_FORMAT);
	}
	assert_string_equal(exec, "kept");
	store_session_close(&s);
	store_close(&st);
}

static void executions_have_directories(void **state)
{
	struct store_session s;
	struct store st;
	struct fault f;
	int dir;

	home_open(*state, &st);
	s = make(&st, "");
	assert_int_equal(store_exec_open(&s, "exec_a", &dir, &f), -FAULT_NOT_FOUND);
	assert_int_equal(store_exec_make(&s, "../up", &dir, &f), -FAULT_USAGE);
	assert_int_equal(store_exec_make(&s, "exec_a", &dir, &f), 0);
	close(dir);
	assert_int_equal(store_exec_make(&s, "exec_a", &dir, &f), -FAULT_BUSY);
	assert_int_equal(store_exec_open(&s, "exec_a", &dir, &f), 0);
	close(dir);
	store_session_close(&s);
	store_close(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_temp_dir(spec_comes_back_as_it_was),
		test_in_temp_dir(status_comes_back_as_it_was),
		test_in_temp_dir(directory_is_complete),
		test_in_temp_dir(names_are_taken_once),
		test_in_temp_dir(wrong_ids_are_refused),
		test_in_temp_dir(stale_names_are_replaced),
		test_in_temp_dir(one_of_many_gets_a_name),
		test_in_temp_dir(lock_has_one_holder),
		test_in_temp_dir(lock_of_a_removed_session_is_refused),
		test_in_temp_dir(each_comes_oldest_first),
		test_in_temp_dir(damage_is_a_fault_that_names_the_file),
		test_in_temp_dir(any_byte_may_be_damaged),
		test_in_temp_dir(requests_are_found_again),
		test_in_temp_dir(damaged_request_is_a_fault),
		test_in_temp_dir(executions_have_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
