/* How rules are written down. */
#pragma once

#include <stddef.h>

#include "jail/policy.h"

#define REFUSE(e, call) { SYS_##call, SECCOMP_ERRNO(e), { { 0 } }, #call }
#define REFUSE_IF(e, call, ...) { SYS_##call, SECCOMP_ERRNO(e), { __VA_ARGS__ }, #call }
#define ALLOW_IF(call, ...) { SYS_##call, SECCOMP_ALLOW, { __VA_ARGS__ }, #call }

#define IS(arg, value)           { arg, SECCOMP_EQUAL, ~0u, (uint32_t)(value) }
#define MASKED(arg, mask, value) { arg, SECCOMP_EQUAL, (mask), (value) }
#define HAS(arg, mask)           { arg, SECCOMP_ANY_BIT, (mask), 0 }
#define GIVEN(arg)               { arg, SECCOMP_NOT_NULL, 0, 0 }

#define SOCK_KIND 0xfu /* the rest are flags */

/* Writes what only weak isolation has; how many. */
size_t policy_weak_rules(const struct policy *p, struct seccomp_rule *ret, size_t room);
