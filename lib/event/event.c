#include <string.h>

#include "event/event.h"

static const char *const names[EVENT_MAX + 1] = {
#define X(name, json, text) [EVENT_##name] = json,
#include "event/event.def"
#undef X
	[EVENT_MAX] = "unknown",
};

const char *event_type_name(enum event_type type)
{
	return names[type < EVENT_MAX ? type : EVENT_MAX];
}

/* What is left of a line. */
struct rest {
	const char *p;
	size_t n;
};

static bool take_word(struct rest *r, const char *word)
{
	size_t n = strlen(word);

	if (r->n < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	r->n -= n;
	return true;
}

static bool take_number(struct rest *r, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	while (i < r->n && r->p[i] >= '0' && r->p[i] <= '9') {
		if (__builtin_mul_overflow(v, 10u, &v) ||
			__builtin_add_overflow(v, (uint64_t)(r->p[i] - '0'), &v))
			return false;
		i++;
	}
	r->p += i;
	r->n -= i;
	*ret = v;
	return i > 0;
}

/* Up to the closing quote. Names and times that we write hold no escapes. */
static bool take_plain(struct rest *r, const char **ret_p, size_t *ret_n)
{
	const char *end = memchr(r->p, '"', r->n < 64 ? r->n : 64);

	if (!end || memchr(r->p, '\\', (size_t)(end - r->p)))
		return false;
	*ret_p = r->p;
	*ret_n = (size_t)(end - r->p);
	r->n -= *ret_n + 1;
	r->p = end + 1;
	return true;
}

static enum event_type find_type(const char *name, size_t n)
{
	enum event_type i = 0;

	while (i < EVENT_MAX && (strlen(names[i]) != n || memcmp(names[i], name, n) != 0))
		i++;
	return i;
}

bool event_peek(const char *line, size_t n, uint64_t *ret_seq, enum event_type *ret_type)
{
	struct rest r = { line, n };
	const char *time, *type;
	size_t n_time, n_type;
	uint64_t seq;

	if (!n || line[n - 1] != '}')
		return false;
	if (!take_word(&r, "{\"seq\":") || !take_number(&r, &seq) || !seq ||
		!take_word(&r, ",\"timestamp\":\"") || !take_plain(&r, &time, &n_time) ||
		!take_word(&r, ",\"type\":\"") || !take_plain(&r, &type, &n_type))
		return false;
	if (!r.n || (r.p[0] != ',' && r.p[0] != '}'))
		return false;
	*ret_seq = seq;
	*ret_type = find_type(type, n_type);
	return true;
}
