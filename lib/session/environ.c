/* The one builder of the environment inside, for every kind of execution. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/super.h"

/* What everybody gets. Nothing of the caller's own environment comes in. */
static const char *const base_env[] = {
	"PATH=/home/sandbox/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
	"HOME=/home/sandbox",
	"USER=sandbox",
	"LOGNAME=sandbox",
	"SHELL=/bin/bash",
	"LANG=C.UTF-8",
	"TMPDIR=/tmp",
	"SBX_ARTIFACTS=/tmp/artifacts",
	"PYTHONUNBUFFERED=1",          /* what was written before a limit is not lost in a buffer */
	"PYTHONUSERBASE=/home/sandbox/.local",
	"PIP_BREAK_SYSTEM_PACKAGES=1", /* Debian's pip refuses to install for the user otherwise */
	"PIP_DISABLE_PIP_VERSION_CHECK=1",
	"MPLBACKEND=Agg",
	"npm_config_prefix=/home/sandbox/.local",
	"npm_config_update_notifier=false",
};

/* [bytes] Source: term(7): at most 14 by tradition; those of today are a little longer. */
enum { TERM_MAX = 64 };

static void set(char ***env, size_t *n, const char *variable)
{
	size_t name = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < *n; i++) {
		if (strncmp((*env)[i], variable, name) != 0)
			continue;
		free((*env)[i]);
		(*env)[i] = mem_string(variable);
		return;
	}
	*env = mem_resized(*env, *n + 2, sizeof **env);
	(*env)[(*n)++] = mem_string(variable);
	(*env)[*n] = NULL;
}

/* What names a terminal in every database of them; anything else is none. */
static bool is_term(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+._");

	return n && n < TERM_MAX && !s[n];
}

char **environ_make(const struct session_spec *spec, char *const *exec_env, const char *term)
{
	char **env = NULL, variable[TERM_MAX + 8];
	size_t n = 0;

	for (size_t i = 0; i < sizeof base_env / sizeof *base_env; i++)
		set(&env, &n, base_env[i]);
	if (spec->runtime_dir)
		set(&env, &n, "SHELL=/bin/sh");
	/* The jail puts the real path in its place. */
	if (spec->isolation == ISOLATION_WEAK)
		set(&env, &n, "SBX_WORKSPACE=/workspace");
	if (term) {
		snprintf(variable, sizeof variable, "TERM=%s", is_term(term) ? term : "xterm-256color");
		set(&env, &n, variable);
	}
	for (char *const *e = spec->env; e && *e; e++)
		set(&env, &n, *e);
	for (char *const *e = exec_env; e && *e; e++)
		set(&env, &n, *e);
	return env;
}
