#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "fmt/fmt.h"
#include "ask.h"

const char *ask_file_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

int ask_read_file(const char *path, size_t max_bytes, struct text *t, struct fault *f)
{
	if (!strcmp(path, "-"))
		return fd_read_to_end(STDIN_FILENO, max_bytes, ask_file_name(path), t, f);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_SYSTEM, errno,
			"open %.150s", path);
	return fd_read_to_end(fd, max_bytes, path, t, f);
}

/* What was read from a pipe is there for the next one, too. */
static int give_back_input(const struct text *t, struct fault *f)
{
	auto_fd int fd = memfd_create("stdin", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, text_string(t), t->n) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
		dup2(fd, STDIN_FILENO) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "pass on standard input");
	return 0;
}

int ask_read_description(const struct cmd_env *env, const char *path, struct text *t,
	struct fault *f)
{
	int r = ask_read_file(path, LIMIT_SPEC_BYTES, t, f);

	if (r < 0 || fmt_has_outside)
		return r;
	r = strcmp(path, "-") ? 0 : give_back_input(t, f);
	return r < 0 ? r : more_run(env, "a description", f);
}

int ask_put_env(char ***env, char *const *values, struct fault *f)
{
	for (; values && *values; values++) {
		const char *here = strchr(*values, '=') ? NULL : getenv(*values);
		if (!here && !strchr(*values, '='))
			continue;
		auto_free char *pair = here ? mem_format("%s=%s", *values, here) : mem_string(*values);
		int r = spec_put_env(env, pair, f);
		if (r < 0)
			return fault_wrap(f, "--env");
	}
	return 0;
}

int ask_put_env_file(char ***env, const char *path, struct fault *f)
{
	auto_text struct text t = { 0 };
	int r = ask_read_file(path, LIMIT_SPEC_BYTES, &t, f);

	if (r < 0)
		return r;
	if (strlen(text_string(&t)) != t.n)
		return fault_set(f, FAULT_FORMAT, 0, "%.150s: it has a NUL in it", path);
	return spec_read_env(env, ask_file_name(path), text_string(&t), f);
}

static void take_number(uint64_t *to, uint64_t v)
{
	if (v != OPT_UNSET)
		*to = v;
}

static void take_numbers(const struct ask_args *a, struct spec_ask *to)
{
	take_number(&to->limits[LIMIT_CPU], a->cpu);
	take_number(&to->limits[LIMIT_MEMORY], a->memory_bytes);
	take_number(&to->limits[LIMIT_PIDS], a->pids);
	take_number(&to->limits[LIMIT_NOFILE], a->nofile);
	take_number(&to->lifetime_ms, a->lifetime_ms);
	take_number(&to->idle_timeout_ms, a->idle_timeout_ms);
	take_number(&to->dormant_after_ms, a->dormant_after_ms);
	take_number(&to->exec_timeout_ms, a->exec_timeout_ms);
	take_number(&to->output_keep_bytes, a->output_keep_bytes);
}

static int take_words(const struct ask_args *a, struct spec_ask *to, struct fault *f)
{
	if (a->class >= 0)
		to->class = a->class;
	if (a->on_threshold >= 0)
		to->on_threshold = a->on_threshold;
	if (a->size >= 0)
		to->size = a->size;
	if (a->isolation >= 0)
		to->isolation = a->isolation;
	if (a->runtime) {
		free(to->runtime);
		to->runtime = mem_string(a->runtime);
	}
	if (a->disk && spec_parse_disk(a->disk, &to->disk, &to->limits[LIMIT_DISK], f) < 0)
		return fault_wrap(f, "--disk");
	if (!a->name)
		return 0;
	if (!id_is_valid(a->name))
		return fault_set(f, FAULT_USAGE, 0,
			"--name: '%.40s' is no name; [a-z0-9][a-z0-9_.-]{0,63} is", a->name);
	strcpy(to->name, a->name);
	return 0;
}

static int resolve(struct cmd_env *env, const struct ask_args *a, const char *file,
	struct spec_ask *ask, struct session_spec *ret, struct fault *f)
{
	auto_text struct text t = { 0 };
	uint32_t bits = 0;
	int r = file ? ask_read_description(env, file, &t, f) : 0;

	if (!r && file)
		r = spec_ask_read(ask, ask_file_name(file), text_string(&t), t.n, f);
	if (!r)
		r = take_words(a, ask, f);
	take_numbers(a, ask);
	if (!r && a->env_file)
		r = ask_put_env_file(&ask->env, a->env_file, f);
	if (!r)
		r = ask_put_env(&ask->env, a->env, f);
	for (char **m = a->preload; !r && m && *m; m++)
		r = spec_put_preload(&ask->preload, *m, f) < 0 ? fault_wrap(f, "--preload") : 0;
	for (char **w = a->require; !r && w && *w; w++)
		r = spec_parse_require(*w, &bits, f) < 0 ? fault_wrap(f, "--require") : 0;
	if (!r)
		r = spec_resolve(ask, env->store.dir, ret, f);
	if (r < 0)
		return r;
	ret->require |= bits;
	r = ret->runtime_dir ? store_skeleton_bare(&env->store, ret->skeleton, f) :
			       store_skeleton(&env->store, ret->skeleton, f);
	if (r < 0)
		session_spec_done(ret);
	return r;
}

int ask_resolve(struct cmd_env *env, const struct ask_args *a, const char *file,
	struct session_spec *ret, struct fault *f)
{
	struct spec_ask ask;

	spec_ask_init(&ask);
	int r = resolve(env, a, file, &ask, ret, f);
	spec_ask_done(&ask);
	return r;
}
