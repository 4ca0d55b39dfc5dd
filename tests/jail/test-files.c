/* Files in and out of a jail, by the builtins that run inside. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/stream.h"
#include "rig.h"

static struct rig rig;
static struct rig_end end;
static struct text said; /* the stream as text, one line an item */

static void shell(const char *script)
{
	rig_shell(&rig, &end, script);
	if (end.event.status || end.out.n)
		fail_msg("%s: %d: %s", script, end.event.status, end.out.data);
}

static void expect_shell(const char *script, const char *output)
{
	rig_shell(&rig, &end, script);
	assert_string_equal(end.out.data, output);
}

static int builtin(enum jail_command_kind kind, char *const *argv, const struct text *in)
{
	struct jail_command c = rig_default(argv);

	c.kind = kind;
	rig_command(&rig, &end, &c, in);
	assert_int_equal(end.event.kind, JAIL_EXEC_ENDED);
	assert_true(WIFEXITED(end.event.status));
	return WEXITSTATUS(end.event.status);
}

static void say(const struct stream_item *i)
{
	static const char *const names[] = { "", "dir", "file", "link", "data", "skipped", "end", "fault",
		"freed" };
	const struct stream_entry *e = &i->entry;

	if (e->kind == STREAM_DATA) {
		text_format(&said, "data %llu\n", (unsigned long long)e->n);
		return;
	}
	text_format(&said, "%s", names[e->kind]);
	if (e->kind <= STREAM_LINK)
		text_format(&said, " %s %o", e->path, e->mode);
	if (e->kind == STREAM_FILE)
		text_format(&said, " %llu", (unsigned long long)e->n);
	if (e->kind == STREAM_LINK)
		text_format(&said, " -> %s", e->target);
	if (e->kind == STREAM_SKIPPED)
		text_format(&said, " %s: %s", e->path, i->text);
	if (e->kind == STREAM_FREED)
		text_format(&said, " %llu", (unsigned long long)i->count);
	if (e->kind == STREAM_FAULT)
		text_format(&said, " %s: %s", fault_kind_name(i->fault.kind), i->fault.text);
	text_put(&said, "\n");
}

/* As the host reads it: hostile, in pieces. Leaves the lines in `said`. */
static void read_stream(const struct text *t)
{
	struct stream_reader r = { 0 };
	struct stream_item item;
	struct fault f;

	text_clear(&said);
	text_put(&said, "");
	for (size_t at = 0; at < t->n;) {
		size_t n = t->n - at < 1000 ? t->n - at : 1000;
		int k;
		stream_feed(&r, t->data + at, n);
		at += n;
		while ((k = stream_next(&r, &item, &f)) > 0)
			say(&item);
		if (k < 0)
			fail_msg("%s", f.text);
	}
	stream_reader_done(&r);
}

