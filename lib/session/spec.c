/* Sizes, defaults, tools: from what was asked for to what a session gets. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/number.h"
#include "fmt/fmt.h"
#include "jail/jail.h"
#include "session/runtime.h"
#include "session/spec.h"

const char *const spec_class_names[] = { "task", "workspace", NULL };
const char *const spec_size_names[] = { "small", "medium", "large", NULL };

/* Source: the article's tiers: one core for text, two for data; disk as in its request. */
static const uint64_t tiers[][LIMIT_KINDS] = {
	[SIZE_SMALL] = { 1000, 1 * GIB, 2 * GIB, 128, 4096 },
	[SIZE_MEDIUM] = { 2000, 2 * GIB, 10 * GIB, 256, 4096 },
	[SIZE_LARGE] = { 4000, 8 * GIB, 20 * GIB, 512, 4096 },
};

enum { MODULE_BYTES = 128, MODULES_MAX = 32 };

static const struct tool {
	const char *name, *help;
} tools[] = {
#define X(name, help) { name, help },
#include "session/tools.def"
#undef X
};

const char *spec_tool_help(const char *name)
{
	for (size_t i = 0; i < array_size(tools); i++)
		if (!strcmp(tools[i].name, name))
			return tools[i].help;
	return NULL;
}

static int check_tools(char *const *list, struct fault *f)
{
	const char *names[array_size(tools)];

	for (size_t i = 0; i < array_size(tools); i++)
		names[i] = tools[i].name;
	for (; list && *list; list++) {
		if (spec_tool_help(*list))
			continue;
		const char *near = near_find(*list, names, array_size(names));
		return fault_set(f, FAULT_USAGE, 0, "tools: '%.40s' is not known%s%s%s", *list,
			near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	return 0;
}

/* One name of --require. The network namespace is part of every jail: without it there is
 * no session at all, so "network" needs no bit. */
static int parse_required(const char *word, uint32_t *bits, struct fault *f)
{
	const char *names[LIMIT_KINDS + 1];

	for (size_t i = 0; i < LIMIT_KINDS; i++) {
		names[i] = limit_names[i];
		if (!strcmp(names[i], word)) {
			*bits |= 1u << i;
			return 0;
		}
	}
	names[LIMIT_KINDS] = "network";
	if (!strcmp(word, "network"))
		return 0;
	const char *near = near_find(word, names, array_size(names));
	return fault_set(f, FAULT_USAGE, 0, "require: '%.40s' is none of cpu, memory, disk, pids, "
					    "nofile, network%s%s%s", word,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int spec_parse_require(const char *word, uint32_t *bits, struct fault *f)
{
	for (;;) {
		char one[64];
		size_t n = strcspn(word, ",");
		snprintf(one, sizeof one, "%.*s", (int)(n < 63 ? n : 63), word);
		int r = parse_required(one, bits, f);
		if (r < 0 || !word[n])
			return r;
		word += n + 1;
	}
}

int spec_parse_disk(const char *word, int *ret_kind, uint64_t *ret_bytes, struct fault *f)
{
	static const char *const kinds[] = { [DISK_LOOP] = "loop:", [DISK_TMPFS] = "tmpfs:" };
	int kind = DISK_PLAIN;
	size_t n = 0;

	for (size_t i = DISK_LOOP; i < array_size(kinds); i++)
		if (!strncmp(word, kinds[i], strlen(kinds[i]))) {
			kind = (int)i;
			n = strlen(kinds[i]);
		}
	if (!n && strchr(word, ':'))
		return fault_set(f, FAULT_USAGE, 0, "'%.40s' is no kind of disk; SIZE, loop:SIZE and "
			"tmpfs:SIZE are", word);
	int r = number_parse_size(word + n, SPEC_DISK_MIN, SPEC_BYTES_MAX, ret_bytes, f);
	if (!r)
		*ret_kind = kind;
	return r;
}

int spec_put_env(char ***env, const char *pair, struct fault *f)
{
	size_t n_name = strcspn(pair, "="), n = 0;

	if (!n_name || !pair[n_name])
		return fault_set(f, FAULT_USAGE, 0, "'%.40s' is no NAME=VALUE", pair);
	for (; *env && (*env)[n]; n++)
		if (!strncmp((*env)[n], pair, n_name + 1)) {
			free((*env)[n]);
			(*env)[n] = mem_string(pair);
			return 0;
		}
	*env = mem_resized(*env, n + 2, sizeof **env);
	(*env)[n] = mem_string(pair);
	(*env)[n + 1] = NULL;
	return 0;
}

int spec_read_env(char ***env, const char *name, const char *text, struct fault *f)
{
	for (unsigned line = 1; *text; line++) {
		size_t n = strcspn(text, "\n");
		auto_free char *pair = mem_bytes(text, n && text[n - 1] == '\r' ? n - 1 : n);
		text += n + (text[n] != 0);
		if (!pair[0] || pair[0] == '#')
			continue;
		if (spec_put_env(env, pair, f) < 0) {
			f->kind = FAULT_FORMAT;
			return fault_wrap(f, "%.100s:%u", name, line);
		}
	}
	return 0;
}

static int check_disk(const struct session_spec *s, struct fault *f)
{
	char disk[NUMBER_TEXT_MAX], memory[NUMBER_TEXT_MAX];
	uint64_t n = s->limits[LIMIT_DISK], most = s->limits[LIMIT_MEMORY];

	if (s->disk == DISK_LOOP && geteuid())
		return fault_set(f, FAULT_DENIED, 0, "disk loop: only root may attach loop devices; use "
			"tmpfs:SIZE for a hard limit in memory, or SIZE for one that is kept by looking");
	if (s->disk == DISK_TMPFS && most && n > most)
		return fault_set(f, FAULT_USAGE, 0, "disk tmpfs: %s do not go into the memory limit of %s, "
			"which they are part of", number_format_size(n, disk),
			number_format_size(most, memory));
	return 0;
}

/* A dotted name of Python: what is given to import, and nothing else. */
static bool is_module(const char *s, size_t n)
{
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
		if (!letter && (first || !((s[i] >= '0' && s[i] <= '9') || s[i] == '.')))
			return false;
		first = s[i] == '.';
	}
	return n && !first && n <= MODULE_BYTES;
}

int spec_put_preload(char ***list, const char *word, struct fault *f)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	for (;; word++) {
		size_t len = strcspn(word, ",");
		if (!is_module(word, len))
			return fault_set(f, FAULT_USAGE, 0, "'%.*s' is no name of a Python module",
				(int)(len < 40 ? len : 40), word);
		if (n == MODULES_MAX)
			return fault_set(f, FAULT_USAGE, 0, "more than %d modules", MODULES_MAX);
		*list = mem_resized(*list, n + 2, sizeof **list);
		(*list)[n++] = mem_bytes(word, len);
		(*list)[n] = NULL;
		word += len;
		if (!*word)
			return 0;
	}
}

/* What a file gives may have commas, too. */
static int check_preload(struct spec_ask *a, struct session_spec *s, struct fault *f)
{
	int r = 0;

	for (char **m = a->preload; !r && m && *m; m++)
		r = spec_put_preload(&s->preload, *m, f);
	if (!r && s->preload && strncmp(s->runtime_resolved, "python", 6) != 0)
		r = fault_set(f, FAULT_USAGE, 0, "only a python runtime has modules to import ahead");
	return r < 0 ? fault_wrap(f, "preload") : 0;
}

static uint64_t given(uint64_t v, uint64_t fallback)
{
	return v == SPEC_UNSET ? fallback : v;
}

/* Which ids exist inside, and so which files of a directory can be changed, is told by whose home
 * directory it is. */
static int resolve_dir(const char *name, int home, struct session_spec *s, struct fault *f)
{
	auto_free char *path = NULL;
	auto_fd int fd = -1;
	int r = runtime_dir_open(name, home, false, &path, &fd, f);

	if (r < 0)
		return fault_wrap(f, "runtime dir:%.150s", name);
	strcpy(s->runtime, "dir");
	strcpy(s->runtime_resolved, "dir");
	s->runtime_dir = mem_format("dir:%s", path);
	s->foreign_ids = runtime_dir_has_foreign(fd, geteuid() ? 1 : JAIL_ID_COUNT);
	return 0;
}

static int resolve_runtime(const char *name, int home, struct session_spec *s, struct fault *f)
{
	struct runtime rt;

	if (!strncmp(name, "dir:", 4))
		return resolve_dir(name + 4, home, s, f);
	int r = runtime_resolve(home, name, &rt, f);

	if (r < 0)
		return fault_wrap(f, "runtime");
	snprintf(s->runtime, sizeof s->runtime, "%s", name);
	snprintf(s->runtime_resolved, sizeof s->runtime_resolved, "%s", rt.name);
	snprintf(s->interpreter, sizeof s->interpreter, "%s", rt.path);
	return 0;
}

/* The same name in a file's env twice was refused as a key; as a list the last one wins. */
static int move_env(char **from, struct session_spec *s, struct fault *f)
{
	int r = 0;

	for (; !r && from && *from; from++)
		r = spec_put_env(&s->env, *from, f);
	return r < 0 ? fault_wrap(f, "env") : 0;
}

static void resolve_times(const struct spec_ask *a, struct session_spec *s)
{
	s->lifetime_ms = given(a->lifetime_ms, DEFAULT_LIFETIME_MS);
	s->idle_timeout_ms = given(a->idle_timeout_ms,
		s->class == CLASS_TASK ? DEFAULT_IDLE_TASK_MS : DEFAULT_IDLE_WORKSPACE_MS);
	s->dormant_after_ms = given(a->dormant_after_ms, DEFAULT_DORMANT_MS);
	s->exec_timeout_ms = given(a->exec_timeout_ms, DEFAULT_EXEC_TIMEOUT_MS);
	s->output_keep_bytes = given(a->output_keep_bytes, DEFAULT_OUTPUT_KEEP_BYTES);
}

int spec_resolve(struct spec_ask *a, int home, struct session_spec *ret, struct fault *f)
{
	struct session_spec s = { .class = a->class == SPEC_TASK ? CLASS_TASK : CLASS_WORKSPACE };
	const uint64_t *tier = tiers[a->size < 0 ? SIZE_MEDIUM : a->size];

	memcpy(s.name, a->name, sizeof s.name);
	s.isolation = a->isolation == ISOLATION_WEAK ? ISOLATION_WEAK : ISOLATION_STRONG;
	for (size_t i = 0; i < LIMIT_KINDS; i++)
		s.limits[i] = given(a->limits[i], tier[i]);
	s.on_threshold = a->on_threshold < 0 ? THRESHOLD_WARN : (enum session_threshold)a->on_threshold;
	s.disk = a->disk < 0 ? DISK_PLAIN : (enum disk_kind)a->disk;
	resolve_times(a, &s);
	for (char **w = a->require; w && *w; w++)
		if (spec_parse_require(*w, &s.require, f) < 0)
			return -(int)f->kind;
	int r = check_disk(&s, f);
	if (!r)
		r = check_tools(a->tools, f);
	if (!r)
		r = resolve_runtime(a->runtime ? a->runtime : "python", home, &s, f);
	if (!r && s.isolation == ISOLATION_WEAK && (s.runtime_dir || s.disk != DISK_PLAIN))
		r = fault_set(f, FAULT_USAGE, 0, "weak isolation mounts nothing: it has no runtime dir:"
			" and no disk of its own");
	if (!r)
		r = move_env(a->env, &s, f);
	if (!r)
		r = check_preload(a, &s, f);
	if (r < 0) {
		session_spec_done(&s);
		return r;
	}
	s.tools = take_ptr(&a->tools);
	*ret = s;
	return 0;
}

#define WEAK "isolation is weak: there are no namespaces, Landlock and seccomp alone keep it in; it sees " \
	"which processes and files the host has"

/* Scopes of signals. Source: landlock(7), ABI 6. */
enum { SIGNALS_ABI = 6 };

const char *spec_weak_warning(int landlock_abi, bool is_owner)
{
	bool may_signal = is_owner && landlock_abi > 0 && landlock_abi < SIGNALS_ABI;

	return may_signal ? WEAK ", and can signal your own (Linux 6.12 would stop that)" : WEAK;
}

void spec_instructions(const struct session_spec *s, struct text *t)
{
	char cpus[NUMBER_TEXT_MAX], memory[NUMBER_TEXT_MAX], disk[NUMBER_TEXT_MAX], time[NUMBER_TEXT_MAX];
	bool shell = s->runtime_dir || !strcmp(s->runtime_resolved, "shell");

	text_format(t, "You have a sandbox session, id %s, with %s. ", s->id,
		s->runtime_dir ? "a root file system of its own" : s->runtime_resolved);
	if (s->isolation == ISOLATION_WEAK)
		text_put(t, "Its files stay between executions; work in the current directory with "
			    "relative paths: there is no /workspace, the directories are those that HOME, "
			    "TMPDIR and SBX_WORKSPACE name. ");
	else
		text_put(t, "Its files stay between executions; work in /workspace with relative paths. ");
	if (shell)
		text_put(t, "The shell keeps its directory, variables and functions. ");
	else
		text_put(t, "Code runs in one kept interpreter: variables, imports and open files stay "
			    "until state.epoch in a result rises. ");
	text_format(t, "There is no network. Limits: %s CPUs, %s of memory, %s of disk, %llu processes",
		number_format_cpu(s->limits[LIMIT_CPU], cpus),
		number_format_size(s->limits[LIMIT_MEMORY], memory),
		number_format_size(s->limits[LIMIT_DISK], disk),
		(unsigned long long)s->limits[LIMIT_PIDS]);
	if (s->exec_timeout_ms)
		text_format(t, ", %s for one execution",
			number_format_time(s->exec_timeout_ms, time));
	text_put(t, ". Print what you want to see. Each result says status, exit_code, stdout, stderr "
		    "and which files changed; exit code 0 only means that nothing crashed, so check the "
		    "output. When an execution fails, read its error and hint before you try again; "
		    "the same code gives the same result.");
	if (s->tools && s->tools[0])
		text_put(t, " Tools that were named:");
	for (char **tool = s->tools; tool && *tool; tool++)
		text_format(t, "%s %s (%s)", tool == s->tools ? "" : ",", *tool, spec_tool_help(*tool));
	if (s->tools && s->tools[0])
		text_put_char(t, '.');
}
