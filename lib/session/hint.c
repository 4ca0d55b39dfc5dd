/* The one sentence of a result that a model can act on. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "session/super.h"

static void hint_module(struct exec *e)
{
	const char *v = text_string(&e->error_value);
	const char *name = strchr(v, '\'');
	int n = name ? (int)strcspn(name + 1, "'") : 0;

	snprintf(e->hint, sizeof e->hint,
		"The module %.*s is not installed and there is no network; use what is there "
		"(run 'pip list'), or copy a wheel in with '" SBX_PROGRAM " cp' and install it with pip.",
		n < 80 ? n : 80, name ? name + 1 : "");
	for (char *p = e->hint; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
}

static const struct {
	enum exec_status status;
	const char *text;
} by_status[] = {
	{ EXEC_OOM, "Process the data in smaller pieces, or create the session with more memory." },
	{ EXEC_LIMIT, "Delete files that are no longer needed, or create the session with a larger "
		"--disk." },
	{ EXEC_LOST, "The session's processes are gone; run the cells that defined your variables "
		"again." },
};

void result_hint(struct exec *e)
{
	bool lost_before = !strcmp(e->interpreter, "restarted");
	const char *name = text_string(&e->error_name);

	if (e->hint[0])
		return;
	if (e->state_gone && e->status == EXEC_OOM) {
		snprintf(e->hint, sizeof e->hint, "The interpreter ran out of memory and its variables are "
			"gone: run the cells that define them again with less data at once, or create the "
			"session with more memory.");
	} else if (e->state_gone) {
		snprintf(e->hint, sizeof e->hint, "The interpreter died and its variables are gone; "
			"run the cells that define them again. Files are kept.");
	} else if (lost_before) {
		snprintf(e->hint, sizeof e->hint, "Variables of earlier cells were lost (%.100s); "
			"run the cells that define them again. Files are kept.",
			e->context ? "the interpreter was started again" : "restart");
	} else if (e->status == EXEC_TIMEOUT && e->reason == REASON_TIMEOUT_CPU) {
		snprintf(e->hint, sizeof e->hint, "A process used up its CPU time; give it more with "
			"--cpu-time (cpu_limit in a request), or compute less.");
	} else if (e->status == EXEC_TIMEOUT && e->is_cell) {
		snprintf(e->hint, sizeof e->hint, "The cell was interrupted at its limit; variables are "
			"kept. Give it more time with --timeout, or do less in one cell.");
	} else if (e->status == EXEC_TIMEOUT) {
		snprintf(e->hint, sizeof e->hint,
			"Give it more time with --timeout, or do less in one execution.");
	} else if (!strcmp(name, "ModuleNotFoundError")) {
		hint_module(e);
	} else if (e->status == EXEC_SETUP_FAILED && !strcmp(e->stage_text, "exec") &&
		e->s->session->spec.runtime_dir) {
		snprintf(e->hint, sizeof e->hint, "There is no such program inside: the session has a root "
			"file system of its own, and nothing of the host is in it.");
	} else if (e->status == EXEC_SETUP_FAILED && !strcmp(e->stage_text, "exec")) {
		snprintf(e->hint, sizeof e->hint, "There is no such program inside; the host's /usr/bin "
			"and what the session has installed are on the PATH.");
	} else if (e->status == EXEC_SETUP_FAILED && !strcmp(e->stage_text, "cwd")) {
		snprintf(e->hint, sizeof e->hint,
			"The working directory does not exist inside; /workspace does.");
	} else {
		for (size_t i = 0; i < sizeof by_status / sizeof *by_status; i++)
			if (by_status[i].status == e->status)
				snprintf(e->hint, sizeof e->hint, "%s", by_status[i].text);
	}
}
