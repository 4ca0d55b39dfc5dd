#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/stream.h"
#include "pack/pack.h"
#include "temp-dir.h"

/* --- a place: in/ is the source, out/ the target, canary lies beside -------------------------- */

static const char *top;
static int at, out;

static void put(const char *path, const char *text, mode_t mode)
{
	auto_fd int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void expect(const char *path, const char *text)
{
	auto_text struct text t = { 0 };
	struct fault f;
	auto_fd int fd = openat(at, path, O_RDONLY | O_NOFOLLOW);

	if (fd < 0)
		print_message("%s: %s\n", path, strerror(errno));
	assert_true(fd >= 0);
	assert_int_equal(fd_read_to_end(fd, MIB, path, &t, &f), 0);
	assert_string_equal(text_string(&t), text);
}

static void expect_mode(const char *path, mode_t mode)
{
	struct stat st;

	assert_int_equal(fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

static int run(const char *command)
{
	auto_free char *line = NULL;

	assert_true(asprintf(&line, "cd %s && %s", top, command) > 0);
	return system(line);
}

static int place_new(void **state)
{
	umask(022);
	if (temp_dir_setup(state) < 0)
		return -1;
	struct temp_dir *t = *state;
	at = t->fd;
	top = t->path;
	if (mkdirat(at, "out", 0755) < 0 || mkdirat(at, "in", 0755) < 0)
		return -1;
	out = openat(at, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put("canary", "alive", 0644);
	return out < 0 ? -1 : 0;
}

static int place_done(void **state)
{
	/* Nothing but in, out and what the tests made themselves. */
	bool is_alive = run("test \"$(cat canary)\" = alive") == 0;
	bool is_clean = run("test -z \"$(find . -name '.sbx-cp*')\"") == 0;

	close(out);
	int r = temp_dir_teardown(state);
	assert_true(is_alive);
	assert_true(is_clean);
	return r;
}

/* Feeds a sink in pieces of n bytes; what pack_sink_end says. */
static int feed(struct pack_sink *k, const char *p, size_t n, size_t piece, struct pack_stats *stats,
	struct fault *f)
{
	int r = 0, end = 0;

	for (size_t i = 0; i < n && !r; i += piece)
		r = pack_feed(k, p + i, n - i < piece ? n - i : piece, f);
	assert_null(pack_sink_end(k, stats, &end, f));
	return end;
}

static int feed_dir(const struct text *t, const char *name, struct pack_stats *stats, struct fault *f)
{
	struct pack_sink *k;

	assert_int_equal(pack_sink_dir(out, name, &k, f), 0);
	return feed(k, t->data, t->n, 1000, stats, f);
}

static void drain(struct pack_source *s, struct text *t)
{
	auto_text struct text part = { 0 };
	struct fault f;
	int r;

	do {
		r = pack_next(s, &part, &f);
		if (r < 0)
			print_message("%s\n", f.text);
		assert_true(r >= 0);
		text_put_bytes(t, part.data, part.n);
	} while (r);
}

/* --- there and back ----------------------------------------------------------------------------- */

static void make_tree(void)
{
	assert_int_equal(mkdirat(at, "in/d", 0755), 0);
	assert_int_equal(mkdirat(at, "in/d/closed", 0755), 0);
	put("in/a", "text", 0640);
	put("in/empty", "", 0644);
	put("in/d/set", "#!", 06755);
	put("in/d/closed/x\n\xff", "bytes", 0644);
	assert_int_equal(symlinkat("/etc/passwd", at, "in/d/link"), 0);
	assert_int_equal(mkfifoat(at, "in/fifo", 0644), 0);
	assert_int_equal(fchmodat(at, "in/d/closed", 0555, 0), 0);
	assert_int_equal(run("head -c 300000 /dev/urandom > in/d/big; touch -d 2001-02-03 in/d/big in/d"), 0);
}

static void expect_content(const char *name)
{
	auto_free char *line = NULL;

	assert_true(asprintf(&line, "rm -f in/fifo; chmod 0755 in/d/set; diff -r --no-dereference in %s",
		name) > 0);
	assert_int_equal(run(line), 0);
}

static void expect_tree(const char *name)
{
	auto_free char *line = NULL;

	expect_content(name);
	assert_true(asprintf(&line, "test $(stat -c %%Y in/d) = $(stat -c %%Y %s/d) && "
		"test $(stat -c %%Y in/d/big) = $(stat -c %%Y %s/d/big)", name, name) > 0);
	assert_int_equal(run(line), 0);
}

static void read_in(const char *path, struct text *t)
{
	auto_free char *full = NULL;
	struct pack_source *s;
	struct fault f;

	assert_true(asprintf(&full, "%s/%s", top, path) > 0);
	assert_int_equal(pack_source_path(full, false, &s, &f), 0);
	drain(s, t);
	pack_source_free(s);
}

static void test_there_and_back(void **state)
{
	auto_text struct text t = { 0 };
	struct pack_stats stats;
	struct fault f;

	(void)state;
	make_tree();
	read_in("in", &t);
	assert_int_equal(feed_dir(&t, "copy", &stats, &f), 0);
	assert_int_equal(stats.entries, 9);
	assert_int_equal(stats.skipped, 1);
	assert_non_null(strstr(stats.first_skipped, "fifo"));
	expect_mode("out/copy/d/set", 0755);
	expect_mode("out/copy/d/closed", 0555);
	expect_mode("out/copy/a", 0640);
	expect_tree("out/copy");
	/* Once more over it: the same. */
	assert_int_equal(fchmodat(at, "out/copy/d/closed", 0755, 0), 0);
	assert_int_equal(feed_dir(&t, "copy", &stats, &f), 0);
	expect_content("out/copy");
}

static void test_content_of_directory(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;

	(void)state;
	put("in/a", "1", 0644);
	put("out/b", "2", 0644);
	assert_int_equal(fchmodat(at, "out", 0700, 0), 0);
	read_in("in/.", &t);
	assert_int_equal(feed_dir(&t, ".", NULL, &f), 0);
	expect("out/a", "1");
	expect("out/b", "2");
	/* It was there: it is not ours to change. */
	expect_mode("out", 0700);
}

static void test_single(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;
	struct pack_source *s;

	(void)state;
	put("in/a", "one", 0600);
	put("out/old", "a longer text", 0644);
	read_in("in/a", &t);
	assert_int_equal(feed_dir(&t, "old", NULL, &f), 0);
	expect("out/old", "one");
	assert_int_equal(feed_dir(&t, ".", NULL, &f), -FAULT_DENIED);
	assert_int_equal(pack_source_path("/nowhere/at/all", false, &s, &f), -FAULT_NOT_FOUND);
	text_clear(&t);
	assert_int_equal(symlinkat("a", at, "in/l"), 0);
	read_in("in/l", &t);
	assert_int_equal(feed_dir(&t, "l", NULL, &f), 0);
	assert_int_equal(run("test $(readlink out/l) = a"), 0);
	/* "name/" is a directory, or fails. */
	text_clear(&t);
	read_in("in/a", &t);
	assert_int_equal(feed_dir(&t, "new/", NULL, &f), -FAULT_NOT_FOUND);
	text_clear(&t);
	read_in("in", &t);
	assert_int_equal(feed_dir(&t, "new/", NULL, &f), 0);
	expect("out/new/a", "one");
	/* Written through neither link nor name: the link is replaced. */
	assert_int_equal(symlinkat("../canary", at, "out/trap"), 0);
	text_clear(&t);
	read_in("in/a", &t);
	assert_int_equal(feed_dir(&t, "trap", NULL, &f), 0);
	expect("out/trap", "one");
}

static void test_follow(void **state)
{
	auto_text struct text t = { 0 };
	auto_free char *link = NULL, *dir = NULL;
	struct pack_source *s;
	struct fault f;

	(void)state;
	assert_int_equal(mkdirat(at, "in/d", 0755), 0);
	put("in/d/a", "deep", 0644);
	assert_int_equal(symlinkat("d/a", at, "in/file"), 0);
	assert_int_equal(symlinkat("d", at, "in/dir"), 0);
	assert_true(asprintf(&link, "%s/in/file", top) > 0 && asprintf(&dir, "%s/in/dir", top) > 0);
	assert_int_equal(pack_source_path(link, true, &s, &f), 0);
	drain(s, &t);
	pack_source_free(s);
	assert_int_equal(feed_dir(&t, "f", NULL, &f), 0);
	expect("out/f", "deep");
	text_clear(&t);
	assert_int_equal(pack_source_path(dir, true, &s, &f), 0);
	drain(s, &t);
	pack_source_free(s);
	assert_int_equal(feed_dir(&t, "g", NULL, &f), 0);
	expect("out/g/a", "deep");
}

static void test_sparse(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;
	struct stat st;

	(void)state;
	assert_int_equal(run("truncate -s 20M in/s && "
			     "printf x | dd of=in/s bs=1 seek=10000000 conv=notrunc status=none"), 0);
	read_in("in/s", &t);
	assert_int_equal(feed_dir(&t, "s", NULL, &f), 0);
	assert_int_equal(run("cmp in/s out/s"), 0);
	assert_int_equal(fstatat(at, "out/s", &st, 0), 0);
	assert_true(st.st_blocks * 512 < 2 * (int64_t)MIB);
}

/* --- hostile streams ------------------------------------------------------------------------------ */

static void top_dir(struct text *t)
{
	text_clear(t);
	stream_put_entry(t, &(struct stream_entry){ STREAM_DIR, 0755, 0, 0, ".", "" });
}

static void file(struct text *t, const char *path, const char *content)
{
	stream_put_entry(t, &(struct stream_entry){ STREAM_FILE, 0644, strlen(content), 0, path, "" });
	stream_put_data(t, content, strlen(content));
}

static void test_paths_that_lead_elsewhere(void **state)
{
	static const char *const bad[] = { "..", "../canary", "a/../../canary", "/tmp/x", "a//b", "./a", "a/.",
		"a/", "", "/", "." };
	auto_text struct text t = { 0 };
	struct fault f;

	(void)state;
	for (size_t i = 0; i < array_size(bad); i++) {
		top_dir(&t);
		file(&t, bad[i], "dead");
		stream_put_end(&t);
		assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	}
	char name[300];
	memset(name, 'n', sizeof name);
	name[299] = 0;
	top_dir(&t);
	file(&t, name, "x");
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	/* No top at all; a top that is named otherwise. */
	text_clear(&t);
	file(&t, "a", "x");
	stream_put_end(&t);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	text_clear(&t);
	stream_put_end(&t);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
}

static void test_through_a_link(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;

	(void)state;
	top_dir(&t);
	stream_put_entry(&t, &(struct stream_entry){ STREAM_LINK, 0, 0, 0, "l", "../.." });
	file(&t, "l/canary", "dead");
	stream_put_end(&t);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_DENIED);
	/* The link in the way of a directory; and the top itself a link. */
	top_dir(&t);
	stream_put_entry(&t, &(struct stream_entry){ STREAM_LINK, 0, 0, 0, "l", "../.." });
	stream_put_entry(&t, &(struct stream_entry){ STREAM_DIR, 0755, 0, 0, "l", "" });
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_DENIED);
	text_clear(&t);
	stream_put_entry(&t, &(struct stream_entry){ STREAM_LINK, 0, 0, 0, ".", ".." });
	file(&t, "canary", "dead");
	assert_int_equal(feed_dir(&t, "y", NULL, &f), -FAULT_DENIED);
	/* A link from before. */
	assert_int_equal(symlinkat("..", at, "out/z"), 0);
	top_dir(&t);
	file(&t, "canary", "dead");
	stream_put_end(&t);
	assert_int_equal(feed_dir(&t, "z", NULL, &f), -FAULT_DENIED);
}

static void test_failures_name_the_path(void **state)
{
	auto_text struct text t = { 0 };
	struct pack_source *s;
	struct fault f;
	char want[128];

	(void)state;
	file(&t, ".", "new");
	stream_put_end(&t);
	assert_int_equal(run("mkdir -p out/x out/tree/sub/f"), 0);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_DENIED);
	snprintf(want, sizeof want, "write '%s/out/x': ", top);
	assert_memory_equal(f.text, want, strlen(want));
	text_clear(&t);
	top_dir(&t);
	stream_put_entry(&t, &(struct stream_entry){ STREAM_DIR, 0755, 0, 0, "sub", "" });
	file(&t, "sub/f", "new");
	assert_int_equal(feed_dir(&t, "tree", NULL, &f), -FAULT_DENIED);
	snprintf(want, sizeof want, "write '%s/out/tree/sub/f': ", top);
	assert_memory_equal(f.text, want, strlen(want));
	/* A file that even its owner cannot read; root can read all. */
	put("in/closed", "x", 0);
	auto_free char *closed = NULL;
	assert_true(asprintf(&closed, "%s/in/closed", top) > 0);
	assert_int_equal(pack_source_path(closed, false, &s, &f), 0);
	int r = pack_next(s, &t, &f);
	pack_source_free(s);
	if (geteuid()) {
		assert_int_equal(r, -FAULT_DENIED);
		snprintf(want, sizeof want, "read '%s': ", closed);
		assert_memory_equal(f.text, want, strlen(want));
	}
}

static void test_lies(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;
	struct stream_entry e = { STREAM_FILE, 0644, 3, 0, "a", "" };

	(void)state;
	/* Longer and shorter than it said, and data of nothing. */
	top_dir(&t);
	stream_put_entry(&t, &e);
	stream_put_data(&t, "four", 4);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	top_dir(&t);
	stream_put_entry(&t, &e);
	stream_put_data(&t, "12", 2);
	stream_put_end(&t);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	top_dir(&t);
	stream_put_data(&t, "12", 2);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	/* A directory where a file is, a file where a directory is. */
	top_dir(&t);
	file(&t, "a", "1");
	stream_put_entry(&t, &(struct stream_entry){ STREAM_DIR, 0755, 0, 0, "a", "" });
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_DENIED);
	top_dir(&t);
	stream_put_entry(&t, &(struct stream_entry){ STREAM_DIR, 0755, 0, 0, "d", "" });
	file(&t, "d", "1");
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_DENIED);
	/* Something after the end; no end. */
	top_dir(&t);
	stream_put_end(&t);
	file(&t, "b", "1");
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	top_dir(&t);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	/* A record that would never end; a kind that is none. */
	text_clear(&t);
	text_put_bytes(&t, "\1\0\0\0\xff\xff\xff\x7f", 8);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	text_clear(&t);
	text_put_bytes(&t, "\x63\0\0\0\0\0\0\0", 8);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_FORMAT);
	/* It says itself that it failed; with a kind that is none, and control characters. */
	top_dir(&t);
	f = (struct fault){ .kind = FAULT_NOT_FOUND, .text = "no\nsuch" };
	stream_put_fault(&t, &f);
	assert_int_equal(feed_dir(&t, "x", NULL, &f), -FAULT_NOT_FOUND);
	assert_string_equal(f.text, "no?such");
}

