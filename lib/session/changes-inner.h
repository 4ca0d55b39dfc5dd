/* What the files session/changes*.c share. */
#pragma once

#include "base/limits.h"
#include "session/changes.h"
#include "session/tree.h"

/* Whether the lower directory, which never changes, has a directory at a path. */
enum lower_dir { LOWER_UNKNOWN, LOWER_IS_DIR, LOWER_NO_DIR };

/* A path of upper as it was seen last. */
struct node {
	struct node *next;       /* in its bucket */
	struct node *parent;     /* NULL: the top */
	struct tree_stat st;
	uint32_t seen;           /* number of the scan that saw it last */
	bool is_opaque;
	bool was_opaque, is_new; /* as of the scan that runs, for directories */
	enum lower_dir lower;
	struct candidate *candidate;
	uint32_t n_path;         /* [bytes] of the path, "/" in front of each name */
	uint16_t n_name;
	char name[];
};

/* A path that may have changed: what was there, before it is overwritten. */
struct candidate {
	struct node *node;
	struct tree_stat old;
	bool had_old, is_gone;
	enum change_kind kind;   /* by the judge */
	bool is_change;
	struct node *old_node;   /* CHANGE_RENAMED */
	struct tree_stat shown;  /* what there is, or was */
};

/* A set of inode numbers; 0 is never one. */
struct ino_set {
	uint64_t *slots;
	size_t n, room;
};

struct changes {
	uid_t id_base;
	int base_fd;             /* lower directory below that of a scan; -1 */
	uint32_t scan;           /* number of the scan that runs or ran last */
	struct node **buckets;
	size_t n, n_buckets, n_seen;
	struct candidate **candidates;
	size_t n_candidates, room_candidates;
	struct ino_set links;
	size_t n_max;            /* entries; CHANGES_ENTRIES_MAX but in tests */
	uint64_t blocks;         /* of 512 bytes, as of the last whole scan */
	uint64_t blocks_now;     /* in the scan that runs */
};

/* A tree is told to be deleted only up to here: a skeleton has some hundred entries. */
enum { LOWER_WALK_MAX = 100000 };

bool ino_set_add(struct ino_set *s, uint64_t ino); /* true: it was not in */
void ino_set_clear(struct ino_set *s);

struct node *changes_find(const struct changes *c, const struct node *parent, const char *name,
	size_t n_name);

/* --- changes-judge.c: what a candidate is ------------------------------------------------ */

/* Judges all candidates, and lists them. */
void changes_judge(struct changes *c, int up_fd, int lower_fd, struct change_list *ret);

/* --- changes-list.c: the first LIMIT_FILES_LISTED by path --------------------------------- */

struct change_heap {
	struct change items[LIMIT_FILES_LISTED]; /* the greatest path is on top */
	uint32_t n;
	uint64_t total;
};

/* The path of a node, from "/" on, in a text; false when it is longer than PATH_MAX and
 * nobody could open it. */
bool change_path(const struct node *n, struct text *t);

/* path is copied where it is kept. */
void change_add(struct change_heap *h, const char *path, const char *old_path,
	enum change_kind kind, const struct tree_stat *st);
void change_heap_end(struct change_heap *h, struct change_list *ret);
