#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "session/changes-inner.h"

const char *const change_names[] = {
	[CHANGE_ADDED] = "added", [CHANGE_MODIFIED] = "modified", [CHANGE_DELETED] = "deleted",
	[CHANGE_RENAMED] = "renamed", [CHANGE_METADATA] = "metadata",
};

enum { BUCKETS_MIN = 1024 };

struct changes *changes_new(uid_t id_base)
{
	struct changes *c = mem_new(struct changes);

	c->id_base = id_base;
	c->base_fd = -1;
	c->n_max = CHANGES_ENTRIES_MAX;
	c->n_buckets = BUCKETS_MIN;
	c->buckets = mem_new_array(struct node *, c->n_buckets);
	return c;
}

struct changes *changes_free(struct changes *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < c->n_buckets; i++)
		for (struct node *n = c->buckets[i], *next; n; n = next) {
			next = n->next;
			free(n);
		}
	free(c->buckets);
	free(c->candidates);
	free(c->links.slots);
	free(c);
	return NULL;
}

void changes_set_base(struct changes *c, int fd)
{
	c->base_fd = fd;
}

uint64_t changes_bytes(const struct changes *c)
{
	return c->blocks * 512;
}

uint64_t changes_entries(const struct changes *c)
{
	return c->n;
}

/* --- inode numbers --------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

static bool ino_put(struct ino_set *s, uint64_t ino)
{
	for (size_t i = mix(ino) & (s->room - 1);; i = (i + 1) & (s->room - 1)) {
		if (s->slots[i] == ino)
			return false;
		if (s->slots[i])
			continue;
		s->slots[i] = ino;
		s->n++;
		return true;
	}
}

bool ino_set_add(struct ino_set *s, uint64_t ino)
{
	if (s->n * 2 >= s->room) {
		struct ino_set more = { .room = s->room ? s->room * 2 : 64 };
		more.slots = mem_new_array(uint64_t, more.room);
		for (size_t i = 0; i < s->room; i++)
			if (s->slots[i])
				ino_put(&more, s->slots[i]);
		free(s->slots);
		*s = more;
	}
	return ino_put(s, ino);
}

void ino_set_clear(struct ino_set *s)
{
	if (s->n)
		memset(s->slots, 0, s->room * sizeof *s->slots);
	s->n = 0;
}

/* Blocks of an entry, a hard link only at its first name. */
static uint64_t count_blocks(struct ino_set *links, const struct tree_stat *st)
{
	if (st->nlink > 1 && !S_ISDIR(st->mode) && !ino_set_add(links, st->ino))
		return 0;
	return st->blocks;
}

/* --- the manifest --------------------------------------------------------------------------- */

static size_t hash(const struct node *parent, const char *name, size_t n_name)
{
	uint64_t h = (uint64_t)(uintptr_t)parent, word;

	for (; n_name >= 8; name += 8, n_name -= 8) {
		memcpy(&word, name, 8);
		h = mix(h ^ word);
	}
	word = n_name;
	memcpy(&word, name, n_name);
	return (size_t)mix(mix(h ^ word) + n_name);
}

struct node *changes_find(const struct changes *c, const struct node *parent, const char *name,
	size_t n_name)
{
	struct node *n = c->buckets[hash(parent, name, n_name) & (c->n_buckets - 1)];

	while (n && (n->parent != parent || n->n_name != n_name || memcmp(n->name, name, n_name)))
		n = n->next;
	return n;
}

static void grow(struct changes *c)
{
	size_t n_buckets = c->n_buckets * 4;
	struct node **buckets = mem_new_array(struct node *, n_buckets);

	for (size_t i = 0; i < c->n_buckets; i++)
		for (struct node *n = c->buckets[i], *next; n; n = next) {
			next = n->next;
			size_t h = hash(n->parent, n->name, n->n_name) & (n_buckets - 1);
			n->next = buckets[h];
			buckets[h] = n;
		}
	free(c->buckets);
	c->buckets = buckets;
	c->n_buckets = n_buckets;
}

static struct node *node_new(struct changes *c, struct node *parent, const char *name, size_t n_name)
{
	if (c->n >= c->n_buckets)
		grow(c);
	size_t h = hash(parent, name, n_name) & (c->n_buckets - 1);
	struct node *n = mem_zeroed(1, sizeof *n + n_name + 1);
	n->parent = parent;
	n->n_name = (uint16_t)n_name;
	n->n_path = (parent ? parent->n_path : 0) + (uint32_t)n_name + 1;
	memcpy(n->name, name, n_name);
	n->next = c->buckets[h];
	c->buckets[h] = n;
	c->n++;
	return n;
}

static struct candidate *add_candidate(struct changes *c, struct node *n)
{
	if (c->n_candidates == c->room_candidates) {
		c->room_candidates = c->room_candidates ? c->room_candidates * 2 : 64;
		c->candidates = mem_resized(c->candidates, c->room_candidates, sizeof *c->candidates);
	}
	struct candidate *d = mem_new(struct candidate);
	d->node = n;
	d->old = n->st;
	n->candidate = d;
	c->candidates[c->n_candidates++] = d;
	return d;
}

static void drop_candidates(struct changes *c)
{
	for (size_t i = 0; i < c->n_candidates; i++) {
		if (c->candidates[i]->node)
			c->candidates[i]->node->candidate = NULL;
		free(c->candidates[i]);
	}
	c->n_candidates = 0;
}