static void test_cut_anywhere(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;

	(void)state;
	top_dir(&t);
	file(&t, "a", "some content");
	stream_put_entry(&t, &(struct stream_entry){ STREAM_DIR, 0555, 0, 0, "d", "" });
	file(&t, "d/b", "x");
	stream_put_entry(&t, &(struct stream_entry){ STREAM_LINK, 0, 0, 0, "d/l", "b" });
	stream_put_skipped(&t, "s", "socket");
	stream_put_end(&t);
	for (size_t n = 0; n <= t.n; n++) {
		struct pack_sink *k;
		char name[32];
		snprintf(name, sizeof name, "n%zu", n);
		assert_int_equal(pack_sink_dir(out, name, &k, &f), 0);
		assert_int_equal(feed(k, t.data, n, 1 + n % 7, NULL, &f), n == t.n ? 0 : -FAULT_FORMAT);
	}
}

/* Each byte turned: an error or a tree, never a crash and nothing outside. */
static void test_turned_bytes(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;

	(void)state;
	top_dir(&t);
	file(&t, "abc", "text");
	stream_put_entry(&t, &(struct stream_entry){ STREAM_LINK, 0, 0, 0, "l", "../.." });
	stream_put_end(&t);
	for (size_t i = 0; i < t.n; i++)
		for (int bit = 0; bit < 8; bit++) {
			struct pack_sink *k;
			t.data[i] ^= (char)(1 << bit);
			assert_int_equal(pack_sink_dir(out, "x", &k, &f), 0);
			feed(k, t.data, t.n, t.n, NULL, &f);
			t.data[i] ^= (char)(1 << bit);
		}
}

