/* The host's view of a running jail. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/frame.h"
#include "base/limits.h"
#include "base/mem.h"
#include "jail/host.h"
#include "jail/walls.h"
#include "jail/weak-tree.h"
#include "jail/wire.h"
#include "sys/pidfd.h"

/* [ms] Init says why it fails at once, if it fails at all. */
enum { OWN_REASON_MS = 100 };

pid_t jail_pid(const struct jail *j)
{
	return j->pid;
}

int jail_fd(const struct jail *j)
{
	return j->sock;
}

int jail_release(struct jail *j, const int *doors, size_t n_doors, int spare_door, struct fault *f)
{
	auto_text struct text t = { 0 };
	int fds[MSG_FDS];
	size_t n = n_doors;

	if (n_doors >= MSG_FDS)
		return fault_set(f, FAULT_BUG, 0, "%zu control groups", n_doors);
	if (n_doors)
		memcpy(fds, doors, n_doors * sizeof *fds);
	if (spare_door >= 0)
		fds[n++] = spare_door;
	frame_put_u32(&t, (uint32_t)n_doors);
	int r = msg_send(j->sock, WIRE_RELEASE, t.data, t.n, fds, n);
	/* EPIPE: it has failed already, and said why. */
	bool is_gone = r == -EPIPE || r == -ECONNRESET;
	return r < 0 && !is_gone ? fault_set(f, FAULT_SYSTEM, -r, "release init") : 0;
}

uint32_t jail_next_number(const struct jail *j)
{
	return j->n_spares + 1;
}

int jail_want_spare(struct jail *j, int door, struct fault *f)
{
	auto_text struct text t = { 0 };
	auto_fd int inner = -1;
	uint32_t number;
	int r = jail_pair(j, &inner, &number, f);

	if (r < 0)
		return r;
	frame_put_u32(&t, number);
	int fds[2] = { inner, door };
	r = msg_send(j->sock, WIRE_SPARE, t.data, t.n, fds, door >= 0 ? 2 : 1);
	return r < 0 ? fault_set(f, FAULT_SYSTEM, -r, "ask for a spare") : 0;
}

static int bad(struct fault *f, const char *what)
{
	return fault_set(f, FAULT_BUG, 0, "init sent a wrong message: %s", what);
}

/* A directory, and only its name: with nothing else can a reader be made to wait. */
static bool is_root(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_PATH && !fstat(fd, &st) && S_ISDIR(st.st_mode);
}

static int read_ready(struct jail *j, struct frame *r, struct jail_event *e, struct fault *f)
{
	struct jail_report *p = &e->report;
	char *flags[] = { &p->overlay_volatile, &p->proc_masked, &p->seccomp, &p->landlock_abi,
		&p->userns_limited, &p->private_keyring, &p->net_loopback };
	auto_fd int root = msg_take_fd(&j->message, 0), up = msg_take_fd(&j->message, 1);

	for (size_t i = 0; i < array_size(flags); i++) {
		uint32_t v = frame_get_u32(r);
		*flags[i] = (char)(v < 127 ? v : 127);
	}
	const char *text = frame_get_string(r);
	if (!frame_is_done(r) || j->ready || strlen(text) >= sizeof p->fallbacks || !is_root(root) ||
		(up >= 0 && !is_root(up)))
		return bad(f, "ready");
	for (size_t i = 0; text[i]; i++)
		p->fallbacks[i] = text[i] == '\n' || (text[i] >= 0x20 && text[i] < 0x7f) ? text[i] : '?';
	p->sealed = j->sealed;
	if (!j->sealed && strlen(p->fallbacks) < sizeof p->fallbacks - 64)
		strcat(p->fallbacks, "init: memfd refused, runs from a file\n");
	j->ready = true;
	e->root_fd = take_fd(&root);
	e->up_fd = take_fd(&up);
	e->kind = JAIL_EVENT_READY;
	return 0;
}

/* Where the spare that was asked for by this number is remembered; -1. */
static int find_pending(const struct jail *j, uint32_t number)
{
	for (int i = 0; number && i < JAIL_PENDING_MAX; i++)
		if (j->pending[i].number == number)
			return i;
	return -1;
}

