/*
 * The options that say what a session is to be, shared by create and run.
 *
 *	struct create_args { struct ask_args ask; … };
 *	static const struct opt opts[] = { ASK_OPTS(S) ASK_LIFE_OPTS(S) … };
 *	static const struct create_args defaults = { .ask = ASK_DEFAULTS };
 *
 *	r = ask_resolve(env, &a->ask, a->file, &spec, f);
 */
#pragma once

#include "session/spec.h"

#include "cmds.h"

struct ask_args {
	const char *runtime, *name, *disk, *env_file;
	int class, size, isolation, on_threshold;
	uint64_t cpu, memory_bytes, pids, nofile;
	uint64_t lifetime_ms, idle_timeout_ms, dormant_after_ms, exec_timeout_ms;
	uint64_t output_keep_bytes;
	char **env, **require, **preload;
};

#define ASK_DEFAULTS                                                                             \
	{ .class = -1, .size = -1, .isolation = -1, .on_threshold = -1, .cpu = OPT_UNSET,       \
		.memory_bytes = OPT_UNSET,                                                       \
		.pids = OPT_UNSET, .nofile = OPT_UNSET,                 \
		.lifetime_ms = OPT_UNSET, .idle_timeout_ms = OPT_UNSET,                          \
		.dormant_after_ms = OPT_UNSET, .exec_timeout_ms = OPT_UNSET,                     \
		.output_keep_bytes = OPT_UNSET }

/* Runtime, limits, environment. */
#define ASK_OPTS(S)                                                                              \
	OPT_TEXT(S, ask.runtime, 0, "runtime", "NAME", COMP_RUNTIME,                             \
		"python:3.11, node:20, shell, or dir:PATH"),                                     \
	OPT_ENUM(S, ask.size, 0, "size", "SIZE", spec_size_names, "limits by name"),             \
	OPT_ROW(CPU, S, ask.cpu, uint64_t, 0, "cpu", "how many CPUs it may use", .value = "N",   \
		.min = SPEC_CPU_MIN, .max = SPEC_CPU_MAX),                                       \
	OPT_ROW(SIZE, S, ask.memory_bytes, uint64_t, 'm', "memory", "most memory, as in 2Gi",    \
		.value = "SIZE", .min = SPEC_MEMORY_MIN, .max = SPEC_BYTES_MAX),                 \
	OPT_TEXT(S, ask.disk, 0, "disk", "[KIND:]SIZE", COMP_NONE,                               \
		"most bytes in its files; KIND: loop, tmpfs"),                                   \
	OPT_ROW(UINT, S, ask.pids, uint64_t, 0, "pids", "most processes and threads at once",    \
		.value = "N", .min = SPEC_PIDS_MIN, .max = SPEC_PIDS_MAX),                       \
	OPT_ROW(UINT, S, ask.nofile, uint64_t, 0, "nofile", "most open files of a process",      \
		.value = "N", .min = SPEC_NOFILE_MIN, .max = SPEC_NOFILE_MAX),                   \
	OPT_LIST(S, ask.require, 0, "require", "LIMIT,...", COMP_NONE,                           \
		"fail where these limits cannot be enforced"),                                   \
	OPT_ENUM(S, ask.isolation, 0, "isolation", "KIND", session_isolation_names,              \
		"weak: without namespaces, where there are none"),                               \
	OPT_ROW(SIZE, S, ask.output_keep_bytes, uint64_t, 0, "output-keep",                      \
		"output kept of an execution", .value = "SIZE", .min = SPEC_KEEP_MIN,            \
		.max = SPEC_BYTES_MAX),                                                          \
	OPT_LIST(S, ask.env, 'e', "env", "NAME=VALUE", COMP_NONE,                                \
		"environment variable; NAME: as it is here"),                                    \
	OPT_TEXT(S, ask.env_file, 0, "env-file", "FILE", COMP_FILE,                              \
		"read NAME=VALUE lines, taken as they are")

/* Name and times: what only a session has that lives on. */
#define ASK_LIFE_OPTS(S)                                                                         \
	OPT_LIST(S, ask.preload, 0, "preload", "MODULE,...", COMP_NONE,                          \
		"keep a python ready that has imported these"),                                  \
	OPT_TEXT(S, ask.name, 0, "name", "NAME", COMP_NONE, "a name besides the id"),            \
	OPT_ENUM(S, ask.on_threshold, 0, "on-threshold", "ACTION", session_threshold_names,      \
		"what passing 80 % of memory or disk does"),                                     \
	OPT_ENUM(S, ask.class, 0, "class", "CLASS", spec_class_names, "what idling ends it"),    \
	OPT_ROW(TIME, S, ask.lifetime_ms, uint64_t, 0, "lifetime", "end it after this time; 0: never", \
		.value = "TIME", .max = SPEC_TIME_MAX_MS),                                       \
	OPT_ROW(TIME, S, ask.idle_timeout_ms, uint64_t, 0, "idle-timeout",                       \
		"end or stop it when unused for; 0: never", .value = "TIME",                     \
		.max = SPEC_TIME_MAX_MS),                                                        \
	OPT_ROW(TIME, S, ask.dormant_after_ms, uint64_t, 0, "dormant-after",                     \
		"let processes go when unused for; 0: never", .value = "TIME",                   \
		.max = SPEC_TIME_MAX_MS),                                                        \
	OPT_ROW(TIME, S, ask.exec_timeout_ms, uint64_t, 0, "exec-timeout",                       \
		"time limit of an execution; 0: none", .value = "TIME", .max = SPEC_TIME_MAX_MS)

/*
 * ask_resolve - the specification from a file and the options over it
 * @env:   with the store open
 * @file:  its name, "-" for standard input, or NULL
 * @ret:   all of it, the skeleton too, but for id; session_spec_done frees it
 *
 * Returns: 0, or negative.
 * Faults:  USAGE, NOT_FOUND, FORMAT, LIMIT, DENIED  as of spec_ask_read and spec_resolve.
 *          SYSTEM  a file cannot be read.
 */
int ask_resolve(struct cmd_env *env, const struct ask_args *a, const char *file,
	struct session_spec *ret, struct fault *f);

/* Reads a file, or "-" standard input, of at most max_bytes [bytes]. Faults: NOT_FOUND,
 * SYSTEM, LIMIT. */
int ask_read_file(const char *path, size_t max_bytes, struct text *t, struct fault *f);

/* The same for a description in JSON or YAML; where this program reads neither, another one takes
 * over. Faults: as of ask_read_file and more_run. */
int ask_read_description(const struct cmd_env *env, const char *path, struct text *t,
	struct fault *f);

/* How a file is called in messages. */
const char *ask_file_name(const char *path);

/* -e values over a list: NAME alone is taken from this process, where it is set. Faults:
 * USAGE. */
int ask_put_env(char ***env, char *const *values, struct fault *f);

/* The lines of an --env-file over a list. Faults: FORMAT, and those of ask_read_file. */
int ask_put_env_file(char ***env, const char *path, struct fault *f);