static void test_names_of_sinks(void **state)
{
	static const char *const bad[] = { "", "..", "../", "a/b", "/", "//", "a//" };
	struct pack_sink *k;
	struct fault f;

	(void)state;
	for (size_t i = 0; i < array_size(bad); i++)
		assert_int_equal(pack_sink_dir(out, bad[i], &k, &f), -FAULT_USAGE);
}

/* --- tar ------------------------------------------------------------------------------------------- */

static void write_tar(const struct text *stream, const char *path)
{
	struct pack_sink *k;
	struct fault f;
	auto_fd int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(pack_sink_tar(fd, "top", &k, &f), 0);
	assert_int_equal(feed(k, stream->data, stream->n, 5000, NULL, &f), 0);
}

static int read_tar(const char *path, struct text *t, struct pack_stats *stats, struct fault *f)
{
	auto_text struct text part = { 0 };
	auto_fd int fd = openat(at, path, O_RDONLY);
	struct pack_source *s;
	int r = pack_source_tar(fd, &s, f);

	if (r < 0)
		return r;
	do {
		r = pack_next(s, &part, f);
		text_put_bytes(t, part.data, part.n);
	} while (r > 0);
	if (stats)
		*stats = *pack_source_stats(s);
	pack_source_free(s);
	return r;
}

