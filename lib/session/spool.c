#include <errno.h>
#include <unistd.h>

#include "base/auto.h"
#include "session/spool.h"

void spool_init(struct spool *s, int dir, const char *name, uint64_t budget_bytes,
	struct store_spares *spares)
{
	*s = (struct spool){ .dir = dir, .name = name, .spares = spares, .fd = -1,
		.half = budget_bytes / 2 };
}

/* Where byte offset lies in the file, and how many bytes follow it in one piece. */
static uint64_t place(const struct spool *s, uint64_t offset, uint64_t *ret_run)
{
	if (offset < s->half) {
		*ret_run = s->half - offset;
		return offset;
	}
	uint64_t in_ring = (offset - s->half) % s->half;
	*ret_run = s->half - in_ring;
	return s->half + in_ring;
}

static void put(struct spool *s, const char *p, size_t n)
{
	uint64_t offset = s->total;

	while (n) {
		uint64_t run, at = place(s, offset, &run);
		ssize_t r = pwrite(s->fd, p, n < run ? n : (size_t)run, (off_t)at);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0) {
			s->error = r < 0 ? errno : EIO;
			return;
		}
		p += r;
		n -= (size_t)r;
		offset += (uint64_t)r;
	}
}

void spool_add(struct spool *s, const void *p, size_t n)
{
	if (!n)
		return;
	if (!s->digest)
		s->digest = digest_new();
	digest_add(s->digest, p, n);
	if (s->fd < 0 && !s->error && s->half) {
		s->fd = store_spare_open(s->spares, s->dir, s->name);
		if (s->fd < 0)
			s->error = errno;
	}
	if (!s->error && s->half)
		put(s, p, n);
	s->total += n;
}

uint64_t spool_kept(const struct spool *s)
{
	uint64_t budget = s->half * 2;

	if (s->error)
		return 0;
	return s->total < budget ? s->total : budget;
}

size_t spool_read(const struct spool *s, uint64_t offset, size_t n, struct text *t)
{
	size_t done = 0;

	if (s->fd < 0 || s->error)
		return 0;
	while (done < n && offset < s->total) {
		bool gone = offset >= s->half && s->total - offset > s->half;
		if (gone)
			break;
		uint64_t run, at = place(s, offset, &run);
		size_t want = n - done;
		if (want > run)
			want = (size_t)run;
		if (want > s->total - offset)
			want = (size_t)(s->total - offset);
		ssize_t r = pread(s->fd, text_reserve(t, want), want, (off_t)at);
		if (r <= 0)
			break;
		text_grew(t, (size_t)r);
		done += (size_t)r;
		offset += (uint64_t)r;
	}
	return done;
}

void spool_done(struct spool *s, char ret_digest[DIGEST_TEXT])
{
	if (!s->digest)
		s->digest = digest_new();
	s->digest = digest_end(s->digest, ret_digest);
	if (s->fd >= 0)
		drop_fd(&s->fd);
}