/* Removes the nodes that the scan with this number did not see. Hard work, and rare. */
static void drop_unseen(struct changes *c)
{
	if (c->n == c->n_seen)
		return;
	for (size_t i = 0; i < c->n_buckets; i++)
		for (struct node **at = &c->buckets[i]; *at;) {
			struct node *n = *at;
			if (n->seen == c->scan) {
				at = &n->next;
				continue;
			}
			*at = n->next;
			free(n);
			c->n--;
		}
}

/* --- one scan ------------------------------------------------------------------------------- */

static bool is_same(const struct tree_stat *a, const struct tree_stat *b)
{
	return a->ino == b->ino && a->ctime_ns == b->ctime_ns && a->mode == b->mode && a->n == b->n &&
		a->mtime_ns == b->mtime_ns && a->uid == b->uid && a->gid == b->gid;
}

enum { TOO_MANY = 1 };

static int scan_entry(void *arg, void *parent, const char *name, size_t n_name,
	const struct tree_stat *st, void **ret_node)
{
	struct changes *c = arg;
	struct node *n = changes_find(c, parent, name, n_name);

	/* Told twice: it was renamed to and fro while its directory was read. */
	if (n && n->seen == c->scan) {
		*ret_node = n;
		return 0;
	}
	if (!n && c->n_seen >= c->n_max)
		return TOO_MANY;
	if (!n) {
		n = node_new(c, parent, name, n_name);
		add_candidate(c, n);
		n->is_new = true;
	} else if (!is_same(&n->st, st)) {
		add_candidate(c, n)->had_old = true;
	}
	n->was_opaque = n->is_opaque;
	n->st = *st;
	n->seen = c->scan;
	c->n_seen++;
	c->blocks_now += count_blocks(&c->links, st);
	*ret_node = n;
	return 0;
}

static void scan_enter(void *arg, void *node, bool opaque)
{
	struct node *n = node;

	(void)arg;
	n->is_opaque = opaque;
}

static void begin(struct changes *c)
{
	c->scan++;
	c->n_seen = 0;
	c->blocks_now = 0;
	ino_set_clear(&c->links);
}

/* As if the scan that runs had not begun. */
static void roll_back(void *arg)
{
	struct changes *c = arg;
	uint32_t undone = c->scan;

	for (size_t i = 0; i < c->n_candidates; i++) {
		struct candidate *d = c->candidates[i];
		if (d->had_old)
			d->node->st = d->old;
	}
	for (size_t i = 0; i < c->n_buckets; i++)
		for (struct node **at = &c->buckets[i]; *at;) {
			struct node *n = *at;
			if (n->seen == undone)
				n->is_opaque = n->was_opaque;
			if (!n->is_new) {
				at = &n->next;
				continue;
			}
			n->candidate->node = NULL;
			*at = n->next;
			free(n);
			c->n--;
		}
	drop_candidates(c);
	begin(c);
}

static void find_gone(struct changes *c)
{
	if (c->n == c->n_seen)
		return;
	for (size_t i = 0; i < c->n_buckets; i++)
		for (struct node *n = c->buckets[i]; n; n = n->next)
			if (n->seen != c->scan) {
				struct candidate *d = add_candidate(c, n);
				d->had_old = d->is_gone = true;
				n->was_opaque = n->is_opaque;
			}
}

int changes_scan(struct changes *c, int up_fd, int lower_fd, struct change_list *ret, struct fault *f)
{
	struct tree_visitor v = { scan_entry, scan_enter, roll_back, c };
	int r;

	begin(c);
	r = tree_walk(up_fd, &v, f);
	if (r) {
		roll_back(c);
		if (r == TOO_MANY)
			return fault_set(f, FAULT_LIMIT, 0, "more than %zu files in the session",
				c->n_max);
		return r;
	}
	c->blocks = c->blocks_now;
	find_gone(c);
	if (ret)
		changes_judge(c, up_fd, lower_fd, ret);
	for (size_t i = 0; i < c->n_candidates; i++)
		c->candidates[i]->node->is_new = false;
	drop_candidates(c);
	drop_unseen(c);
	return 0;
}

/* --- only the size ---------------------------------------------------------------------------- */

struct measure {
	struct ino_set links;
	uint64_t blocks, entries, enough_bytes, enough_entries;
};

enum { IS_ENOUGH = 1 };

static int measure_entry(void *arg, void *parent, const char *name, size_t n_name,
	const struct tree_stat *st, void **ret_node)
{
	struct measure *m = arg;

	(void)parent, (void)name, (void)n_name, (void)ret_node;
	m->blocks += count_blocks(&m->links, st);
	m->entries++;
	return m->blocks * 512 > m->enough_bytes || m->entries > m->enough_entries ? IS_ENOUGH : 0;
}

static void measure_again(void *arg)
{
	struct measure *m = arg;

	m->blocks = m->entries = 0;
	ino_set_clear(&m->links);
}

int changes_measure(int up_fd, uint64_t enough_bytes, uint64_t enough_entries,
	uint64_t *ret_bytes, uint64_t *ret_entries, struct fault *f)
{
	struct measure m = { .enough_bytes = enough_bytes, .enough_entries = enough_entries };
	struct tree_visitor v = { measure_entry, NULL, measure_again, &m };
	int r = tree_walk(up_fd, &v, f);

	free(m.links.slots);
	if (r < 0)
		return r;
	*ret_bytes = m.blocks * 512;
	*ret_entries = m.entries;
	return 0;
}
