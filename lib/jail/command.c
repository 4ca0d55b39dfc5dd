#include "jail/command.h"
#include "base/limits.h"

void command_put(const struct jail_command *c, struct text *t)
{
	frame_put_u32(t, c->kind);
	frame_put_string(t, c->cwd && *c->cwd ? c->cwd : "/");
	frame_put_u64(t, c->rlimits.nproc);
	frame_put_u64(t, c->rlimits.nofile);
	frame_put_u64(t, c->rlimits.fsize_bytes);
	frame_put_u64(t, c->rlimits.data_bytes);
	frame_put_u64(t, c->rlimits.cpu_s);
	frame_put_u32(t, c->uid);
	frame_put_u32(t, c->gid);
	frame_put_u32(t, (uint32_t)c->oom_score_adj);
	frame_put_u32(t, c->tty);
	frame_put_u32(t, c->rows);
	frame_put_u32(t, c->columns);
	frame_put_u32(t, (uint32_t)c->n_fds);
	for (size_t i = 0; i < c->n_fds; i++)
		frame_put_u32(t, c->fds[i] >= 0);
	frame_put_strings(t, c->argv);
	frame_put_strings(t, c->env);
}

static void get_fds(struct frame *r, struct msg *m, struct jail_command *c, int *fds)
{
	size_t next = 0;

	for (size_t i = 0; i < MSG_FDS; i++)
		fds[i] = -1;
	c->n_fds = frame_get_u32(r);
	c->fds = fds;
	if (c->n_fds > MSG_FDS)
		r->bad = true;
	for (size_t i = 0; i < c->n_fds && !r->bad; i++)
		if (frame_get_u32(r) && (fds[i] = msg_take_fd(m, next++)) < 0)
			r->bad = true;
}

bool command_get(struct msg *m, struct jail_command *c, int *fds)
{
	struct frame r = { m->body, m->n };

	*c = (struct jail_command){ .kind = frame_get_u32(&r) };
	c->cwd = frame_get_string(&r);
	c->rlimits.nproc = frame_get_u64(&r);
	c->rlimits.nofile = frame_get_u64(&r);
	c->rlimits.fsize_bytes = frame_get_u64(&r);
	c->rlimits.data_bytes = frame_get_u64(&r);
	c->rlimits.cpu_s = frame_get_u64(&r);
	c->uid = frame_get_u32(&r);
	c->gid = frame_get_u32(&r);
	c->oom_score_adj = (int)frame_get_u32(&r);
	c->tty = frame_get_u32(&r);
	c->rows = (uint16_t)frame_get_u32(&r);
	c->columns = (uint16_t)frame_get_u32(&r);
	get_fds(&r, m, c, fds);
	c->argv = frame_get_strings(&r, LIMIT_ARGS);
	c->env = frame_get_strings(&r, LIMIT_ARGS);
	return frame_is_done(&r) && c->argv[0] && c->kind <= JAIL_PROBE;
}
