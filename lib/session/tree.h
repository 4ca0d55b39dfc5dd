/*
 * Walking a directory tree that the enemy made and may be changing.
 *
 *	struct tree_visitor v = { .entry = …, .enter = …, .again = …, .arg = … };
 *	tree_walk(up_fd, &v, &f);
 *
 * Everything is opened from the descriptor above it with O_NOFOLLOW; links, devices and fifos
 * are never opened. Any depth needs a bounded number of descriptors. Where a mode stops
 * the walk, it is done again in a child in a fresh user namespace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

struct tree_stat {
	uint64_t ino, n, blocks;      /* n: [bytes]; blocks: of 512 bytes */
	int64_t mtime_ns, ctime_ns;   /* [ns] wall clock */
	uint32_t mode, uid, gid, nlink;
	bool is_whiteout;             /* character device 0:0 */
};

struct tree_visitor {
	/* One entry of the directory parent (NULL: the top). What it puts into *ret_node
	 * stands for it when its own entries come. Positive ends the walk. */
	int (*entry)(void *arg, void *parent, const char *name, size_t n_name,
		const struct tree_stat *st, void **ret_node);
	/* Before the first entry of a directory; opaque: by its overlay attribute. May be NULL. */
	void (*enter)(void *arg, void *node, bool opaque);
	/* The walk begins again from the top: what was told so far does not count. */
	void (*again)(void *arg);
	void *arg;
};

/* [ms] A walk of 2,000,000 entries takes 3 s on the slowest machine measured. */
enum { TREE_WALK_MS = 20000 };

/*
 * tree_walk - tells a visitor every entry below a directory
 *
 * All entries of one directory come in a row. What appears or goes meanwhile may or may
 * not be told.
 *
 * Returns: 0, or what the visitor returned, or negative.
 * Faults:  SYSTEM  reading failed.
 *          LIMIT   it took longer than TREE_WALK_MS.
 */
int tree_walk(int top_fd, const struct tree_visitor *v, struct fault *f);

/* The same in a child in a user namespace where the caller has all capabilities over his own
 * files. tree_walk uses it by itself. */
int tree_walk_apart(int top_fd, const struct tree_visitor *v, struct fault *f);

/* The same without a second try: positive TREE_DENIED where a mode forbids. */
enum { TREE_DENIED = 0x7001, TREE_MOVED = 0x7002 };
int tree_walk_here(int top_fd, const struct tree_visitor *v, struct fault *f);
