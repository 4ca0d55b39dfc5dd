#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/limits.h"
#include "base/mem.h"
#include "jail/command.h"
#include "jail/host.h"
#include "jail/wire.h"
#include "sys/pidfd.h"

struct jail_exec *jail_exec_new(const struct jail *j, uint32_t number, pid_t pid, int pidfd,
	int sock)
{
	struct jail_exec *x = mem_new(struct jail_exec);

	x->number = number;
	x->pid = pid;
	x->pidfd = pidfd;
	x->sock = sock;
	x->id_base = j->id_base;
	x->weak_root = j->weak_root ? mem_string(j->weak_root) : NULL;
	return x;
}

uint32_t jail_exec_number(const struct jail_exec *x)
{
	return x->number;
}

pid_t jail_exec_pid(const struct jail_exec *x)
{
	return x->pid;
}

int jail_exec_fd(const struct jail_exec *x)
{
	return x->sock;
}

int jail_exec_pidfd(const struct jail_exec *x)
{
	return x->pidfd;
}

int jail_exec_start(struct jail_exec *x, const struct jail_command *c, struct fault *f)
{
	auto_text struct text t = { 0 };
	int fds[MSG_FDS];
	size_t n = 0;

	if (x->state != EXEC_SPARE)
		return fault_set(f, FAULT_BUG, 0, "an exec-init runs one command only");
	if (!c->argv || !c->argv[0] || c->n_fds > MSG_FDS)
		return fault_set(f, FAULT_USAGE, 0, "a command has a name and at most %d descriptors",
			MSG_FDS);
	if (!x->id_base && (c->uid != JAIL_UID || c->gid != JAIL_UID))
		return fault_set(f, FAULT_USAGE, 0, "only uid and gid %d exist in this jail", JAIL_UID);
	struct jail_command real = *c;
	if (x->weak_root)
		weak_command(x->weak_root, x->id_base, &real);
	command_put(&real, &t);
	if (x->weak_root)
		weak_command_done(&real);
	if (t.n > LIMIT_REQUEST_BYTES)
		return fault_set(f, FAULT_LIMIT, 0, "a command of %zu bytes is too long", t.n);
	for (size_t i = 0; i < c->n_fds; i++)
		if (c->fds[i] >= 0)
			fds[n++] = c->fds[i];
	int r = msg_send(x->sock, WIRE_START, t.data, t.n, fds, n);
	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, -r, "send the command");
	x->state = EXEC_ASKED;
	x->tty = c->tty;
	return 0;
}

static int bad(struct fault *f, const char *what)
{
	return fault_set(f, FAULT_BUG, 0, "an exec-init sent a wrong message: %s", what);
}

/* The master side of a pty, nothing else: it will be read and written. */
static bool is_master(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == 5 &&
		minor(st.st_rdev) == 2;
}

static int read_started(struct jail_exec *x, struct jail_exec_event *e, struct fault *f)
{
	auto_fd int tty = msg_take_fd(&x->message, 0);

	if (x->state != EXEC_ASKED || x->message.n || (tty >= 0) != x->tty ||
		(tty >= 0 && !is_master(tty)))
		return bad(f, "started");
	x->state = EXEC_RUNNING;
	e->tty_fd = take_fd(&tty);
	e->kind = JAIL_EXEC_STARTED;
	return 0;
}

static int read_refused(struct jail_exec *x, struct jail_exec_event *e, struct fault *f)
{
	struct frame r = { x->message.body, x->message.n };
	uint32_t sysno = frame_get_u32(&r);
	const char *stage = frame_get_string(&r);

	if (!frame_is_done(&r) || x->state != EXEC_ASKED || sysno >= 4096 ||
		strlen(stage) >= sizeof e->stage)
		return bad(f, "refused");
	for (size_t i = 0; stage[i]; i++)
		e->stage[i] = islower((unsigned char)stage[i]) ? stage[i] : '?';
	x->state = EXEC_OVER;
	e->sysno = (int)sysno;
	e->kind = JAIL_EXEC_FAILED;
	return 0;
}

static int read_ended(struct jail_exec *x, struct jail_exec_event *e, struct fault *f)
{
	struct frame r = { x->message.body, x->message.n };

	e->status = (int)frame_get_u32(&r);
	e->leftovers = frame_get_u32(&r);
	e->usage.cpu_us = (int64_t)frame_get_u64(&r);
	e->usage.max_rss_bytes = (int64_t)frame_get_u64(&r);
	if (!frame_is_done(&r) || x->state != EXEC_RUNNING || e->usage.cpu_us < 0 ||
		e->usage.max_rss_bytes < 0 || (!WIFEXITED(e->status) && !WIFSIGNALED(e->status)))
		return bad(f, "ended");
	x->state = EXEC_OVER;
	e->kind = JAIL_EXEC_ENDED;
	return 0;
}

int jail_exec_read(struct jail_exec *x, struct jail_exec_event *ret, struct fault *f)
{
	struct jail_exec_event e = { .tty_fd = -1 };
	int v = msg_receive(x->sock, MSG_HOSTILE, &x->message), r = 0;

	if (v < 0 && v != -EAGAIN)
		return v == -EBADMSG ? bad(f, "form") :
				       fault_set(f, FAULT_SYSTEM, -v, "read from an exec-init");
	if (!v) {
		e.kind = JAIL_EXEC_DEAD;
	} else if (v > 0 && x->message.type == WIRE_STARTED) {
		r = read_started(x, &e, f);
	} else if (v > 0 && x->message.type == WIRE_REFUSED) {
		r = read_refused(x, &e, f);
	} else if (v > 0 && x->message.type == WIRE_ENDED) {
		r = read_ended(x, &e, f);
	} else if (v > 0) {
		r = bad(f, "type");
	}
	if (!r)
		*ret = e;
	return r;
}

/* A full socket or an exec-init that is gone: too late either way. */
static void ask(struct jail_exec *x, enum wire_type type, const struct text *t)
{
	msg_send(x->sock, type, t->data, t->n, NULL, 0);
}

void jail_exec_signal(struct jail_exec *x, int signal, enum jail_target to)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, (uint32_t)signal);
	frame_put_u32(&t, to);
	ask(x, WIRE_SIGNAL, &t);
}

void jail_exec_signal_since(struct jail_exec *x, int signal, uint64_t since_ticks)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, (uint32_t)signal);
	frame_put_u64(&t, since_ticks);
	ask(x, WIRE_SIGNAL_SINCE, &t);
}

void jail_exec_resize(struct jail_exec *x, uint16_t rows, uint16_t columns)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, rows);
	frame_put_u32(&t, columns);
	ask(x, WIRE_RESIZE, &t);
}

void jail_exec_kill(struct jail_exec *x)
{
	pidfd_kill(x->pidfd, SIGKILL);
}

struct jail_exec *jail_exec_free(struct jail_exec *x)
{
	if (!x)
		return NULL;
	jail_exec_kill(x);
	drop_fd(&x->sock);
	drop_fd(&x->pidfd);
	msg_done(&x->message);
	free(x->weak_root);
	free(x);
	return NULL;
}
