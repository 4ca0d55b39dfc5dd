/*
 * The configuration: caps over all sessions of a home directory.
 *
 *	config_read(&c, &f);            /etc, then the user's file, then the environment
 *	if (c.caps[CONFIG_EXECS].n) …   0: none
 *	return config_refuse(&c, CONFIG_EXECS, &f, …);
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"

enum config_cap { CONFIG_SESSIONS, CONFIG_DISK, CONFIG_EXECS, CONFIG_CAPS };

/* Bounds. Executions: each has a place that is looked for by trying. */
#define CONFIG_SESSIONS_MAX 1000000
#define CONFIG_EXECS_MAX    4096

struct config {
	struct {
		uint64_t n;      /* sessions, [bytes], executions; 0: no cap */
		char where[300]; /* "max_execs in /etc/sbx/config.yaml", "SBX_MAX_EXECS" */
	} caps[CONFIG_CAPS];
};

/*
 * config_read - reads what is configured; a later place wins
 *
 * /etc/sbx/config.yaml, then config.yaml in $XDG_CONFIG_HOME/sbx or $HOME/.config/sbx, then the
 * environment. What is not there counts for nothing.
 *
 * Returns: 0, or negative.
 * Faults:  FORMAT  a file or variable is wrong, with its place.
 *          SYSTEM  a file is there and cannot be read.
 *          LIMIT   a file is too long.
 */
int config_read(struct config *ret, struct fault *f);

/* A LIMIT fault: the words, then the cap's value and where it was set. Always negative. */
int config_refuse(const struct config *c, enum config_cap cap, struct fault *f, const char *format, ...)
	__attribute__((format(printf, 4, 5), cold));
