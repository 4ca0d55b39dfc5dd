/* From the options of exec and run to a request. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "ask.h"
#include "drive.h"

int drive_init(struct drive *d, const char *command, const struct drive_args *a, struct fault *f)
{
	*d = (struct drive){
		.command = command,
		.json = a->json,
		.stream = a->stream,
		.status_fd = a->status_fd == OPT_UNSET ? -1 : (int)a->status_fd,
		.input = a->input,
		.tty = a->tty,
	};
	if (!a->detach_keys)
		return 0;
	if (!a->tty)
		return fault_set(f, FAULT_USAGE, 0, "--detach-keys is for a terminal, -t");
	return keys_parse(a->detach_keys, &d->keys, f) < 0 ? fault_wrap(f, "--detach-keys") : 0;
}

static uint32_t flags_of(const struct drive_args *a)
{
	uint32_t flags = 0;

	if (a->json || a->stream)
		flags |= EXEC_WANT_JSON;
	else
		flags |= EXEC_WANT_OUTPUT;
	if (a->stream)
		flags |= EXEC_WANT_EVENTS;
	if (a->status_fd != OPT_UNSET)
		flags |= EXEC_WANT_STATUS;
	if (a->input)
		flags |= EXEC_STDIN;
	if (a->tty)
		flags |= EXEC_TTY;
	if (a->fresh)
		flags |= EXEC_FRESH;
	if (a->no_result)
		flags |= EXEC_NO_RESULT;
	return flags;
}

/* The language that a file's name tells, or NULL: the session's own. */
static const char *language_of(const char *file)
{
	static const char *const ends[][2] = { { ".py", "python" }, { ".js", "node" },
		{ ".mjs", "node" }, { ".cjs", "node" }, { ".sh", "shell" }, { ".bash", "shell" } };
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot && i < array_size(ends); i++)
		if (!strcmp(dot, ends[i][0]))
			return ends[i][1];
	return NULL;
}

/* One of: a program, -c, -f, "-". */
int drive_program(const struct drive_args *a, const struct opt_words *w, struct drive_code *own,
	struct exec_request *q, struct fault *f)
{
	bool dash = w->program && !w->dashes && !strcmp(w->program[0], "-") && !w->program[1];
	const char *file = a->file ? a->file : dash ? "-" : NULL;
	bool program = w->program && !dash;

	if ((a->code != NULL) + (file != NULL) + program != 1)
		return fault_set(f, FAULT_USAGE, 0, "give one of: a command, -c CODE, -f FILE, or - for "
			"code on standard input");
	if (program) {
		q->argv = w->program;
		return 0;
	}
	if (a->code) {
		q->code = a->code;
		q->n_code = strlen(a->code);
		return 0;
	}
	if (!q->language)
		q->language = language_of(file);
	int r = ask_read_file(file, LIMIT_CODE_BYTES, &own->text, f);
	q->code = text_string(&own->text);
	q->n_code = own->text.n;
	return r;
}

int drive_options(const struct drive_args *a, struct exec_request *ret, struct fault *f)
{
	if (a->status_fd != OPT_UNSET && fcntl((int)a->status_fd, F_GETFD) < 0)
		return fault_set(f, FAULT_USAGE, 0, "--status-fd: descriptor %d is not open",
			(int)a->status_fd);
	*ret = (struct exec_request){
		.flags = flags_of(a),
		.language = a->language,
		.context = a->context,
		.workdir = a->workdir,
		.secret = a->secret,
		.timeout_ms = a->timeout_ms == OPT_UNSET ? EXEC_TIMEOUT_DEFAULT : a->timeout_ms,
		.cpu_limit_ms = a->cpu_limit_ms == OPT_UNSET ? 0 : a->cpu_limit_ms,
		.request_id = a->request_id,
	};
	return 0;
}

int drive_check(const struct exec_request *q, struct fault *f)
{
	if (q->argv && (q->flags & EXEC_FRESH || q->language || q->context))
		return fault_set(f, FAULT_USAGE, 0, "--lang, --context and --fresh are for code; a "
			"command has no interpreter");
	if (q->code && q->flags & (EXEC_STDIN | EXEC_TTY))
		return fault_set(f, FAULT_USAGE, 0, "-i and -t are for commands; code in a kept "
			"interpreter has no standard input");
	if (q->code && q->cpu_limit_ms)
		return fault_set(f, FAULT_USAGE, 0, "--cpu-time is for commands; --timeout ends a cell");
	return 0;
}

void drive_request_done(struct drive_code *own)
{
	text_done(&own->text);
	mem_free_strings(own->env);
	*own = (struct drive_code){ 0 };
}