static void test_tar(void **state)
{
	auto_text struct text t = { 0 }, back = { 0 };
	struct fault f;

	(void)state;
	make_tree();
	read_in("in", &t);
	write_tar(&t, "in.tar");
	assert_int_equal(run("mkdir un && tar -C un -xf in.tar"), 0);
	assert_int_equal(read_tar("in.tar", &back, NULL, &f), 0);
	assert_int_equal(feed_dir(&back, "copy", NULL, &f), 0);
	expect_tree("un/top");
	expect_tree("out/copy/top");
	/* What tar(1) writes, compressed too; with "./" in front; without directories. */
	assert_int_equal(run("tar -czf a.tgz -C in . && tar --zstd -cf b.tzst -C in . && "
			     "tar -cf c.tar --no-recursion -C in d/big"), 0);
	for (int i = 0; i < 3; i++) {
		static const char *const files[] = { "a.tgz", "b.tzst", "c.tar" };
		char name[8] = { 'o', (char)('0' + i) };
		text_clear(&back);
		assert_int_equal(read_tar(files[i], &back, NULL, &f), 0);
		assert_int_equal(feed_dir(&back, name, NULL, &f), 0);
	}
	expect_tree("out/o0");
	expect_tree("out/o1");
	assert_int_equal(run("cmp in/d/big out/o2/d/big"), 0);
}

