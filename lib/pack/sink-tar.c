#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "pack/inner.h"
#include "pack/libarchive.h"

struct tar_sink {
	struct pack_sink sink;
	const struct libarchive *la;
	struct archive *a;
	struct archive_entry *e;
	char *prefix;
	int fd;
	bool is_ended;
	bool is_cut; /* nothing more is written */
};

static int fail(struct tar_sink *s, struct fault *f)
{
	const char *why = s->la->error_string(s->a);

	return fault_set(f, FAULT_SYSTEM, 0, "write tar: %s", why ? why : "out of memory");
}

static la_ssize_t write_some(struct archive *a, void *owner, const void *p, size_t n)
{
	const struct tar_sink *s = owner;
	ssize_t r = -1;

	errno = ECANCELED;
	if (!s->is_cut)
		do
			r = write(s->fd, p, n);
		while (r < 0 && errno == EINTR);
	if (r < 0)
		s->la->set_error(a, errno, "Write error");
	return r;
}

static int tar_entry(struct pack_sink *k, const struct stream_entry *e, struct fault *f)
{
	static const mode_t types[] = { [STREAM_DIR] = AE_IFDIR, [STREAM_FILE] = AE_IFREG,
		[STREAM_LINK] = AE_IFLNK };
	struct tar_sink *s = (struct tar_sink *)k;
	bool is_top = !strcmp(e->path, ".");
	auto_free char *path = is_top ? mem_string(s->prefix) : mem_format("%s/%s", s->prefix, e->path);

	s->la->entry_clear(s->e);
	s->la->entry_set_pathname(s->e, path);
	s->la->entry_set_filetype(s->e, types[e->kind]);
	s->la->entry_set_perm(s->e, e->mode);
	s->la->entry_set_size(s->e, (la_int64_t)e->n);
	s->la->entry_set_mtime(s->e, e->mtime_ns / 1000000000, (long)(e->mtime_ns % 1000000000));
	s->la->entry_set_uid(s->e, geteuid());
	s->la->entry_set_gid(s->e, getegid());
	if (e->kind == STREAM_LINK)
		s->la->entry_set_symlink(s->e, e->target);
	return s->la->write_header(s->a, s->e) < ARCHIVE_WARN ? fail(s, f) : 0;
}

static int tar_data(struct pack_sink *k, const void *p, size_t n, struct fault *f)
{
	struct tar_sink *s = (struct tar_sink *)k;
	const char *at = p;

	while (n) {
		la_ssize_t r = s->la->write_data(s->a, at, n);
		if (r <= 0)
			return fail(s, f);
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

static int tar_end(struct pack_sink *k, struct fault *f)
{
	struct tar_sink *s = (struct tar_sink *)k;

	s->is_ended = true;
	return s->la->write_close(s->a) < ARCHIVE_WARN ? fail(s, f) : 0;
}

static void tar_free(struct pack_sink *k)
{
	struct tar_sink *s = (struct tar_sink *)k;

	s->la->entry_free(s->e);
	/* Else it would write the rest of a file that was cut off: as many zeros as it announced. */
	s->is_cut = !s->is_ended;
	s->la->write_free(s->a);
	free(s->prefix);
	free(s);
}

int pack_sink_tar(int fd, const char *prefix, struct pack_sink **ret, struct fault *f)
{
	const struct libarchive *la = libarchive_load(f);

	if (!la)
		return -(int)f->kind;
	struct tar_sink *s = mem_new(struct tar_sink);
	s->sink = (struct pack_sink){ tar_entry, tar_data, tar_end, tar_free };
	s->la = la;
	s->a = la->write_new();
	s->e = la->entry_new();
	s->prefix = mem_string(prefix);
	s->fd = fd;
	if (!s->a || !s->e || la->write_set_format_pax_restricted(s->a) < ARCHIVE_OK ||
		la->write_add_filter_none(s->a) < ARCHIVE_OK ||
		la->write_open(s->a, s, NULL, write_some, NULL) < ARCHIVE_OK) {
		int r = fail(s, f);
		tar_free(&s->sink);
		return r;
	}
	*ret = &s->sink;
	return 0;
}
