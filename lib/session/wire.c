#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/limits.h"
#include "base/mem.h"
#include "session/wire.h"

void wire_put_exec(struct text *t, const struct exec_request *r)
{
	frame_put_u32(t, r->flags);
	frame_put_u32(t, r->argv ? 1 : 0);
	frame_put_strings(t, r->argv);
	frame_put_bytes(t, r->code, r->code ? r->n_code : 0);
	frame_put_string(t, r->language);
	frame_put_string(t, r->context);
	frame_put_string(t, r->workdir);
	frame_put_strings(t, r->env);
	frame_put_strings(t, r->secret);
	frame_put_u64(t, r->timeout_ms);
	frame_put_u64(t, r->cpu_limit_ms);
	frame_put_u64(t, r->output_keep_bytes);
	frame_put_string(t, r->request_id);
	frame_put_u32(t, (uint32_t)r->rows << 16 | r->columns);
	frame_put_string(t, r->term);
}

static const char *invalid(const struct exec_request *r)
{
	if (r->argv && !r->argv[0])
		return "the command is empty";
	if (r->n_code > LIMIT_CODE_BYTES)
		return "the code is longer than 16 MiB";
	if (r->workdir[0] && r->workdir[0] != '/')
		return "the working directory is not absolute";
	if (r->context[0] && !id_is_valid(r->context))
		return "the context's name is not [a-z0-9][a-z0-9_.-]{0,63}";
	if (strlen(r->request_id) > 256)
		return "the request id is longer than 256 bytes";
	for (char **e = r->env; *e; e++)
		if (!strchr(*e, '=') || **e == '=')
			return "a variable is not NAME=VALUE";
	return NULL;
}

int wire_get_exec(struct msg *m, struct wire_exec *ret, struct fault *f)
{
	struct wire_exec w = { .m = *m };
	struct frame r = { w.m.body, w.m.n };

	*m = (struct msg){ 0 };
	w.r.flags = frame_get_u32(&r);
	bool command = frame_get_u32(&r);
	w.r.argv = frame_get_strings(&r, LIMIT_ARGS);
	w.r.code = frame_get_bytes(&r, &w.r.n_code);
	w.r.language = frame_get_string(&r);
	w.r.context = frame_get_string(&r);
	w.r.workdir = frame_get_string(&r);
	w.r.env = frame_get_strings(&r, LIMIT_ARGS);
	w.r.secret = frame_get_strings(&r, LIMIT_ARGS);
	w.r.timeout_ms = frame_get_u64(&r);
	w.r.cpu_limit_ms = frame_get_u64(&r);
	w.r.output_keep_bytes = frame_get_u64(&r);
	w.r.request_id = frame_get_string(&r);
	uint32_t size = frame_get_u32(&r);
	w.r.rows = (uint16_t)(size >> 16);
	w.r.columns = (uint16_t)size;
	w.r.term = frame_get_string(&r);
	if (!command) {
		free(w.r.argv);
		w.r.argv = NULL;
	}
	const char *why = frame_is_done(&r) ? invalid(&w.r) : "it is damaged";
	if (why) {
		wire_exec_done(&w);
		return fault_set(f, FAULT_FORMAT, 0, "the request cannot be used: %s", why);
	}
	*ret = w;
	return 0;
}

void wire_exec_done(struct wire_exec *w)
{
	free(w->r.argv);
	free(w->r.env);
	free(w->r.secret);
	msg_done(&w->m);
	*w = (struct wire_exec){ 0 };
}

void wire_put_files(struct text *t, enum files_kind kind, char *const *argv)
{
	frame_put_u32(t, kind);
	frame_put_strings(t, argv);
}

int wire_get_files(struct msg *m, struct wire_exec *ret, enum files_kind *ret_kind, struct fault *f)
{
	/* Words of one of files.h's builtins. */
	enum { WORDS_MAX = 64 };
	struct wire_exec w = { .m = *m };
	struct frame r = { w.m.body, w.m.n };

	*m = (struct msg){ 0 };
	uint32_t kind = frame_get_u32(&r);
	w.r.argv = frame_get_strings(&r, WORDS_MAX);
	if (!frame_is_done(&r) || kind > FILES_PROBE || !w.r.argv[0]) {
		wire_exec_done(&w);
		return fault_set(f, FAULT_FORMAT, 0, "the request is damaged");
	}
	w.r.language = w.r.context = w.r.workdir = w.r.request_id = w.r.term = "";
	w.r.env = mem_new(char *);
	w.r.flags = kind == FILES_PROBE ? EXEC_LAST : kind == FILES_PUT ? EXEC_STDIN : 0;
	*ret = w;
	*ret_kind = (enum files_kind)kind;
	return 0;
}
