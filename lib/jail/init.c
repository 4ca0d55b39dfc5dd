/*
 * sbx-init: process 1 of a jail. One loop.
 *
 * It builds the jail from a plan, makes exec-inits when it is asked to, and reaps them.
 * It is started with its socket as descriptor 0 and the session's fs/ as descriptor 1.
 * Its only input is the socket; when that closes it ends, and everything with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "jail/payload.h"
#include "jail/setup.h"
#include "jail/walls.h"
#include "jail/weak-tree.h"
#include "jail/weak.h"
#include "jail/wire.h"
#include "sys/caps.h"
#include "sys/kernel.h"
#include "sys/msg.h"
#include "sys/nspace.h"
#include "sys/pidfd.h"

enum { SPARES_MAX = 1024, SPARE_LIMIT_MS = 5000, FORK_TRIES = 20, FORK_PAUSE_MS = 10,
	ORPHAN_ROUNDS = 500 };

/* What is needed for spares. The rest goes once the jail stands. */
#define CAPS_RUNNING (CAPS_SYS_ADMIN | CAPS_KILL | CAPS_SETUID | CAPS_SETGID | CAPS_SETPCAP)

struct init {
	char *title;
	bool is_weak;            /* no namespaces: what is left of a tree is looked for */
	int sock, child_fd;
	int door;                /* by which the next spare enters its own group; -1 */
	struct plan plan;
	struct msg plan_message; /* the plan points into it */
	struct setup setup;
	struct {
		pid_t pid;
		uint32_t number;
	} spares[SPARES_MAX];
};

/* Spare 0: the jail itself. */
static void say_failed(struct init *x, uint32_t number, const struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, number);
	frame_put_fault(&t, f);
	msg_send(x->sock, WIRE_FAILED, t.data, t.n, NULL, 0);
}

/* With a pid namespace everything ends with its process 1. */
static _Noreturn void leave(const struct init *x)
{
	if (x->is_weak)
		weak_tree_sweep();
	_exit(1);
}

static _Noreturn void give_up(struct init *x, const struct fault *f)
{
	say_failed(x, 0, f);
	leave(x);
}

static int receive(struct init *x, struct msg *m, uint32_t type)
{
	if (msg_receive(x->sock, MSG_TRUSTED, m) <= 0 || m->type != type)
		leave(x);
	return 0;
}

/* Ignored signals would be inherited by every program. The library keeps some for itself
 * and would not let us have them: the kernel's struct, all zero, is SIG_DFL. */
static void reset_signals(void)
{
	static const unsigned long defaults[4];

	for (int i = 1; i <= 64; i++)
		syscall(SYS_rt_sigaction, i, defaults, NULL, 8);
}

/* Nothing of the caller is left in this process but two descriptors: they move away from
 * where programs look for theirs. */
static int open_all(struct init *x)
{
	sigset_t chld;
	int fs = fcntl(1, F_DUPFD_CLOEXEC, 3);

	x->sock = fcntl(0, F_DUPFD_CLOEXEC, 3);
	close(0);
	close(1);
	while (open("/dev/null", O_RDWR) == 0 || dup(0) < 2)
		;
	reset_signals();
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_SETMASK, &chld, NULL);
	x->child_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	prctl(PR_SET_NAME, "sbx-init");
	return fs;
}

static bool has_op(const struct plan *p, enum plan_kind kind)
{
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (p->ops[i].kind == kind)
			return true;
	return false;
}

/* What does not come by its path comes behind the first spare, in this order. */
static void take_mounts(struct init *x)
{
	const struct plan *p = &x->plan;
	size_t at = 1;

	if (!*p->skeleton.path)
		x->setup.tree = msg_take_fd(&x->plan_message, at++);
	if (!*p->base.path && has_op(p, PLAN_BASE))
		x->setup.base = msg_take_fd(&x->plan_message, at++);
	x->setup.disk = msg_take_fd(&x->plan_message, at);
}

static void build(struct init *x, struct fault *f, int fs)
{
	if (x->child_fd < 0) {
		setup_fail(f, -errno, "signal descriptor", NULL);
		give_up(x, f);
	}
	x->setup = (struct setup){ .plan = &x->plan, .tree = -1, .base = -1, .disk = -1, .up = -1,
		.root = -1 };
	if ((x->is_weak ? weak_spaces : setup_spaces)(fs, &x->setup, f) < 0)
		give_up(x, f);
	close(fs);
	receive(x, &x->plan_message, WIRE_PLAN);
	/* The maps are written, so nobody needs this process to be open to its user any more. */
	prctl(PR_SET_DUMPABLE, (unsigned long)wall_is_off("dumpable"), 0ul, 0ul, 0ul);
	struct frame r = { x->plan_message.body, x->plan_message.n };
	if (!plan_get(&r, &x->plan)) {
		fault_set(f, FAULT_BUG, 0, "the plan is damaged");
		give_up(x, f);
	}
	take_mounts(x);
	if (setup_run(&x->setup, false, f) < 0 || setup_close_root(&x->setup, f) < 0)
		give_up(x, f);
}

