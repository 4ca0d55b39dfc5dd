#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

#include "store-home.h"

static int open_skeleton(struct store *st, char name[ID_TEXT])
{
	struct fault f;
	int dir = -1;

	if (store_skeleton(st, name, &f) < 0 || store_skeleton_open(st, name, &dir, &f) < 0)
		fail_msg("%s", f.text);
	return dir;
}

static mode_t mode_of(int dir, const char *path)
{
	struct stat s;

	return fstatat(dir, path, &s, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : s.st_mode;
}

static int count_entries(int dir, const char *name)
{
	DIR *d = fdopendir(openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void has_what_a_root_needs(void **state)
{
	static const struct {
		const char *path;
		mode_t mode;
	} parts[] = {
		{ "", S_IFDIR | 0755 }, { "usr", S_IFDIR | 0755 }, { "tmp", S_IFDIR | 01777 },
		{ "var/tmp", S_IFDIR | 01777 }, { "run/sbx", S_IFDIR | 0755 },
		{ "workspace", S_IFDIR | 0755 }, { "home/sandbox", S_IFDIR | 0755 },
		{ "root", S_IFDIR | 0700 }, { "etc/passwd", S_IFREG | 0644 },
		{ "etc/hosts", S_IFREG | 0644 }, { "etc/mtab", S_IFLNK | 0777 },
		{ "home/sandbox/.bashrc", S_IFREG | 0644 },
	};
	char name[ID_TEXT], again[ID_TEXT];
	struct store st;
	struct fault f;

	home_open(*state, &st);
	mode_t old = umask(077);
	int dir = open_skeleton(&st, name);
	umask(old);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct stat s;
		int r = fstatat(dir, parts[i].path, &s, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
		assert_int_equal(r, 0);
		assert_int_equal(s.st_mode, parts[i].mode);
		bool payload = strstr(parts[i].path, "workspace") || strstr(parts[i].path, "sandbox");
		assert_int_equal(s.st_uid, st.id_base && payload ? 1000 : geteuid());
	}
	assert_int_equal(store_skeleton(&st, again, &f), 0);
	assert_string_equal(name, again);
	assert_int_equal(count_entries(st.dir, "layers"), 1);
	assert_int_equal(store_skeleton_open(&st, "skel-none", &dir, &f), -FAULT_NOT_FOUND);
	assert_int_equal(store_skeleton_open(&st, "../sessions", &dir, &f), -FAULT_NOT_FOUND);
	close(dir);
	store_close(&st);
}

static void says_nothing_about_the_host(void **state)
{
	static const char *const absent[] = { "etc/shadow", "etc/gshadow", "etc/ssh", "etc/ssl/private",
		"etc/machine-id", "etc/fstab", "etc/npmrc", "etc/pip.conf", "etc/gitconfig", "etc/sudoers" };
	char name[ID_TEXT], host[256] = "", text[4096];
	struct store st;

	home_open(*state, &st);
	int dir = open_skeleton(&st, name);
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		assert_int_equal(mode_of(dir, absent[i]), 0);
	gethostname(host, sizeof host - 1);
	static const char *const files[] = { "etc/hosts", "etc/hostname", "etc/resolv.conf" };
	for (size_t i = 0; i < 3; i++) {
		int fd = openat(dir, files[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof text - 1);
		close(fd);
		assert_true(n > 0);
		text[n] = 0;
		if (strcmp(host, "localhost") != 0 && strcmp(host, "sandbox") != 0)
			assert_null(strstr(text, host));
		assert_null(strstr(text, "nameserver"));
	}
	close(dir);
	store_close(&st);
}

static void links_are_those_of_the_host(void **state)
{
	static const char *const links[] = { "bin", "sbin", "lib", "lib64", "lib32", "libx32" };
	char name[ID_TEXT];
	struct store st;

	home_open(*state, &st);
	int dir = open_skeleton(&st, name);
	for (size_t i = 0; i < 6; i++) {
		char path[16], there[256] = "", here[256] = "";
		snprintf(path, sizeof path, "/%s", links[i]);
		if (readlink(path, there, sizeof there - 1) > 0) {
			assert_true(readlinkat(dir, links[i], here, sizeof here - 1) > 0);
			assert_string_equal(here, there);
		} else {
			assert_int_equal(mode_of(dir, links[i]) & S_IFMT,
				access(path, F_OK) == 0 ? S_IFDIR : 0);
		}
	}
	close(dir);
	store_close(&st);
}

/* No link of it leads anywhere but into /usr, or to a file of its own. */
static int check_links(int dir, int depth)
{
	DIR *d = fdopendir(dup(dir));
	struct dirent *e;
	int n = 0;

	rewinddir(d);
	while ((e = readdir(d))) {
		char to[PATH_MAX];
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		ssize_t len = readlinkat(dir, e->d_name, to, sizeof to - 1);
		if (len > 0) {
			to[len] = 0;
			if (strncmp(to, "/usr/", 5) && strncmp(to, "../usr/", 7) && strcmp(to, "/proc/self/mounts"))
				fail_msg("%s -> %s", e->d_name, to);
			n++;
			continue;
		}
		int sub = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0) {
			assert_true(depth < 12);
			n += check_links(sub, depth + 1);
			close(sub);
		}
	}
	closedir(d);
	return n;
}

static void links_of_etc_lead_into_usr(void **state)
{
	char name[ID_TEXT];
	struct store st;

	home_open(*state, &st);
	int dir = open_skeleton(&st, name);
	int etc = openat(dir, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(check_links(etc, 0) > 1);
	close(etc);
	close(dir);
	store_close(&st);
}

static void many_make_it_at_once(void **state)
{
	enum { N = 3 };
	struct store st;
	pid_t pids[N];
	int status;

	home_open(*state, &st);
	for (int i = 0; i < N; i++)
		if (!(pids[i] = fork())) {
			char name[ID_TEXT];
			struct fault f;
			_exit(store_skeleton(&st, name, &f) < 0);
		}
	for (int i = 0; i < N; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_entries(st.dir, "layers"), 1);
	assert_int_equal(count_entries(st.dir, "trash"), 0);
	store_close(&st);
}

static int change_the_host(struct temp_dir *t)
{
	char before[ID_TEXT], after[ID_TEXT], path[PATH_MAX + 16];
	struct store st;
	struct fault f;

	if (access("/etc/services", F_OK) < 0)
		return CHILD_SKIP;
	home_set(t);
	CHECK(store_open(&st, &f) == 0);
	CHECK(store_skeleton(&st, before, &f) == 0);
	snprintf(path, sizeof path, "%s/services", t->path);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount(path, "/etc/services", NULL, MS_BIND, NULL) < 0)
		return CHILD_SKIP;
	CHECK(store_skeleton(&st, after, &f) == 0);
	CHECK(strcmp(before, after) != 0);
	CHECK(count_entries(st.dir, "layers") == 2);
	return 0;
}

static void changed_host_gives_another_one(void **state)
{
	run_apart(*state, change_the_host);
}

static int make_as_user(struct temp_dir *t)
{
	char name[ID_TEXT];
	struct store st;
	struct fault f;
	struct stat s;
	int dir;

	home_set(t);
	CHECK(store_open(&st, &f) == 0);
	CHECK(st.id_base == 0);
	CHECK(store_skeleton(&st, name, &f) == 0);
	CHECK(store_skeleton_open(&st, name, &dir, &f) == 0);
	CHECK(fstatat(dir, "workspace", &s, 0) == 0 && s.st_uid == geteuid());
	CHECK(fstatat(dir, "etc/passwd", &s, 0) == 0 && s.st_uid == geteuid());
	return 0;
}

static void user_owns_all_of_it(void **state)
{
	run_as_user(*state, make_as_user);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_temp_dir(has_what_a_root_needs),
		test_in_temp_dir(says_nothing_about_the_host),
		test_in_temp_dir(links_are_those_of_the_host),
		test_in_temp_dir(links_of_etc_lead_into_usr),
		test_in_temp_dir(many_make_it_at_once),
		test_in_temp_dir(changed_host_gives_another_one),
		test_in_temp_dir(user_owns_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
