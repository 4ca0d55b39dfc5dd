/*
 * What a caller asks for: of a session (create -f, and its flags) and of one execution
 * (exec --request).
 *
 *	struct spec_ask ask;
 *	spec_ask_init(&ask);
 *	r = spec_ask_read(&ask, "job.yaml", p, n, &f);   the file; flags are set over it
 *	r = spec_resolve(&ask, home_dir, &spec, &f);     sizes, defaults, runtime
 *	spec_ask_done(&ask);
 */
#pragma once

#include "base/fault.h"
#include "base/text.h"
#include "store/store.h"

/* A number or choice that was not given. */
#define SPEC_UNSET UINT64_MAX

/* Bounds, for files and flags. CPU [thousandths]: the least that a quota of 100 ms periods
 * can express is 1 ms. Memory: what the interpreters need to start. Pids: init, a spare,
 * the leader and a few. Sources: cpu.cfs_quota_us, proc(5) pid_max and nr_open. */
#define SPEC_CPU_MIN     10
#define SPEC_CPU_MAX     1024000
#define SPEC_MEMORY_MIN  (16ull << 20)
#define SPEC_BYTES_MAX   (1ull << 50)
#define SPEC_DISK_MIN    (1ull << 20)
#define SPEC_PIDS_MIN    8
#define SPEC_PIDS_MAX    4194304
#define SPEC_NOFILE_MIN  16
#define SPEC_NOFILE_MAX  1048576
#define SPEC_TIME_MAX_MS (10ull * 365 * 24 * 3600 * 1000)
#define SPEC_KEEP_MIN    4096

enum spec_size { SIZE_SMALL, SIZE_MEDIUM, SIZE_LARGE };
extern const char *const spec_class_names[]; /* those a caller may choose; enum spec_class */
extern const char *const spec_size_names[];  /* enum spec_size */

enum spec_class { SPEC_TASK, SPEC_WORKSPACE };

/* All owned. */
struct spec_ask {
	char name[ID_TEXT];
	char *runtime;
	int class, size, isolation, on_threshold; /* -1: not given */
	int disk;                     /* enum disk_kind; -1: not given */
	uint64_t limits[LIMIT_KINDS]; /* as in struct session_spec, or SPEC_UNSET */
	uint64_t lifetime_ms, idle_timeout_ms, dormant_after_ms, exec_timeout_ms; /* [ms] */
	uint64_t output_keep_bytes; /* [bytes] */
	char **env, **tools, **require, **preload;
};

void spec_ask_init(struct spec_ask *a);
void spec_ask_done(struct spec_ask *a);

/*
 * spec_ask_read - reads a session's file, YAML or JSON
 * @a:     as spec_ask_init left it
 * @name:  how to call the file in messages
 * @p:     its text
 * @n:     [bytes]
 *
 * Returns: 0, or negative; spec_ask_done in every case.
 * Faults:  FORMAT  a key or value is wrong, with its place.
 *          LIMIT   it is too long.
 *          DENIED  it asks for a network.
 */
int spec_ask_read(struct spec_ask *a, const char *name, const void *p, size_t n, struct fault *f);

/*
 * spec_resolve - fills in sizes and defaults and finds the interpreter
 * @a:     env, tools, preload are moved out of it
 * @home:  directory descriptor of the home directory, or -1
 * @ret:   all but id, skeleton and created_us; set on 0 only; session_spec_done frees it
 *
 * Returns: 0, or negative.
 * Faults:  USAGE      a limit, tool or name is not possible.
 *          NOT_FOUND  the runtime is not here.
 */
int spec_resolve(struct spec_ask *a, int home, struct session_spec *ret, struct fault *f);

/* Adds K=V to a list, in place of an older K. Faults: USAGE it is no NAME=VALUE. */
int spec_put_env(char ***env, const char *pair, struct fault *f);

/* Adds the lines of an --env-file: K=V; empty lines and those with # in front are skipped.
 * Faults: FORMAT with the line. */
int spec_read_env(char ***env, const char *name, const char *text, struct fault *f);

/* Adds the names of modules in "numpy,pandas" to a list. Faults: USAGE. */
int spec_put_preload(char ***list, const char *word, struct fault *f);

/* "memory,pids" → bits of enum limit_kind. Faults: USAGE. */
int spec_parse_require(const char *word, uint32_t *bits, struct fault *f);

/* "10Gi", "loop:10Gi", "tmpfs:256m". Faults: USAGE. */
int spec_parse_disk(const char *word, int *ret_kind, uint64_t *ret_bytes, struct fault *f);

/* What everybody is told who has to do with a session of weak isolation. landlock_abi of its
 * report, 0: not known; is_owner: its payload has the caller's own id. */
const char *spec_weak_warning(int landlock_abi, bool is_owner);

/* The temporary directories inside that such a session has to itself, NULL at the end; room for 4. A
 * weak one has the host's /dev/shm. */
void spec_temp_dirs(const struct session_spec *s, char **ret);

/* The jail of such a session, but for its descriptors (-1). Points into s. */
struct jail_spec;
void spec_jail(const struct session_spec *s, uint32_t id_base, struct jail_spec *ret);

/* What a model has and how to use it, a few lines of English. */
void spec_instructions(const struct session_spec *s, struct text *t);

/* One known tool, or NULL: nothing has this name. */
const char *spec_tool_help(const char *name);

/* --- one execution --------------------------------------------------------------------- */

/* The body of exec --request. All owned; "" or NULL: not given. */
struct exec_ask {
	char session_id[ID_TEXT];
	char *code;
	char **command;
	char *language;           /* "python", "node", "shell" */
	char context[ID_TEXT];
	char *workdir;
	char **env;
	uint64_t timeout_ms;      /* [ms] or SPEC_UNSET */
	uint64_t cpu_limit_ms;    /* [ms] or SPEC_UNSET */
	uint64_t output_keep_bytes; /* [bytes] or SPEC_UNSET */
	char *request_id;
	char *stdin_text;
	bool fresh;
};

/*
 * exec_ask_read - reads the body of a request, YAML or JSON
 * @ret:  exec_ask_done in every case
 *
 * Returns: 0, or negative.
 * Faults:  FORMAT  a key or value is wrong, or there is not exactly one of code and command.
 *          LIMIT   it is too long.
 */
int exec_ask_read(struct exec_ask *ret, const char *name, const void *p, size_t n, struct fault *f);
void exec_ask_done(struct exec_ask *a);
