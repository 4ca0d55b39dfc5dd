/* A plan as init takes it out of a message. */
#include <string.h>

#include "fuzz.h"
#include "jail/plan.h"

static void check(const struct plan *p)
{
	fuzz_check(p->n_ops <= PLAN_OPS_MAX && p->n_exec_ops <= PLAN_OPS_MAX);
	fuzz_check(p->n_rules <= PLAN_RULES_MAX && p->n_filter);
	for (uint32_t i = 0; i < p->n_ops; i++)
		fuzz_check(p->ops[i].kind < PLAN_KIND_MAX && p->ops[i].path && p->ops[i].source &&
			p->ops[i].options);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct plan plan, again;
	auto_text struct text once = { 0 }, twice = { 0 };
	struct frame r = { p, n };

	if (plan_get(&r, &plan)) {
		check(&plan);
		plan_put(&plan, &once);
		struct frame r2 = { (const unsigned char *)once.data, once.n };
		fuzz_check(plan_get(&r2, &again));
		plan_put(&again, &twice);
		fuzz_check_same(&once, &twice);
		plan_done(&again);
	}
	plan_done(&plan);
	return 0;
}
