#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "event/segment.h"

void segment_name(uint64_t first, char ret[SEGMENT_NAME])
{
	snprintf(ret, SEGMENT_NAME, "%016" PRIu64 ".jsonl", first);
}

bool segment_head_is_known(const char *line, size_t n)
{
	size_t known = strlen(SEGMENT_HEAD_KNOWN);

	return n > known && memcmp(line, SEGMENT_HEAD_KNOWN, known) == 0 &&
		(line[known] == '}' || line[known] == ',');
}

/* False for whatever is not named exactly as segment_name does it. */
static bool parse_name(const char *name, uint64_t *ret)
{
	char again[SEGMENT_NAME];
	uint64_t v;

	if (sscanf(name, "%20" SCNu64 ".jsonl", &v) != 1 || !v)
		return false;
	segment_name(v, again);
	*ret = v;
	return strcmp(name, again) == 0;
}

struct search {
	uint64_t after, seq;
	uint64_t below, above; /* 0: none yet */
};

static void look_at(struct search *s, uint64_t first)
{
	if (first <= s->after)
		return;
	if (first <= s->seq && first > s->below)
		s->below = first;
	if (!s->above || first < s->above)
		s->above = first;
}

static int search_dir(int dir, struct search *s, struct fault *f)
{
	auto_fd int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	uint64_t first;

	if (!d)
		return fault_set(f, FAULT_SYSTEM, errno, "open events");
	take_fd(&fd);
	while ((void)(errno = 0), (e = readdir(d)))
		if (parse_name(e->d_name, &first))
			look_at(s, first);
	int failed = errno;
	closedir(d);
	return failed ? fault_set(f, FAULT_SYSTEM, failed, "read events") : 0;
}

static int find(int dir, struct search s, uint64_t *ret_first, struct fault *f)
{
	int r = search_dir(dir, &s, f);

	if (r < 0)
		return r;
	if (!s.above)
		return SEGMENT_NONE;
	*ret_first = s.below ? s.below : s.above;
	return 0;
}

int segment_find(int dir, uint64_t seq, uint64_t *ret_first, struct fault *f)
{
	return find(dir, (struct search){ .seq = seq }, ret_first, f);
}

int segment_find_next(int dir, uint64_t after, uint64_t *ret_first, struct fault *f)
{
	return find(dir, (struct search){ .after = after }, ret_first, f);
}
