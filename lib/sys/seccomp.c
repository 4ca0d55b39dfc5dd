#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sys/seccomp.h"

/* Source: linux/bpf_common.h. */
enum {
	LOAD = 0x20,      /* LD | W | ABS */
	RETURN = 0x06,    /* RET | K */
	JUMP = 0x05,      /* JMP | JA */
	IF_EQUAL = 0x15,  /* JMP | JEQ | K */
	IF_GREATER_EQUAL = 0x35,
	IF_ANY_BIT = 0x45, /* JMP | JSET | K */
	AND = 0x54,        /* ALU | AND | K */
	FAR = 255,         /* the longest conditional jump */
	OFFSET_NR = 0,
	OFFSET_ARCH = 4,
	OFFSET_ARGS = 16,
	SET_MODE_FILTER = 1,
};

/* Calls from .first up to the next segment's: one action, or the rules of one call. */
struct segment {
	uint32_t first;
	uint32_t action;
	const struct seccomp_rule *const *rules; /* NULL: the action */
	size_t n;
};

uint32_t seccomp_arch(void)
{
#if defined(__x86_64__)
	return 0xc000003e;
#elif defined(__aarch64__)
	return 0xc00000b7;
#else
#error "no audit architecture for this machine"
#endif
}

static void put(struct seccomp_program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	/* A full program is refused at the end; until then what does not fit is dropped. */
	if (p->n < SECCOMP_INSN_MAX)
		p->insn[p->n++] = (struct kernel_filter){ code, jt, jf, k };
}

/* Low half of an argument; both architectures are little-endian. */
static void put_load(struct seccomp_program *p, uint32_t arg, bool high)
{
	put(p, LOAD, OFFSET_ARGS + arg * 8 + (high ? 4 : 0), 0, 0);
}

/* Goes on behind itself when the condition holds; else jumps over `skip` more. The length
 * of each form is that of condition_length. */
static void put_condition(struct seccomp_program *p, const struct seccomp_condition *c, uint8_t skip)
{
	put_load(p, c->arg, false);
	switch (c->test) {
	case SECCOMP_EQUAL:
		if (c->mask != ~0u)
			put(p, AND, c->mask, 0, 0);
		put(p, IF_EQUAL, c->value, 0, skip);
		break;
	case SECCOMP_ANY_BIT:
		put(p, IF_ANY_BIT, c->mask, 0, skip);
		break;
	case SECCOMP_NOT_NULL:
		put(p, IF_ANY_BIT, ~0u, 2, 0);
		put_load(p, c->arg, true);
		put(p, IF_ANY_BIT, ~0u, 0, skip);
		break;
	case SECCOMP_NONE:
		break;
	}
}

static uint8_t condition_length(const struct seccomp_condition *c)
{
	if (c->test == SECCOMP_NOT_NULL)
		return 4;
	return c->test == SECCOMP_EQUAL && c->mask != ~0u ? 3 : 2;
}

/* Returns whether the rule has no condition, so that nothing behind it counts. */
static bool put_rule(struct seccomp_program *p, const struct seccomp_rule *r)
{
	uint8_t length = 1; /* the return */
	size_t n = 0;

	while (n < SECCOMP_CONDITIONS && r->when[n].test != SECCOMP_NONE)
		length = (uint8_t)(length + condition_length(&r->when[n++]));
	for (size_t i = 0; i < n; i++) {
		length = (uint8_t)(length - condition_length(&r->when[i]));
		put_condition(p, &r->when[i], length);
	}
	put(p, RETURN, r->action, 0, 0);
	return !n;
}

static void put_leaf(struct seccomp_program *p, const struct segment *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (put_rule(p, s->rules[i]))
			return;
	put(p, RETURN, s->action, 0, 0);
}

static void put_tree(struct seccomp_program *p, const struct segment *s, size_t n)
{
	if (n == 1)
		put_leaf(p, s);
	if (n == 1 || p->n >= SECCOMP_INSN_MAX)
		return;
	size_t middle = n / 2, at = p->n;
	put(p, IF_GREATER_EQUAL, s[middle].first, 0, 0);
	put_tree(p, s, middle);
	size_t left = p->n - at - 1;
	if (left <= FAR) {
		p->insn[at].jt = (uint8_t)left;
	} else if (p->n < SECCOMP_INSN_MAX) {
		/* Too far: over a plain jump, which reaches anywhere. */
		memmove(&p->insn[at + 2], &p->insn[at + 1], left * sizeof *p->insn);
		p->n++;
		p->insn[at].jf = 1;
		p->insn[at + 1] = (struct kernel_filter){ JUMP, 0, 0, (uint32_t)left };
	}
	put_tree(p, s + middle, n - middle);
}

static int by_number(const void *a, const void *b)
{
	const struct seccomp_rule *x = *(const struct seccomp_rule *const *)a,
		*y = *(const struct seccomp_rule *const *)b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return x < y ? -1 : x > y; /* the order of one array */
}

static void add_segment(struct segment *s, size_t *n, struct segment add)
{
	struct segment *last = *n ? &s[*n - 1] : NULL;

	if (last && last->first == add.first) /* nothing lay in between */
		*last = add;
	else if (!last || last->rules || add.rules || last->action != add.action)
		s[(*n)++] = add;
}

/* rules sorted; segments has room for two for each rule, and two. */
static size_t make_segments(const struct seccomp_rule **rules, size_t n, uint32_t nr_max,
	struct segment *s)
{
	size_t n_segments = 0;

	add_segment(s, &n_segments, (struct segment){ 0, SECCOMP_ALLOW, NULL, 0 });
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && rules[i + same]->nr == rules[i]->nr; same++)
			;
		struct segment one = { rules[i]->nr, SECCOMP_ALLOW, &rules[i], same };
		if (rules[i]->when[0].test == SECCOMP_NONE)
			one = (struct segment){ rules[i]->nr, rules[i]->action, NULL, 0 };
		add_segment(s, &n_segments, one);
		add_segment(s, &n_segments,
			(struct segment){ rules[i]->nr + 1, SECCOMP_ALLOW, NULL, 0 });
	}
	add_segment(s, &n_segments, (struct segment){ nr_max + 1, SECCOMP_ERRNO(ENOSYS), NULL, 0 });
	return n_segments;
}

int seccomp_build(const struct seccomp_rule *rules, size_t n, uint32_t nr_max,
	struct seccomp_program *p)
{
	const struct seccomp_rule **sorted = mem_new_array(const struct seccomp_rule *, n);
	struct segment *segments = mem_new_array(struct segment, 2 * n + 2);

	for (size_t i = 0; i < n; i++)
		sorted[i] = &rules[i];
	qsort(sorted, n, sizeof *sorted, by_number);
	p->n = 0;
	put(p, LOAD, OFFSET_ARCH, 0, 0);
	put(p, IF_EQUAL, seccomp_arch(), 1, 0);
	put(p, RETURN, SECCOMP_KILL, 0, 0);
	put(p, LOAD, OFFSET_NR, 0, 0);
	put_tree(p, segments, make_segments(sorted, n, nr_max, segments));
	free(segments);
	free(sorted);
	return p->n < SECCOMP_INSN_MAX ? 0 : -E2BIG;
}

int seccomp_apply(const struct kernel_filter *insn, size_t n)
{
	struct kernel_program program = { (uint16_t)n, insn };

	return syscall(SYS_seccomp, SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}
