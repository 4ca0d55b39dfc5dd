/* Inodes that are made ahead: they become what was asked for, and nothing of before shows. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store-home.h"

struct place {
	struct store st;
	struct store_session s;
	struct store_spares spares;
};

static void open_place(struct temp_dir *t, struct place *p)
{
	struct session_spec spec = { .class = CLASS_TASK };
	struct fault f;

	home_open(t, &p->st);
	assert_int_equal(store_session_make(&p->st, &spec, &p->s, &f), 0);
	p->spares = (struct store_spares){ 0 };
}

static void close_place(struct place *p)
{
	if (p->spares.is_open)
		close(p->spares.dir);
	store_session_close(&p->s);
	store_close(&p->st);
}

static void fill(struct place *p)
{
	for (int i = 0; i < 100 && store_spares_want(&p->spares); i++)
		store_spares_fill(&p->spares, &p->s);
	assert_int_equal(p->spares.n[STORE_SPARE_DIR], STORE_SPARE_DIRS);
	assert_int_equal(p->spares.n[STORE_SPARE_FILE], STORE_SPARE_FILES);
}

static ino_t number(int dir, const char *name, mode_t want, off_t size)
{
	struct stat st;

	assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, want);
	if (S_ISREG(want))
		assert_int_equal(st.st_size, size);
	return st.st_ino;
}

/* One execution's files, with more of them than there are spares. */
static void use(struct place *p, struct store_spares *spares, const char *id)
{
	struct fault f;
	int dir;

	assert_int_equal(store_spare_exec(&p->s, spares, id, &dir, &f), 0);
	int fd = store_spare_open(spares, dir, "stdout");
	assert_int_equal(write(fd, "out", 3), 3);
	assert_int_equal(store_spare_replace(spares, dir, "record.json", "{}\n", 3, &f), 0);
	assert_int_equal(store_spare_replace(spares, dir, "record.json", "{ }\n", 4, &f), 0);
	number(dir, ".", S_IFDIR | 0700, 0);
	number(dir, "stdout", S_IFREG | 0600, 3);
	number(dir, "record.json", S_IFREG | 0600, 4);
	close(fd);
	close(dir);
}

static void they_become_what_is_asked_for(void **state)
{
	struct place p;
	struct fault f;
	int dir;

	open_place(*state, &p);
	use(&p, NULL, "exec_none");
	use(&p, &p.spares, "exec_empty");
	fill(&p);
	ino_t ready = number(p.spares.dir, "d3", S_IFDIR | 0700, 0);
	assert_int_equal(store_spare_exec(&p.s, &p.spares, "exec_first", &dir, &f), 0);
	assert_int_equal(number(dir, ".", S_IFDIR | 0700, 0), ready);
	close(dir);
	for (int i = 0; i < STORE_SPARE_DIRS + 2; i++) {
		char id[16];
		snprintf(id, sizeof id, "exec_%d", i);
		use(&p, &p.spares, id);
	}
	fill(&p);
	use(&p, &p.spares, "exec_last");
	close_place(&p);
}

static void ids_are_checked_and_never_taken_twice(void **state)
{
	struct place p;
	struct fault f;
	int dir;

	open_place(*state, &p);
	fill(&p);
	assert_int_equal(store_spare_exec(&p.s, &p.spares, "../up", &dir, &f), -FAULT_USAGE);
	use(&p, &p.spares, "exec_a");
	assert_int_equal(store_spare_exec(&p.s, &p.spares, "exec_a", &dir, &f), -FAULT_BUSY);
	close_place(&p);
}

/* A kill leaves them, one perhaps half written. */
static void what_a_kill_left_is_used_again_empty(void **state)
{
	struct place p;
	struct fault f;

	open_place(*state, &p);
	fill(&p);
	int fd = openat(p.spares.dir, "f7", O_WRONLY);
	assert_int_equal(write(fd, "half a record", 13), 13);
	close(fd);
	ino_t left = number(p.spares.dir, "f7", S_IFREG | 0600, 13);
	close(p.spares.dir);
	p.spares = (struct store_spares){ 0 };
	fill(&p);
	assert_int_equal(number(p.spares.dir, "f7", S_IFREG | 0600, 0), left);
	use(&p, &p.spares, "exec_a");
	assert_int_equal(store_session_remove(&p.s, &f), 0);
	close_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_temp_dir(they_become_what_is_asked_for),
		test_in_temp_dir(ids_are_checked_and_never_taken_twice),
		test_in_temp_dir(what_a_kill_left_is_used_again_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
