/* A plan as one message and as JSON. */
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "jail/jail.h"
#include "jail/plan.h"
#include "jail/policy.h"
#include "sys/landlock.h"

static void put_ops(const struct plan_op *op, uint32_t n, struct text *t)
{
	frame_put_u32(t, n);
	for (; n; n--, op++) {
		frame_put_u32(t, op->kind);
		frame_put_u32(t, op->flags);
		frame_put_u32(t, op->attr);
		frame_put_u32(t, op->number);
		frame_put_string(t, op->path);
		frame_put_string(t, op->source);
		frame_put_string(t, op->options);
		frame_put_bytes(t, op->data, op->n);
	}
}

static void put_dir(const struct plan_dir *d, struct text *t)
{
	frame_put_string(t, d->path);
	frame_put_u64(t, d->dev);
	frame_put_u64(t, d->ino);
}

static void get_dir(struct frame *r, struct plan_dir *d)
{
	d->path = frame_get_string(r);
	d->dev = frame_get_u64(r);
	d->ino = frame_get_u64(r);
}

void plan_put(const struct plan *p, struct text *t)
{
	frame_put_string(t, p->id);
	frame_put_u32(t, p->id_base);
	frame_put_u32(t, p->is_weak);
	put_dir(&p->skeleton, t);
	put_dir(&p->base, t);
	put_ops(p->ops, p->n_ops, t);
	put_ops(p->exec_ops, p->n_exec_ops, t);
	frame_put_u32(t, p->n_rules);
	for (uint32_t i = 0; i < p->n_rules; i++) {
		frame_put_string(t, p->rules[i].path);
		frame_put_u32(t, p->rules[i].access);
	}
	frame_put_bytes(t, p->filter, p->n_filter * sizeof *p->filter);
}

static uint32_t get_ops(struct frame *r, struct plan_op *op)
{
	uint32_t n = frame_get_u32(r);

	if (n > PLAN_OPS_MAX)
		r->bad = true;
	for (uint32_t i = 0; i < n && !r->bad; i++, op++) {
		op->kind = frame_get_u32(r);
		op->flags = frame_get_u32(r);
		op->attr = frame_get_u32(r);
		op->number = frame_get_u32(r);
		op->path = frame_get_string(r);
		op->source = frame_get_string(r);
		op->options = frame_get_string(r);
		op->data = frame_get_bytes(r, &op->n);
		if (op->kind >= PLAN_KIND_MAX)
			r->bad = true;
	}
	return r->bad ? 0 : n;
}

static void get_rules(struct frame *r, struct plan *p)
{
	uint32_t n = frame_get_u32(r);

	if (n > PLAN_RULES_MAX)
		r->bad = true;
	for (; n && !r->bad; n--) {
		struct plan_rule *rule = &p->rules[p->n_rules++];
		rule->path = frame_get_string(r);
		rule->access = frame_get_u32(r);
	}
}

bool plan_get(struct frame *r, struct plan *p)
{
	size_t n;

	*p = (struct plan){ .id = frame_get_string(r) };
	p->id_base = frame_get_u32(r);
	p->is_weak = frame_get_u32(r);
	get_dir(r, &p->skeleton);
	get_dir(r, &p->base);
	p->n_ops = get_ops(r, p->ops);
	p->n_exec_ops = get_ops(r, p->exec_ops);
	get_rules(r, p);
	const void *filter = frame_get_bytes(r, &n);
	p->n_filter = n / sizeof *p->filter;
	if (!p->n_filter || p->n_filter > SECCOMP_INSN_MAX)
		r->bad = true;
	if (r->bad)
		return false;
	p->filter = mem_new_array(struct kernel_filter, p->n_filter);
	memcpy(p->filter, filter, p->n_filter * sizeof *p->filter);
	return true;
}

static void print_attr(uint32_t attr, struct text *t)
{
	static const char *const names[] = { "ro", "nosuid", "nodev", "noexec" };

	json_key(t, "attributes");
	json_open(t, '[');
	for (size_t i = 0; i < array_size(names); i++)
		if (attr & 1u << i)
			json_string(t, names[i]);
	json_close(t, ']');
}

static void print_ops(const struct plan_op *op, uint32_t n, const char *phase, struct text *t)
{
	static const char *const names[] = {
#define X(name, json) [PLAN_##name] = json,
#include "jail/plan.def"
#undef X
	};

	for (; n; n--, op++) {
		json_open(t, '{');
		json_put_string(t, "operation", names[op->kind]);
		json_put_string(t, "phase", phase);
		if (*op->path)
			json_put_string(t, "path", op->path);
		if (*op->source)
			json_put_string(t, "source", op->source);
		if (*op->options)
			json_put_string(t, "options", op->options);
		if (op->kind == PLAN_FILE)
			json_put_int(t, "bytes", (int64_t)op->n);
		if (op->attr)
			print_attr(op->attr, t);
		if (op->flags & PLAN_OPTIONAL)
			json_put_bool(t, "optional", true);
		json_close(t, '}');
	}
}

static void print_rules(const struct plan *p, struct text *t)
{
	json_open(t, '[');
	for (uint32_t i = 0; i < p->n_rules; i++) {
		json_open(t, '{');
		json_put_string(t, "path", p->rules[i].path);
		json_key(t, "access");
		json_open(t, '[');
		for (int bit = 0; landlock_right_name(bit); bit++)
			if (p->rules[i].access & 1u << bit)
				json_string(t, landlock_right_name(bit));
		json_close(t, ']');
		json_close(t, '}');
	}
	json_close(t, ']');
}

void plan_print(const struct plan *p, struct text *t)
{
	static const char *const spaces[] = { "user", "pid", "mnt", "net", "ipc", "uts", "cgroup" };

	json_open(t, '{');
	json_put_string(t, "schema", "sbx.plan/1");
	json_put_string(t, "isolation", p->is_weak ? "weak" : "strong");
	json_key(t, "namespaces");
	json_open(t, '[');
	for (size_t i = 0; i < array_size(spaces) && !p->is_weak; i++)
		json_string(t, spaces[i]);
	json_close(t, ']');
	json_put_string(t, "map", p->is_weak ? "none" : p->id_base ? "block" : "single");
	json_key(t, "operations");
	json_open(t, '[');
	print_ops(p->ops, p->n_ops, "init", t);
	print_ops(p->exec_ops, p->n_exec_ops, "exec", t);
	json_close(t, ']');
	json_key(t, "landlock");
	print_rules(p, t);
	json_key(t, "seccomp");
	policy_print(p->calls, p->n_calls, t);
	json_close(t, '}');
}
