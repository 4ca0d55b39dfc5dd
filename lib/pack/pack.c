#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pack/inner.h"

int pack_count(struct pack_stats *s, uint64_t bytes, struct fault *f)
{
	if (++s->entries > PACK_ENTRIES_MAX)
		return fault_set(f, FAULT_LIMIT, 0, "more than %d files", PACK_ENTRIES_MAX);
	s->bytes += bytes;
	return 0;
}

void pack_note_skipped(struct pack_stats *s, const char *path, const char *why)
{
	if (s->skipped++)
		return;
	snprintf(s->first_skipped, sizeof s->first_skipped, "%.150s: %.80s", path, why);
	for (char *p = s->first_skipped; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
}

enum fault_kind pack_fault_kind(int sysno)
{
	switch (sysno) {
	case EACCES:
	case EPERM:
	case EROFS:
	case ELOOP:
	case ENOTDIR:
	case EISDIR:
	case EEXIST:
	case ENOTEMPTY:
	case EXDEV:
		return FAULT_DENIED;
	default:
		return FAULT_SYSTEM;
	}
}

int pack_fail(const char *what, int dir, const char *name, struct fault *f)
{
	enum { SHOWN_BYTES = 160 };
	int sysno = errno;
	char link[32], path[PATH_MAX + NAME_MAX + 2];

	/* Nobody has said the path of a descriptor; without /proc the name has to do. */
	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	ssize_t n = readlink(link, path, PATH_MAX);
	size_t at = n < 0 ? 0 : (size_t)n;
	bool is_own = at && !strcmp(name, ".");
	path[at] = 0;
	if (!is_own)
		snprintf(path + at, sizeof path - at, "%s%s", at && path[at - 1] != '/' ? "/" : "", name);
	/* The end of a long one says most. */
	size_t n_path = strlen(path);
	const char *from = n_path > SHOWN_BYTES ? path + n_path - SHOWN_BYTES : path;
	return fault_set(f, pack_fault_kind(sysno), sysno, "%s '%s%s'", what, from == path ? "" : "...", from);
}

int pack_open_below(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static int take_item(struct pack_sink *k, const struct stream_item *it, struct fault *f)
{
	switch (it->entry.kind) {
	case STREAM_DATA:
		return k->data(k, it->data, it->entry.n, f);
	case STREAM_SKIPPED:
		pack_note_skipped(&k->stats, it->entry.path, it->text);
		return 0;
	case STREAM_END:
		return k->end(k, f);
	case STREAM_FAULT:
		*f = it->fault;
		return -(int)f->kind;
	default: {
		int r = pack_count(&k->stats, it->entry.n, f);
		return r ? r : k->entry(k, &it->entry, f);
	}
	}
}

int pack_feed(struct pack_sink *k, const void *p, size_t n, struct fault *f)
{
	struct stream_item it;
	int r;

	stream_feed(&k->reader, p, n);
	while ((r = stream_next(&k->reader, &it, f)) > 0) {
		r = take_item(k, &it, f);
		if (r < 0)
			break;
	}
	k->failed = r < 0;
	return r;
}

struct pack_sink *pack_sink_end(struct pack_sink *k, struct pack_stats *ret_stats, int *ret,
	struct fault *f)
{
	*ret = 0;
	if (!k)
		return NULL;
	if (!k->failed && !stream_is_done(&k->reader))
		*ret = fault_set(f, FAULT_FORMAT, 0, "the stream of files was cut off");
	else if (k->failed)
		*ret = -(int)f->kind;
	if (ret_stats)
		*ret_stats = k->stats;
	stream_reader_done(&k->reader);
	k->free(k);
	return NULL;
}

int pack_next(struct pack_source *s, struct text *t, struct fault *f)
{
	text_clear(t);
	return s->next(s, t, f);
}

const struct pack_stats *pack_source_stats(const struct pack_source *s)
{
	return &s->stats;
}

struct pack_source *pack_source_free(struct pack_source *s)
{
	if (s)
		s->free(s);
	return NULL;
}