/* Goes where its children belong: a process may always move itself. */
static void enter_groups(struct init *x, struct fault *f)
{
	auto_msg struct msg m = { 0 };

	receive(x, &m, WIRE_RELEASE);
	struct frame r = { m.body, m.n };
	size_t n = frame_get_u32(&r);
	for (size_t i = 0; i < n && i < MSG_FDS; i++) {
		auto_fd int door = msg_take_fd(&m, i);
		if (write(door, "0", 1) < 0) {
			setup_fail(f, -errno, "enter the control group", NULL);
			give_up(x, f);
		}
	}
	x->door = n < MSG_FDS ? msg_take_fd(&m, n) : -1;
}

static int drop_caps(void)
{
	int r = caps_drop_bounding();

	if (!r)
		r = caps_clear_ambient();
	return r ? r : caps_set(CAPS_RUNNING, CAPS_RUNNING, 0);
}

static void release(struct init *x, struct fault *f)
{
	enter_groups(x, f);
	if (x->is_weak) {
		if (weak_drop(f) < 0)
			give_up(x, f);
		return;
	}
	/* Only now, so that the group it is in is the root of what can be seen. */
	if (!wall_is_off("cgroup") && unshare(CLONE_NEWCGROUP) < 0)
		setup_note(&x->setup.report, "cgroup namespace: %s\n", strerror(errno));
	int r = wall_is_off("caps") ? 0 : drop_caps();
	if (!r && !wall_is_off("no_new_privs"))
		r = prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) < 0 ? -errno : 0;
	if (r < 0) {
		setup_fail(f, r, "give up what is not needed", NULL);
		give_up(x, f);
	}
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

/* Counters of namespaces fall late, so a limit may be reached by those that are gone. */
static pid_t fork_spare(bool is_weak, int *ret_pidfd)
{
	pid_t pid = -EAGAIN;

	for (int i = 0; i < FORK_TRIES; i++) {
		pid = nspace_fork(is_weak ? 0 : wall_is_off("nested") ? CLONE_NEWNS :
			CLONE_NEWPID | CLONE_NEWNS, ret_pidfd);
		if (pid != -ENOSPC && pid != -EAGAIN)
			break;
		pause_ms(FORK_PAUSE_MS);
	}
	return pid;
}

static _Noreturn void be_spare(struct init *x, int sock, int report)
{
	size_t n = strlen(x->title);

	/* "sbx: sess_… init" and "… exec" have the same length. */
	if (n > 4)
		memcpy(x->title + n - 4, "exec", 4);
	prctl(PR_SET_NAME, "sbx-exec");
	close(x->sock);
	close(x->child_fd);
	if (x->setup.root >= 0)
		close(x->setup.root);
	if (x->setup.up >= 0)
		close(x->setup.up);
	struct payload p = { .plan = &x->plan, .sock = sock, .report = report, .door = x->door };
	payload_main(&p);
}

static int wait_ready(int fd, struct payload_ready *ready, struct fault *f)
{
	struct pollfd p = { fd, POLLIN, 0 };

	if (poll(&p, 1, SPARE_LIMIT_MS) != 1)
		return fault_set(f, FAULT_SYSTEM, ETIMEDOUT, "an exec-init does not get ready");
	if (read(fd, ready, sizeof *ready) != sizeof *ready)
		return fault_set(f, FAULT_SYSTEM, 0, "an exec-init ended before it was ready");
	if (!ready->failed)
		return 0;
	enum fault_kind kind = ready->sysno == EPERM || ready->sysno == EACCES ? FAULT_DENIED :
		FAULT_SYSTEM;
	fault_set(f, kind, 0, "%s", ready->text);
	f->sysno = ready->sysno;
	return -(int)kind;
}

static void remember(struct init *x, pid_t pid, uint32_t number)
{
	for (size_t i = 0; i < SPARES_MAX; i++)
		if (!x->spares[i].pid) {
			x->spares[i].pid = pid;
			x->spares[i].number = number;
			return;
		}
}

static int make_spare(struct init *x, uint32_t number, int sock, int *ret_pidfd,
	struct payload_ready *ready, struct fault *f)
{
	int ends[2], pidfd = -1;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return setup_fail(f, -errno, "pipe", NULL);
	auto_fd int in = ends[0], out = ends[1];
	pid_t pid = fork_spare(x->is_weak, &pidfd);
	if (pid < 0)
		return setup_fail(f, pid, "make an exec-init", NULL);
	if (!pid) {
		close(in);
		be_spare(x, sock, out);
	}
	drop_fd(&out);
	drop_fd(&x->door);
	remember(x, pid, number);
	int r = number == 1 ? setup_run(&x->setup, true, f) : 0;
	if (!r)
		r = wait_ready(in, ready, f);
	if (r < 0) {
		pidfd_kill(pidfd, SIGKILL);
		close(pidfd);
		return r;
	}
	*ret_pidfd = pidfd;
	return 0;
}

