#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/mem.h"
#include "pack/inner.h"
#include "pack/libarchive.h"

/*
 * Only tar, and none of the other formats: nearly all of libarchive's known holes are in
 * those. Only the filters that tar is used with.
 */
struct tar_source {
	struct pack_source source;
	const struct libarchive *la;
	struct archive *a;
	bool is_begun, is_in_file;
	uint64_t n_left;  /* [bytes] of the file */
	void *dirs;       /* tsearch(3): paths of directories that were told */
};

enum { CHUNK_BYTES = STREAM_DATA_MAX };

static int fail(struct tar_source *s, struct fault *f)
{
	const char *why = s->la->error_string(s->a);

	return fault_set(f, FAULT_FORMAT, 0, "read tar: %.180s", why ? why : "it ends too early");
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* True the first time. */
static bool note_dir(struct tar_source *s, const char *path)
{
	char *copy = mem_string(path);
	char **at = tsearch(copy, &s->dirs, compare);

	if (at && *at == copy)
		return true;
	free(copy);
	return false;
}

static int put_dir(struct tar_source *s, struct text *t, const char *path, uint32_t mode,
	int64_t mtime_ns, struct fault *f)
{
	struct stream_entry e = { STREAM_DIR, mode, 0, mtime_ns, path, "" };

	if (!note_dir(s, path))
		return 0;
	int r = pack_count(&s->source.stats, 0, f);
	if (!r)
		stream_put_entry(t, &e);
	return r;
}

/* A tar may name a/b/c without a and a/b. */
static int put_parents(struct tar_source *s, struct text *t, const char *path, struct fault *f)
{
	int r = 0;

	for (const char *slash = strchr(path, '/'); slash && !r; slash = strchr(slash + 1, '/')) {
		auto_free char *parent = mem_bytes(path, (size_t)(slash - path));
		r = put_dir(s, t, parent, 0755, 0, f);
	}
	return r;
}

/* "./a//b/" is "a/b". NULL: it leads elsewhere. "" is the top. */
static char *plain_path(const char *path)
{
	auto_text struct text t = { 0 };

	if (!path || *path == '/')
		return NULL;
	for (const char *p = path; *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		if (n != 1 || *p != '.') {
			text_put(&t, t.n ? "/" : "");
			text_put_bytes(&t, p, n);
		}
		p += n;
	}
	if (t.n && !stream_path_is_valid(t.data, false))
		return NULL;
	return mem_string(text_string(&t));
}

static int skip(struct tar_source *s, struct text *t, const char *path, const char *why)
{
	pack_note_skipped(&s->source.stats, path, why);
	stream_put_skipped(t, path, why);
	return 1;
}

static int put_entry(struct tar_source *s, struct text *t, struct archive_entry *e, const char *path,
	struct fault *f)
{
	const struct libarchive *la = s->la;
	struct stream_entry o = { .mode = la->entry_perm(e) & 0777, .path = path, .target = "",
		.mtime_ns = la->entry_mtime(e) * 1000000000 + la->entry_mtime_nsec(e) };
	mode_t type = la->entry_filetype(e);
	int r = put_parents(s, t, path, f);

	if (r < 0)
		return r;
	if (la->entry_hardlink(e))
		return skip(s, t, path, "a hard link");
	if (type == AE_IFDIR) {
		r = put_dir(s, t, path, o.mode, o.mtime_ns, f);
		return r < 0 ? r : 1;
	}
	if (type == AE_IFLNK) {
		o.kind = STREAM_LINK;
		o.target = la->entry_symlink(e);
		if (!o.target || !*o.target || strlen(o.target) >= STREAM_TARGET_MAX)
			return skip(s, t, path, "a link with a wrong target");
	} else if (type == AE_IFREG && la->entry_size(e) >= 0) {
		o.kind = STREAM_FILE;
		o.n = (uint64_t)la->entry_size(e);
	} else {
		return skip(s, t, path, "neither file, directory nor link");
	}
	r = pack_count(&s->source.stats, o.n, f);
	if (r < 0)
		return r;
	stream_put_entry(t, &o);
	s->n_left = o.n;
	s->is_in_file = o.n;
	return 1;
}

static int put_next(struct tar_source *s, struct text *t, struct fault *f)
{
	struct archive_entry *e;
	int r = s->la->read_next_header(s->a, &e);

	if (r == ARCHIVE_EOF) {
		stream_put_end(t);
		return 0;
	}
	if (r < ARCHIVE_WARN)
		return fail(s, f);
	const char *name = s->la->entry_pathname(e);
	auto_free char *path = plain_path(name);
	if (!path)
		return fault_set(f, FAULT_FORMAT, 0, "tar: '%.150s' leads elsewhere", name ? name : "");
	/* The top was told already. */
	return *path ? put_entry(s, t, e, path, f) : 1;
}

static int put_content(struct tar_source *s, struct text *t, struct fault *f)
{
	char buf[CHUNK_BYTES];
	size_t want = s->n_left < sizeof buf ? (size_t)s->n_left : sizeof buf;
	la_ssize_t n = s->la->read_data(s->a, buf, want);

	if (n <= 0)
		return fail(s, f);
	stream_put_data(t, buf, (size_t)n);
	s->n_left -= (uint64_t)n;
	s->is_in_file = s->n_left;
	return 1;
}

static int tar_next(struct pack_source *source, struct text *t, struct fault *f)
{
	struct tar_source *s = (struct tar_source *)source;
	int r = 1;

	if (!s->is_begun) {
		struct stream_entry top = { STREAM_DIR, 0755, 0, 0, ".", "" };
		stream_put_entry(t, &top);
		s->is_begun = true;
	}
	while (r > 0 && t->n < CHUNK_BYTES)
		r = s->is_in_file ? put_content(s, t, f) : put_next(s, t, f);
	return r;
}

static void tar_free(struct pack_source *source)
{
	struct tar_source *s = (struct tar_source *)source;

	tdestroy(s->dirs, free);
	s->la->read_free(s->a);
	free(s);
}

int pack_source_tar(int fd, struct pack_source **ret, struct fault *f)
{
	const struct libarchive *la = libarchive_load(f);

	if (!la)
		return -(int)f->kind;
	struct tar_source *s = mem_new(struct tar_source);
	s->source = (struct pack_source){ tar_next, tar_free };
	s->la = la;
	s->a = la->read_new();
	if (!s->a || la->read_support_format_tar(s->a) < ARCHIVE_WARN ||
		la->read_support_filter_gzip(s->a) < ARCHIVE_WARN ||
		la->read_support_filter_zstd(s->a) < ARCHIVE_WARN ||
		la->read_open_fd(s->a, fd, CHUNK_BYTES) < ARCHIVE_WARN) {
		int r = fail(s, f);
		tar_free(&s->source);
		return r;
	}
	*ret = &s->source;
	return 0;
}
