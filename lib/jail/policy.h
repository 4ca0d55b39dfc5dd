/*
 * The system calls that a payload may not make, as data.
 *
 * The list is one of refusals: whatever it does not name is allowed, calls newer than
 * this program do not exist (ENOSYS).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "sys/seccomp.h"

/* fallocate takes room on the disk faster than any polling sees it (9-jail-measured 7). */
struct policy {
	bool deny_fallocate;
	bool is_weak;  /* there are no namespaces */
	bool is_owner; /* and the payload has the caller's own id */
};

/* An array of the rules in force, the caller's; *ret_n of them. */
struct seccomp_rule *policy_rules(const struct policy *p, size_t *ret_n);

/* Writes the rules as a JSON array. */
void policy_print(const struct seccomp_rule *rules, size_t n, struct text *t);