static void say_spare(struct init *x, uint32_t number, int pidfd)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, number);
	msg_send(x->sock, WIRE_SPARED, t.data, t.n, &pidfd, 1);
	close(pidfd);
}

static void say_ready(struct init *x)
{
	const struct jail_report *r = &x->setup.report;
	auto_text struct text t = { 0 };
	auto_fd int root = open(x->is_weak ? "up" : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char flags[] = { r->overlay_volatile, r->proc_masked, r->seccomp, r->landlock_abi,
		r->userns_limited, r->private_keyring, r->net_loopback };

	for (size_t i = 0; i < sizeof flags; i++)
		frame_put_u32(&t, (uint32_t)flags[i]);
	frame_put_string(&t, r->fallbacks);
	int fds[2] = { root, x->setup.up };
	msg_send(x->sock, WIRE_READY, t.data, t.n, fds, x->setup.up >= 0 ? 2 : 1);
	drop_fd(&x->setup.root);
	drop_fd(&x->setup.up);
}

static void note_landlock(struct init *x, int sysno)
{
	const char *why = sysno == EOPNOTSUPP ? "it is switched off (boot with lsm=landlock,...)" :
		sysno != ENOSYS ? "a system call filter forbids it" :
		prctl(PR_GET_SECCOMP, 0ul, 0ul, 0ul, 0ul) > 0 ?
		"a system call filter hides it, or this kernel has none" : "this kernel has none";

	setup_note(&x->setup.report, "Landlock: %s\n", why);
}

static void first_spare(struct init *x, struct fault *f)
{
	struct payload_ready ready;
	int pidfd;
	auto_fd int sock = msg_take_fd(&x->plan_message, 0);

	if (make_spare(x, 1, sock, &pidfd, &ready, f) < 0)
		give_up(x, f);
	x->setup.report.proc_masked = ready.proc_masked;
	x->setup.report.seccomp = ready.seccomp;
	x->setup.report.landlock_abi = ready.landlock_abi;
	if (!ready.landlock_abi)
		note_landlock(x, ready.sysno);
	say_ready(x);
	say_spare(x, 1, pidfd);
}

static void next_spare(struct init *x)
{
	auto_msg struct msg m = { 0 };
	struct payload_ready ready;
	struct fault f;
	int pidfd;

	receive(x, &m, WIRE_SPARE);
	auto_fd int sock = msg_take_fd(&m, 0);
	x->door = msg_take_fd(&m, 1);
	struct frame r = { m.body, m.n };
	uint32_t number = frame_get_u32(&r);
	/* The jail goes on with the executions that it has. */
	if (make_spare(x, number, sock, &pidfd, &ready, &f) < 0)
		say_failed(x, number, &f);
	else
		say_spare(x, number, pidfd);
}

static void say_reaped(struct init *x, uint32_t number, const struct rusage *u)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, number);
	frame_put_u64(&t, (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 +
		(uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec));
	frame_put_u64(&t, (uint64_t)u->ru_maxrss * 1024);
	msg_send(x->sock, WIRE_REAPED, t.data, t.n, NULL, 0);
}

/* The tree of an exec-init that is gone has come to this process. All that is below it and not
 * below a living exec-init is killed, until there is nothing or it is stuck in the kernel. Who
 * dies is reaped by who waits next. */
static void end_orphans(struct init *x)
{
	pid_t kept[SPARES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < SPARES_MAX; i++)
		if (x->spares[i].pid)
			kept[n++] = x->spares[i].pid;
	for (int i = 0; i < ORPHAN_ROUNDS && weak_tree_signal(SIGKILL, 0, kept, n); i++)
		pause_ms(1);
}

static void reap(struct init *x)
{
	struct signalfd_siginfo info;
	struct rusage usage;
	pid_t pid;

	if (read(x->child_fd, &info, sizeof info) < 0)
		return;
	while ((pid = wait4(-1, NULL, WNOHANG, &usage)) > 0)
		for (size_t i = 0; i < SPARES_MAX; i++)
			if (x->spares[i].pid == pid) {
				x->spares[i].pid = 0;
				if (x->is_weak)
					end_orphans(x);
				say_reaped(x, x->spares[i].number, &usage);
				break;
			}
}

int main(int argc, char **argv)
{
	static struct init x;
	struct fault f = { 0 };

	x.title = argc ? argv[0] : (char *)"";
	x.is_weak = argc > 1 && !strcmp(argv[1], "weak");
	wall_take_argument(argc > 2 ? argv[2] : NULL);
	int fs = open_all(&x);
	build(&x, &f, fs);
	release(&x, &f);
	first_spare(&x, &f);
	struct pollfd polls[2] = { { x.sock, POLLIN, 0 }, { x.child_fd, POLLIN, 0 } };
	for (;;) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (polls[1].revents)
			reap(&x);
		if (polls[0].revents)
			next_spare(&x);
	}
}