static int get(const char *path, const char *follow)
{
	int status = builtin(JAIL_FILES_GET, (char *[]){ (char *)path, (char *)follow, NULL }, NULL);

	read_stream(&end.out);
	return status;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order within a directory is nobody's promise. */
static void expect_said(const char *const *lines, size_t n)
{
	char *got[64], *save = NULL;
	size_t n_got = 0;

	for (char *s = strtok_r(said.data, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		assert_true(n_got < array_size(got));
		got[n_got++] = s;
	}
	qsort(got, n_got, sizeof *got, compare_lines);
	for (size_t i = 0; i < n_got && i < n; i++)
		assert_string_equal(got[i], lines[i]);
	assert_int_equal(n_got, n);
}

static void test_get_a_file(void **state)
{
	(void)state;
	shell("printf hello > /workspace/a; chmod 640 /workspace/a");
	assert_int_equal(get("/workspace/a", NULL), 0);
	assert_string_equal(said.data, "file . 640 5\ndata 5\nend\n");
	assert_int_equal(get("a", NULL), 0); /* relative to the working directory */
	shell(": > empty");
	assert_int_equal(get("empty", NULL), 0);
	assert_string_equal(said.data, "file . 644 0\nend\n");
}

static void test_get_a_tree(void **state)
{
	static const char *const lines[] = { "data 1", "data 1", "dir . 755", "dir sub 700", "end",
		"file b 644 1", "file hard 644 1", "link dangling 777 -> /nowhere", "link up 777 -> ..",
		"skipped fifo: a FIFO", "skipped sock: a socket" };

	(void)state;
	shell("mkdir -p t/sub; printf b > t/b; ln t/b t/hard; ln -s .. t/up; ln -s /nowhere t/dangling;"
		"mkfifo t/fifo; chmod 700 t/sub; python3 -c 'import socket; socket.socket(socket.AF_UNIX)"
		".bind(\"t/sock\")'");
	assert_int_equal(get("t", NULL), 2);
	expect_said(lines, array_size(lines));
}

static void test_get_does_not_go_through_links(void **state)
{
	(void)state;
	shell("rm -rf l; ln -s /etc/passwd l; ln -s /etc ld");
	assert_int_equal(get("l", NULL), 0);
	assert_string_equal(said.data, "link . 777 -> /etc/passwd\nend\n");
	assert_int_equal(get("l", "follow"), 0);
	assert_memory_equal(said.data, "file . 644 ", 11);
	assert_int_equal(get("ld", NULL), 0);
	assert_string_equal(said.data, "link . 777 -> /etc\nend\n");
}

static void test_get_failures(void **state)
{
	(void)state;
	assert_int_equal(get("/no/such", NULL), 1);
	assert_string_equal(said.data, "fault not-found: open '/no/such': No such file or directory\n");
	shell("mkfifo pipe");
	assert_int_equal(get("pipe", NULL), 1);
	assert_string_equal(said.data, "fault denied: 'pipe' is a FIFO\n");
	assert_int_equal(get("/proc/1/root/etc/passwd", NULL), 1);
	shell("printf x > closed; chmod 000 closed");
	assert_int_equal(get("closed", NULL), 1);
	assert_non_null(strstr(said.data, "fault denied"));
}

static void test_get_goes_on_after_what_it_cannot_read(void **state)
{
	static const char *const lines[] = { "dir . 755", "end", "file z 644 0",
		"skipped no: Permission denied", "skipped nodir: Permission denied" };

	(void)state;
	shell("mkdir -p c/nodir; printf x > c/no; chmod 000 c/no c/nodir; : > c/z");
	assert_int_equal(get("c", NULL), 2);
	expect_said(lines, array_size(lines));
}

static void test_get_is_bounded_in_depth(void **state)
{
	(void)state;
	shell("python3 -c 'import os\n"
		"os.mkdir(\"deep\"); os.chdir(\"deep\")\n"
		"for i in range(3000): os.mkdir(\"d\"); os.chdir(\"d\")'");
	assert_int_equal(get("deep", NULL), 2);
	assert_non_null(strstr(said.data, "it lies too deep\nend\n"));
}

static void test_odd_names(void **state)
{
	(void)state;
	shell("mkdir odd; cd odd; touch -- '-rf' \"$(printf 'new\\nline')\" \"$(printf '\\377\\376')\" ' '"
		" \"$(head -c 255 /dev/zero | tr '\\0' n)\"");
	assert_int_equal(get("odd", NULL), 0);
	struct text copy = { 0 };
	text_put_bytes(&copy, end.out.data, end.out.n);
	assert_int_equal(builtin(JAIL_FILES_PUT, (char *[]){ (char *)"/tmp", (char *)"odd", NULL }, &copy), 0);
	text_done(&copy);
	expect_shell("cd /workspace/odd && ls -b > /tmp/one; cd /tmp/odd && ls -b | cmp - /tmp/one && echo same",
		"same\n");
}

/* --- put ------------------------------------------------------------------------------ */

static void put_file(struct text *t, const char *path, const char *content)
{
	stream_put_entry(t, &(struct stream_entry){ .kind = STREAM_FILE, .mode = 0640, .n = strlen(content),
		.mtime_ns = 1000000000123456789, .path = path });
	stream_put_data(t, content, strlen(content));
}

static int put(const char *path, const char *name, const struct text *t)
{
	int status = builtin(JAIL_FILES_PUT, (char *[]){ (char *)path, (char *)name, NULL }, t);

	read_stream(&end.out);
	return status;
}

static int put_one(const char *path, const char *name, const char *content)
{
	auto_text struct text t = { 0 };

	put_file(&t, ".", content);
	stream_put_end(&t);
	return put(path, name, &t);
}

static void test_put_a_file(void **state)
{
	(void)state;
	shell("mkdir p");
	assert_int_equal(put_one("/workspace/p", "in", "new"), 0);
	assert_string_equal(said.data, "");
	expect_shell("cat p/in; stat -c '%a %.9Y %u' p/in", "new640 1000000000.123456789 1000\n");
	assert_int_equal(put_one("/workspace/p/as", "ignored", "other"), 0);
	expect_shell("cat p/as; ls -A p", "otheras\nin\n");
	assert_int_equal(put_one("p/as", "x", "again"), 0); /* over a file */
	expect_shell("cat p/as", "again");
	assert_int_equal(put_one("p/none", "x", ""), 0);
	expect_shell("stat -c %s p/none", "0\n");
}

static void test_put_refusals(void **state)
{
	(void)state;
	shell("mkdir r; ln -s /etc/passwd r/link; ln -s /tmp r/dirlink; mkfifo r/fifo; mkdir r/d; printf x > r/f");
	assert_int_equal(put_one("r/link", "x", "evil"), 1);
	assert_non_null(strstr(said.data, "fault denied: '/workspace/r/link' is a link"));
	assert_int_equal(put_one("r", "link", "evil"), 1);
	assert_int_equal(put_one("r/fifo", "x", "evil"), 1);
	assert_non_null(strstr(said.data, "fault denied: '/workspace/r/fifo' is a FIFO"));
	assert_int_equal(put_one("r/dirlink", "x", "evil"), 1);
	assert_int_equal(put_one("/dev/null", "x", "evil"), 1);
	assert_int_equal(put_one("r/no/such", "x", "evil"), 1);
	assert_non_null(strstr(said.data, "fault not-found"));
	assert_int_equal(put_one("r/new/", "x", "evil"), 1);
	assert_int_equal(put_one("r", "d", "evil"), 1); /* a directory of that name */
	assert_non_null(strstr(said.data, "fault usage"));
	assert_int_equal(put_one("/etc", "x", "evil"), 1); /* not one of the writable places */
	assert_string_equal(said.data, "fault denied: create '/etc/x': Permission denied\n");
	assert_int_equal(put_one("../none", "x", "evil"), 1);
	assert_string_equal(said.data, "fault denied: create '/workspace/../none': Permission denied\n");
	assert_int_equal(put_one("/proc/self/cwd", "x", "evil"), 1);
	expect_shell("ls -A r; grep -c evil /etc/passwd", "d\ndirlink\nf\nfifo\nlink\n0\n");
	assert_int_equal(put_one("r/dirlink/", "through", "asked for"), 0);
	expect_shell("cat /tmp/through", "asked for");
}

static void put_tree(struct text *t)
{
	stream_put_entry(t, &(struct stream_entry){ .kind = STREAM_DIR, .mode = 0555, .mtime_ns = 5000000000,
		.path = "." });
	stream_put_entry(t, &(struct stream_entry){ .kind = STREAM_DIR, .mode = 0500, .mtime_ns = -1,
		.path = "sub" });
	put_file(t, "sub/f", "deep");
	stream_put_entry(t, &(struct stream_entry){ .kind = STREAM_LINK, .mode = 0777, .path = "l",
		.target = "/etc/passwd" });
	put_file(t, "g", "top");
	stream_put_end(t);
}

static void test_put_a_tree(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	shell("mkdir tree");
	put_tree(&t);
	assert_int_equal(put("tree", "copy", &t), 0);
	expect_shell("cd tree/copy; cat sub/f g; readlink l; stat -c '%a %Y' . sub",
		"deeptop/etc/passwd\n555 5\n500 -1\n");
	/* To a name that is not there: the top is it. */
	assert_int_equal(put("tree/other", "x", &t), 0);
	expect_shell("cat tree/other/g", "top");
	/* The content alone; the directory itself stays as it is. */
	shell("mkdir -m 750 tree/into");
	assert_int_equal(put("tree/into", "", &t), 0);
	expect_shell("cat tree/into/g; stat -c %a tree/into", "top750\n");
	assert_int_equal(put("tree/into/g", "x", &t), 1); /* a directory onto a file */
	assert_non_null(strstr(said.data, "fault usage"));
}

static void test_put_into_a_planted_tree(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	shell("mkdir -p planted/copy; ln -s /tmp planted/copy/sub");
	put_tree(&t);
	assert_int_equal(put("planted", "copy", &t), 1);
	assert_non_null(strstr(said.data, "fault denied: '/workspace/planted/copy/sub' is a link"));
	expect_shell("ls /tmp/f 2>/dev/null", "");
}

static void test_put_that_breaks_off_leaves_nothing(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	shell("mkdir cut; printf old > cut/f");
	stream_put_entry(&t, &(struct stream_entry){ .kind = STREAM_FILE, .mode = 0644, .n = 100, .path = "." });
	stream_put_data(&t, "half", 4);
	assert_int_equal(put("cut/f", "x", &t), 1);
	assert_non_null(strstr(said.data, "fault format"));
	expect_shell("cat cut/f; ls -A cut", "oldf\n");
	text_clear(&t);
	text_put_bytes(&t, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	assert_int_equal(put("cut/f", "x", &t), 1);
}

/* The id of the process is the same in each of them. */
static void test_put_beside_what_another_left(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	shell("mkdir left; for i in 0 1 2 3 4; do : > left/.sbx-put-2-$i; done");
	assert_int_equal(put_one("left", "f", "new"), 0);
	stream_put_entry(&t, &(struct stream_entry){ .kind = STREAM_LINK, .mode = 0777, .path = ".",
		.target = "f" });
	stream_put_end(&t);
	assert_int_equal(put("left", "l", &t), 0);
	expect_shell("cat left/l; ls -A left | wc -l", "new7\n");
}

static void test_large_files_go_round(void **state)
{
	auto_text struct text t = { 0 };

	(void)state;
	shell("head -c 20000000 /dev/urandom > big");
	assert_int_equal(builtin(JAIL_FILES_GET, (char *[]){ (char *)"big", NULL }, NULL), 0);
	text_put_bytes(&t, end.out.data, end.out.n);
	assert_int_equal(put("/workspace", "big2", &t), 0);
	expect_shell("cmp big big2 && echo same; rm big big2", "same\n");
}

/* --- empty ---------------------------------------------------------------------------- */

static void test_empty(void **state)
{
	(void)state;
	/* What earlier tests left. */
	builtin(JAIL_FILES_EMPTY, (char *[]){ (char *)"/tmp", (char *)"/var/tmp", NULL }, NULL);
	shell("cd /tmp; mkdir -p a/b/c; : > a/f; ln -s /workspace a/l; mkfifo a/p; mkdir a/closed; : > a/closed/x;"
		"chmod 000 a/closed; chmod 500 a/b; : > /workspace/safe");
	assert_int_equal(builtin(JAIL_FILES_EMPTY,
		(char *[]){ (char *)"/tmp", (char *)"/var/tmp", NULL }, NULL), 0);
	read_stream(&end.out);
	assert_non_null(strstr(said.data, "freed 8"));
	expect_shell("ls -A /tmp /var/tmp; ls /workspace/safe; stat -c %a /tmp", "/tmp:\n\n/var/tmp:\n"
		"/workspace/safe\n1777\n");
}

static void test_empty_any_depth(void **state)
{
	(void)state;
	shell("python3 -c 'import os\n"
		"os.chdir(\"/tmp\")\n"
		"for i in range(3000): os.mkdir(\"d\"); open(\"f\", \"w\"); os.chdir(\"d\")'");
	assert_int_equal(builtin(JAIL_FILES_EMPTY, (char *[]){ (char *)"/tmp", NULL }, NULL), 0);
	expect_shell("ls -A /tmp", "");
}

static void test_empty_says_what_stays(void **state)
{
	(void)state;
	assert_int_equal(builtin(JAIL_FILES_EMPTY, (char *[]){ (char *)"/etc", NULL }, NULL), 2);
	read_stream(&end.out);
	assert_non_null(strstr(said.data, "skipped /etc/passwd: Permission denied"));
	expect_shell("head -c 4 /etc/passwd", "root");
	assert_int_equal(builtin(JAIL_FILES_EMPTY, (char *[]){ (char *)"/no", NULL }, NULL), 1);
}

static int open_rig(void **state)
{
	(void)state;
	rig_open(&rig);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	text_done(&end.out);
	text_done(&said);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_a_file),
		cmocka_unit_test(test_get_a_tree),
		cmocka_unit_test(test_get_does_not_go_through_links),
		cmocka_unit_test(test_get_failures),
		cmocka_unit_test(test_get_goes_on_after_what_it_cannot_read),
		cmocka_unit_test(test_get_is_bounded_in_depth),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_put_a_file),
		cmocka_unit_test(test_put_refusals),
		cmocka_unit_test(test_put_a_tree),
		cmocka_unit_test(test_put_into_a_planted_tree),
		cmocka_unit_test(test_put_that_breaks_off_leaves_nothing),
		cmocka_unit_test(test_put_beside_what_another_left),
		cmocka_unit_test(test_large_files_go_round),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_empty_any_depth),
		cmocka_unit_test(test_empty_says_what_stays),
	};

	return cmocka_run_group_tests(tests, open_rig, close_rig);
}
