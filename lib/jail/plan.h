/*
 * A jail as data: the list of what its init does, in order.
 *
 *	struct plan p = { 0 };
 *	plan_make(&spec, &p, &f);       host: nothing is touched
 *	plan_put(&p, &text);            one message to init
 *	plan_get(&frame, &p)            init: pointers into the message
 *	plan_done(&p);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/frame.h"
#include "base/text.h"
#include "sys/seccomp.h"

struct jail_spec;

enum plan_kind {
#define X(name, json) PLAN_##name,
#include "jail/plan.def"
#undef X
	PLAN_KIND_MAX,
};

enum {
	PLAN_RECURSIVE = 1, /* what is mounted below it, too */
	PLAN_OPTIONAL = 2,  /* is left out where the source or the place is not there */
	PLAN_PAYLOAD = 8,   /* a directory of the payload's, which may have changed it since */
	PLAN_LATE = 4,      /* while the first exec-init builds its part, on another CPU */
};

struct plan_op {
	enum plan_kind kind;
	uint32_t flags;      /* PLAN_… */
	uint32_t attr;       /* KERNEL_MOUNT_… */
	uint32_t number;     /* mode, or device number */
	const char *path;    /* below the new root, "" itself */
	const char *source;  /* on the host, or the target of a link */
	const char *options; /* of the file system */
	const void *data;
	size_t n; /* [bytes] of data */
};

struct plan_rule {
	const char *path;
	uint32_t access; /* LANDLOCK_… */
};

enum { PLAN_OPS_MAX = 128, PLAN_RULES_MAX = 64, PLAN_FILES_MAX = 32 };

/* A directory of the host that init attaches: by a descriptor beside the plan (path ""), or, with
 * a single map, by its path and what must be found there. */
struct plan_dir {
	const char *path;
	uint64_t dev, ino;
};

struct plan {
	const char *id;
	uint32_t id_base;     /* 0: a single map */
	bool is_weak;         /* no namespaces: the paths are below the session's fs */
	struct plan_dir skeleton, base; /* base: with PLAN_BASE only */
	struct plan_op ops[PLAN_OPS_MAX]; /* of init, once */
	uint32_t n_ops;
	struct plan_op exec_ops[PLAN_OPS_MAX]; /* of each exec-init, in its own mount namespace */
	uint32_t n_exec_ops;
	struct plan_rule rules[PLAN_RULES_MAX];
	uint32_t n_rules;
	struct seccomp_rule *calls; /* on the host only */
	size_t n_calls;
	struct kernel_filter *filter;
	size_t n_filter; /* instructions */
	struct text strings; /* what was put together for it */
};

/*
 * plan_make - turns a spec into a plan, without touching the system
 * @p:  zeroed; filled on 0, pointing into s
 *
 * Returns: 0, or negative.
 * Faults:  USAGE  a name, an id or a count in the spec is out of range.
 */
int plan_make(const struct jail_spec *s, struct plan *p, struct fault *f);
void plan_done(struct plan *p);

void plan_put(const struct plan *p, struct text *t);

/* False when it is damaged. The filter is a copy: a message has no alignment. */
bool plan_get(struct frame *r, struct plan *p);

/* {"schema":"sbx.plan/1","namespaces","operations","landlock","seccomp"} */
void plan_print(const struct plan *p, struct text *t);
