#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/changes-inner.h"

bool change_path(const struct node *n, struct text *t)
{
	if (n->n_path >= PATH_MAX)
		return false;
	text_clear(t);
	char *to = text_reserve(t, n->n_path) + n->n_path;
	for (const struct node *p = n; p; p = p->parent) {
		to -= p->n_name;
		memcpy(to, p->name, p->n_name);
		*--to = '/';
	}
	text_grew(t, n->n_path);
	return true;
}

static void swap(struct change *a, struct change *b)
{
	struct change x = *a;

	*a = *b;
	*b = x;
}

static bool is_after(const struct change *a, const struct change *b)
{
	return strcmp(a->path, b->path) > 0;
}

static void sift_up(struct change_heap *h, size_t i)
{
	for (; i && is_after(&h->items[i], &h->items[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&h->items[i], &h->items[(i - 1) / 2]);
}

static void sift_down(struct change_heap *h)
{
	for (size_t i = 0;;) {
		size_t most = i;
		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < h->n; k++)
			if (is_after(&h->items[k], &h->items[most]))
				most = k;
		if (most == i)
			return;
		swap(&h->items[i], &h->items[most]);
		i = most;
	}
}

static void drop(struct change *c)
{
	free(c->path);
	free(c->old_path);
}

void change_add(struct change_heap *h, const char *path, const char *old_path,
	enum change_kind kind, const struct tree_stat *st)
{
	h->total++;
	if (!path || (h->n == LIMIT_FILES_LISTED && strcmp(path, h->items[0].path) >= 0))
		return;
	struct change c = { mem_string(path), mem_string(old_path), kind, st->mode, st->n };
	if (h->n < LIMIT_FILES_LISTED) {
		h->items[h->n++] = c;
		sift_up(h, h->n - 1);
	} else {
		drop(&h->items[0]);
		h->items[0] = c;
		sift_down(h);
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

static size_t path_bytes(const struct change *c)
{
	return strlen(c->path) + (c->old_path ? strlen(c->old_path) : 0);
}

/* Items are sorted: those that are too many in bytes are the last ones. */
static void drop_long(struct change_heap *h)
{
	size_t bytes = 0;
	uint32_t n = 0;

	while (n < h->n && (bytes += path_bytes(&h->items[n])) <= LIMIT_FILES_BYTES)
		n++;
	while (h->n > n)
		drop(&h->items[--h->n]);
}

void change_heap_end(struct change_heap *h, struct change_list *ret)
{
	qsort(h->items, h->n, sizeof *h->items, compare);
	drop_long(h);
	ret->items = mem_new_array(struct change, h->n ? h->n : 1);
	if (h->n)
		memcpy(ret->items, h->items, h->n * sizeof *h->items);
	ret->n = h->n;
	ret->total = h->total;
}

void change_list_done(struct change_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		drop(&l->items[i]);
	free(l->items);
	*l = (struct change_list){ 0 };
}