static int read_spare(struct jail *j, struct frame *r, struct jail_event *e, struct fault *f)
{
	bool is_first;
	pid_t pid;
	auto_fd int pidfd = msg_take_fd(&j->message, 0);
	uint32_t number = frame_get_u32(r);
	int i = find_pending(j, number);

	if (!frame_is_done(r) || i < 0 || pidfd < 0)
		return bad(f, "spare");
	int v = pidfd_check(pidfd, &pid, &is_first);
	if (v < 0 && v != -ESRCH)
		return bad(f, "pidfd");
	/* Gone again already: its socket says so. */
	if (v == -ESRCH)
		pid = 0;
	else if (!is_first && !j->weak_root && !wall_is_off("nested"))
		return bad(f, "pidfd of another process");
	j->pending[i].number = 0;
	e->exec = jail_exec_new(j, number, pid, take_fd(&pidfd), j->pending[i].sock);
	e->number = number;
	e->kind = JAIL_EVENT_SPARE;
	return 0;
}

static int read_reaped(struct frame *r, struct jail_event *e, struct fault *f)
{
	e->number = frame_get_u32(r);
	e->usage.cpu_us = (int64_t)frame_get_u64(r);
	e->usage.max_rss_bytes = (int64_t)frame_get_u64(r);
	if (!frame_is_done(r) || e->usage.cpu_us < 0 || e->usage.max_rss_bytes < 0)
		return bad(f, "reaped");
	e->kind = JAIL_EVENT_REAPED;
	return 0;
}

static int read_failed(struct jail *j, struct frame *r, struct jail_event *e, struct fault *f)
{
	uint32_t number = frame_get_u32(r);
	int i = number ? find_pending(j, number) : -1;

	e->fault = frame_get_fault(r);
	if (!frame_is_done(r) || (number && i < 0))
		return bad(f, "failed");
	if (i >= 0) {
		j->pending[i].number = 0;
		drop_fd(&j->pending[i].sock);
	}
	e->number = number;
	if (!j->ready)
		cause_explain(j->file_system, &e->fault);
	e->kind = JAIL_EVENT_FAILED;
	return 0;
}

int jail_read(struct jail *j, struct jail_event *ret, struct fault *f)
{
	struct jail_event e = { .root_fd = -1, .up_fd = -1 };
	int v = j->dead ? 0 : msg_receive(j->sock, MSG_HOSTILE, &j->message), r = 0;
	struct frame m = { j->message.body, j->message.n };

	if (v == -EAGAIN) {
		*ret = e;
		return 0;
	}
	if (v < 0)
		return v == -EBADMSG ? bad(f, "form") : fault_set(f, FAULT_SYSTEM, -v, "read from init");
	if (!v) {
		j->dead = true;
		e.kind = JAIL_EVENT_DEAD;
	} else if (j->message.type == WIRE_READY) {
		r = read_ready(j, &m, &e, f);
	} else if (j->message.type == WIRE_SPARED) {
		r = read_spare(j, &m, &e, f);
	} else if (j->message.type == WIRE_REAPED) {
		r = read_reaped(&m, &e, f);
	} else if (j->message.type == WIRE_FAILED) {
		r = read_failed(j, &m, &e, f);
	} else {
		r = bad(f, "type");
	}
	if (!r)
		*ret = e;
	return r;
}

int cause_prefer(struct jail *j, struct fault *f)
{
	struct pollfd p = { j->sock, POLLIN, 0 };
	struct jail_event e;
	struct fault other;

	if (poll(&p, 1, OWN_REASON_MS) != 1 || jail_read(j, &e, &other) < 0)
		return -(int)f->kind;
	if (e.kind == JAIL_EVENT_FAILED && !e.number)
		*f = e.fault;
	return -(int)f->kind;
}

void jail_kill(struct jail *j)
{
	if (j->pidfd >= 0)
		pidfd_kill(j->pidfd, SIGKILL);
}

/* No pid namespace ends with its init: it is let to end its tree first, and what is left then is
 * ours. */
static void end_weak(struct jail *j)
{
	struct pollfd p = { j->pidfd, POLLIN, 0 };

	drop_fd(&j->sock);
	if (j->pidfd >= 0)
		poll(&p, 1, REAP_LIMIT_MS);
}

struct jail *jail_free(struct jail *j)
{
	if (!j)
		return NULL;
	if (j->weak_root)
		end_weak(j);
	jail_kill(j);
	if (j->pidfd >= 0)
		pidfd_wait(j->pidfd, REAP_LIMIT_MS, NULL);
	if (j->weak_root && j->pid > 0)
		weak_tree_sweep();
	for (int i = 0; i < JAIL_PENDING_MAX; i++)
		if (j->pending[i].number)
			close(j->pending[i].sock);
	drop_fd(&j->sock);
	drop_fd(&j->pidfd);
	msg_done(&j->message);
	free(j->weak_root);
	free(j);
	return NULL;
}
