#include "store-home.h"

static void is_made_at_the_first_use(void **state)
{
	static const char *const parts[] = { "layers", "names", "sessions", "trash" };
	struct temp_dir *t = *state;
	struct store st, again;
	char path[PATH_MAX + 32];
	struct fault f;
	struct stat s;

	snprintf(path, sizeof path, "%s/a/b/home", t->path);
	setenv("SBX_HOME", path, 1);
	mode_t old = umask(0);
	assert_int_equal(store_open(&st, &f), 0);
	umask(old);
	assert_string_equal(st.path, path);
	assert_int_equal(stat(path, &s), 0);
	assert_int_equal(s.st_mode & 07777, 0700);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(fstatat(st.dir, parts[i], &s, 0), 0);
		assert_int_equal(s.st_mode, S_IFDIR | 0700);
	}
	assert_int_equal(fstatat(st.dir, "id_base", &s, 0), 0);
	assert_int_equal(store_open(&again, &f), 0);
	assert_int_equal(again.id_base, st.id_base);
	store_close(&again);
	store_close(&st);
}

static void is_refused_when_others_can_write(void **state)
{
	static const mode_t bad[] = { 0777, 0770, 0702 };
	struct temp_dir *t = *state;
	struct store st;
	struct fault f;

	home_open(t, &st);
	for (size_t i = 0; i < 3; i++) {
		fchmod(st.dir, bad[i]);
		struct store again;
		assert_int_equal(store_open(&again, &f), -FAULT_DENIED);
		assert_non_null(strstr(f.text, "chmod 700"));
	}
	fchmod(st.dir, 0755);
	store_close(&st);
	home_open(t, &st);
	store_close(&st);
}

static void is_refused_when_it_is_not_ours(void **state)
{
	struct temp_dir *t = *state;
	struct store st;
	struct fault f;

	if (geteuid() == 0) {
		home_open(t, &st);
		assert_int_equal(fchown(st.dir, 12345, 12345), 0);
		store_close(&st);
	} else {
		setenv("SBX_HOME", "/usr", 1);
	}
	assert_int_equal(store_open(&st, &f), -FAULT_DENIED);
	assert_non_null(strstr(f.text, "SBX_HOME"));
}

static void put_id_base(const struct store *st, const char *text)
{
	int fd = openat(st->dir, "id_base", O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);

	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void is_refused_when_made_by_the_other_mode(void **state)
{
	struct temp_dir *t = *state;
	struct store st, again;
	struct fault f;

	home_open(t, &st);
	put_id_base(&st, st.id_base ? "0\n" : "1879048192\n");
	assert_int_equal(store_open(&again, &f), -FAULT_DENIED);
	assert_non_null(strstr(f.text, "SBX_HOME"));
	store_close(&st);
}

static void damaged_id_base_is_named(void **state)
{
	static const char *const bad[] = { "", "\n", "0", "1\n", "18790481920\n", "0\n0\n" };
	struct temp_dir *t = *state;
	struct store st, again;
	struct fault f;

	home_open(t, &st);
	for (size_t i = 0; i < 6; i++) {
		put_id_base(&st, bad[i]);
		assert_int_equal(store_open(&again, &f), -FAULT_FORMAT);
		assert_non_null(strstr(f.text, "id_base"));
	}
	store_close(&st);
}

static void what_is_no_directory_is_refused(void **state)
{
	struct temp_dir *t = *state;
	struct store st;
	struct fault f;

	home_set(t);
	close(openat(t->fd, "home", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(store_open(&st, &f), -FAULT_SYSTEM);
	setenv("SBX_HOME", "/proc/self/nothing/home", 1);
	assert_int_equal(store_open(&st, &f), -FAULT_SYSTEM);
}

static int find_by_environment(struct temp_dir *t)
{
	char path[PATH_MAX + 64];
	struct store st;
	struct fault f;

	unsetenv("SBX_HOME");
	setenv("HOME", t->path, 1);
	setenv("XDG_STATE_HOME", "relative", 1);
	CHECK(store_open(&st, &f) == 0);
	snprintf(path, sizeof path, "%s/.local/state/sbx", t->path);
	CHECK(strcmp(st.path, path) == 0);
	CHECK(st.id_base == 0);
	store_close(&st);
	snprintf(path, sizeof path, "%s/state", t->path);
	setenv("XDG_STATE_HOME", path, 1);
	setenv("SBX_HOME", "", 1);
	CHECK(store_open(&st, &f) == 0);
	snprintf(path, sizeof path, "%s/state/sbx", t->path);
	CHECK(strcmp(st.path, path) == 0);
	store_close(&st);
	return 0;
}

static void user_finds_it_by_environment(void **state)
{
	run_as_user(*state, find_by_environment);
}

static void boot_id_has_36_characters(void **state)
{
	char a[40], b[40];

	(void)state;
	assert_int_equal(strlen(store_boot_id(a)), 36);
	assert_string_equal(a, store_boot_id(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_temp_dir(is_made_at_the_first_use),
		test_in_temp_dir(is_refused_when_others_can_write),
		test_in_temp_dir(is_refused_when_it_is_not_ours),
		test_in_temp_dir(is_refused_when_made_by_the_other_mode),
		test_in_temp_dir(damaged_id_base_is_named),
		test_in_temp_dir(what_is_no_directory_is_refused),
		test_in_temp_dir(user_finds_it_by_environment),
		cmocka_unit_test(boot_id_has_36_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
