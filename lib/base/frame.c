#include <string.h>

#include "base/frame.h"
#include "base/mem.h"

void frame_put_u32(struct text *t, uint32_t v)
{
	unsigned char b[4] = { (unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
		(unsigned char)(v >> 24) };

	text_put_bytes(t, b, sizeof b);
}

void frame_put_u64(struct text *t, uint64_t v)
{
	frame_put_u32(t, (uint32_t)v);
	frame_put_u32(t, (uint32_t)(v >> 32));
}

void frame_put_bytes(struct text *t, const void *p, size_t n)
{
	frame_put_u32(t, (uint32_t)n);
	text_put_bytes(t, p, n);
}

void frame_put_string(struct text *t, const char *s)
{
	frame_put_bytes(t, s ? s : "", s ? strlen(s) + 1 : 1);
}

void frame_put_strings(struct text *t, char *const *list)
{
	uint32_t n = 0;

	while (list && list[n])
		n++;
	frame_put_u32(t, n);
	for (uint32_t i = 0; i < n; i++)
		frame_put_string(t, list[i]);
}

void frame_put_fault(struct text *t, const struct fault *f)
{
	frame_put_u32(t, f->kind);
	frame_put_u32(t, (uint32_t)f->sysno);
	frame_put_string(t, f->text);
}

static const unsigned char *take(struct frame *r, size_t n)
{
	if (r->bad || r->n < n) {
		r->bad = true;
		return NULL;
	}
	const unsigned char *p = r->p;
	r->p += n;
	r->n -= n;
	return p;
}

uint32_t frame_get_u32(struct frame *r)
{
	const unsigned char *b = take(r, 4);

	if (!b)
		return 0;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t frame_get_u64(struct frame *r)
{
	uint64_t low = frame_get_u32(r);

	return low | (uint64_t)frame_get_u32(r) << 32;
}

const void *frame_get_bytes(struct frame *r, size_t *ret_n)
{
	size_t n = frame_get_u32(r);
	const unsigned char *p = take(r, n);

	*ret_n = p ? n : 0;
	return p ? p : (const unsigned char *)"";
}

const char *frame_get_string(struct frame *r)
{
	size_t n;
	const char *s = frame_get_bytes(r, &n);

	if (!r->bad && n && strnlen(s, n) == n - 1)
		return s;
	r->bad = true;
	return "";
}

char **frame_get_strings(struct frame *r, size_t max)
{
	size_t n = frame_get_u32(r);

	/* Each string takes at least 5 bytes, so a huge count cannot make a huge array. */
	if (n > max || n > r->n / 5) {
		r->bad = true;
		n = 0;
	}
	char **list = mem_new_array(char *, n + 1);
	for (size_t i = 0; i < n; i++)
		list[i] = (char *)frame_get_string(r);
	return list;
}

struct fault frame_get_fault(struct frame *r)
{
	struct fault f = { .kind = (enum fault_kind)frame_get_u32(r) };

	f.sysno = (int)frame_get_u32(r);
	strncat(f.text, frame_get_string(r), sizeof f.text - 1);
	fault_import(&f);
	return f;
}

bool frame_is_done(const struct frame *r)
{
	return !r->bad && !r->n;
}