/* A sparse file inside announces any size; a copy of it that is stopped must not be made up with
 * zeros, which takes as long as the size is large. */
static void test_cut_tar_is_not_filled_up(void **state)
{
	enum { ANNOUNCED = 64 * 1024 * 1024 };
	auto_text struct text t = { 0 };
	struct pack_sink *k;
	struct stat st;
	struct fault f;
	auto_fd int fd = memfd_create("tar", MFD_CLOEXEC);

	(void)state;
	stream_put_entry(&t, &(struct stream_entry){ STREAM_FILE, 0644, ANNOUNCED, 0, ".", "" });
	stream_put_data(&t, "begin", 5);
	assert_int_equal(pack_sink_tar(fd, "top", &k, &f), 0);
	assert_int_equal(feed(k, t.data, t.n, t.n, NULL, &f), -FAULT_FORMAT);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_size < ANNOUNCED / 64);
}

static void test_hostile_tar(void **state)
{
	auto_text struct text t = { 0 };
	struct fault f;
	struct pack_stats stats;

	(void)state;
	assert_int_equal(run("cp canary in/f; ln in/f in/h; tar -Pcf abs.tar $PWD/canary; "
			     "(cd in; tar -Pcf ../up.tar ../canary); tar -cf hard.tar -C in f h; "
			     "(cd in; zip -q ../x.zip f || printf 'PK\\3\\4' > ../x.zip); "
			     "head -c 700 hard.tar > cut.tar; : > empty; "
			     "head -c 4000 /dev/urandom > noise; mkfifo in/n; "
			     "tar -cf dev.tar -C in n 2>/dev/null"), 0);
	assert_int_equal(read_tar("abs.tar", &t, NULL, &f), -FAULT_FORMAT);
	assert_int_equal(read_tar("up.tar", &t, NULL, &f), -FAULT_FORMAT);
	assert_int_equal(read_tar("x.zip", &t, NULL, &f), -FAULT_FORMAT);
	assert_int_equal(read_tar("noise", &t, NULL, &f), -FAULT_FORMAT);
	assert_int_equal(read_tar("empty", &t, NULL, &f), -FAULT_FORMAT);
	text_clear(&t);
	assert_int_equal(read_tar("hard.tar", &t, &stats, &f), 0);
	assert_int_equal(stats.skipped, 1);
	text_clear(&t);
	assert_int_equal(read_tar("dev.tar", &t, &stats, &f), 0);
	assert_int_equal(stats.skipped, 1);
	text_clear(&t);
	/* The header and a part of the content. */
	assert_int_equal(run("head -c 2000 /dev/zero > in/z; tar -cf z.tar -C in z; head -c 1024 z.tar > cut.tar"), 0);
	assert_int_equal(read_tar("cut.tar", &t, NULL, &f), -FAULT_FORMAT);
}

#define in_place(t) cmocka_unit_test_setup_teardown(t, place_new, place_done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_place(test_there_and_back), in_place(test_content_of_directory), in_place(test_single),
		in_place(test_follow),
		in_place(test_sparse), in_place(test_paths_that_lead_elsewhere),
		in_place(test_through_a_link), in_place(test_failures_name_the_path),
		in_place(test_lies), in_place(test_cut_anywhere),
		in_place(test_turned_bytes), in_place(test_names_of_sinks), in_place(test_tar),
		in_place(test_cut_tar_is_not_filled_up),
		in_place(test_hostile_tar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
