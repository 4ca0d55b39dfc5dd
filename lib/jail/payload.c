#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "jail/child.h"
#include "jail/command.h"
#include "jail/payload.h"
#include "jail/setup.h"
#include "jail/sweep.h"
#include "jail/walls.h"
#include "jail/weak-tree.h"
#include "jail/weak.h"
#include "jail/wire.h"
#include "sys/caps.h"
#include "sys/kernel.h"

enum { PTY_GET_PEER = 0x5441 /* TIOCGPTPEER; musl has no name for it */ };

struct run {
	const struct payload *payload;
	int sock, child_fd;  /* messages; SIGCHLD */
	int oom_fd;          /* own oom_score_adj, opened while that was allowed */
	int tty;             /* master of the pty; -1 */
	int landlock;        /* of a weak jail: what each program gets; -1 */
	pid_t leader;        /* 0 before it starts */
	struct msg message;
};

static int high_fd(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, CHILD_FIRST_FD);

	close(fd);
	return moved;
}

/* Nobody of the same id looks into this process. */
static void set_closed(void)
{
	prctl(PR_SET_DUMPABLE, (unsigned long)wall_is_off("dumpable"), 0ul, 0ul, 0ul);
}

/* Others live in this pid namespace, who are not to be touched. */
static bool is_shared(const struct run *x)
{
	return x->payload->plan->is_weak || wall_is_off("nested");
}

static void say_ready(const struct payload *p, const struct jail_report *r, int error,
	const struct fault *f)
{
	struct payload_ready ready = { .proc_masked = r->proc_masked, .seccomp = r->seccomp,
		.landlock_abi = r->landlock_abi, .failed = error < 0,
		.sysno = error < 0 ? f->sysno : r->landlock_errno };

	if (error < 0)
		snprintf(ready.text, sizeof ready.text, "%.90s", f->text);
	if (write(p->report, &ready, sizeof ready) != sizeof ready)
		_exit(1);
	close(p->report);
}

/* A file of /proc/self that only root may open once this is not dumpable: for an ordinary
 * user there is no root inside. Nobody else is in this pid namespace yet. */
static int open_oom(void)
{
	prctl(PR_SET_DUMPABLE, 1ul, 0ul, 0ul, 0ul);
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	set_closed();
	return fd < 0 ? fd : high_fd(fd);
}

static void set_oom(int fd, int adj)
{
	char line[16];
	int n = snprintf(line, sizeof line, "%d", adj);

	/* The score is a preference of the killer; without it the exec is no less safe. */
	if (fd >= 0 && pwrite(fd, line, (size_t)n, 0) < 0)
		return;
}

static void refuse(struct run *x, const char *stage, int sysno)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, (uint32_t)sysno);
	frame_put_string(&t, stage);
	msg_send(x->sock, WIRE_REFUSED, t.data, t.n, NULL, 0);
	_exit(0);
}

/* Owned by the payload, so that it can open its terminal again by name. */
static int open_pty(struct run *x, const struct jail_command *c)
{
	struct winsize size = { .ws_row = c->rows, .ws_col = c->columns };
	int unlock = 0;

	setfsuid(c->uid);
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave = -1;
	if (master >= 0 && !ioctl(master, TIOCSPTLCK, &unlock) && !ioctl(master, TIOCSWINSZ, &size))
		slave = ioctl(master, PTY_GET_PEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	int sysno = errno;
	setfsuid(geteuid());
	if (slave < 0)
		refuse(x, "pty", sysno);
	x->tty = high_fd(master);
	return high_fd(slave);
}

static void start(struct run *x)
{
	static struct child child;
	struct jail_command c;
	int fds[MSG_FDS];

	if (!command_get(&x->message, &c, fds))
		refuse(x, "message", EBADMSG);
	for (size_t i = 0; i < c.n_fds; i++)
		if (fds[i] >= 0)
			fds[i] = high_fd(fds[i]);
	child = (struct child){ .command = &c, .has_ids = x->payload->plan->id_base, .tty = -1,
		.landlock = x->landlock, .plan = x->payload->plan };
	child.null = high_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (c.tty)
		child.tty = open_pty(x, &c);
	child_prepare(&child);
	set_oom(x->oom_fd, c.oom_score_adj);
	x->leader = child_start(&child);
	set_oom(x->oom_fd, 0);
	/* It changed ids on our memory; what that did to this flag is the host's choice. */
	set_closed();
	if (child.stage)
		refuse(x, (const char *)child.stage, child.sysno);
	msg_send(x->sock, WIRE_STARTED, NULL, 0, &x->tty, x->tty >= 0);
	/* The inner side of a terminal stays open here: a program may close all of its own and open
	 * /dev/tty later, and to the other side that would look like the end. */
	close(child.null);
	for (size_t i = 0; i < c.n_fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void send_signal(struct run *x, int signal, uint32_t target)
{
	if (!x->leader || signal < 1 || signal > 64)
		return;
	/* -1 would be everybody where there is no pid namespace. */
	if (target == JAIL_TO_ALL && is_shared(x))
		weak_tree_signal(signal, 0, NULL, 0);
	else if (target == JAIL_TO_ALL && getpid() == 1)
		kill(-1, signal);
	else
		kill(target == JAIL_TO_GROUP ? -x->leader : x->leader, signal);
}

static void signal_newer(const struct run *x, int signal, uint64_t since_ticks)
{
	if (!x->leader || signal < 1 || signal > 64)
		return;
	if (is_shared(x))
		weak_tree_signal(signal, since_ticks, NULL, 0);
	else
		sweep_since(signal, since_ticks, x->leader);
}

/* With a pid namespace everything ends with this process. */
static _Noreturn void leave(const struct run *x)
{
	if (is_shared(x))
		weak_tree_sweep();
	_exit(1);
}

static void take_message(struct run *x)
{
	int r = msg_receive(x->sock, MSG_TRUSTED, &x->message);
	struct frame m = { x->message.body, x->message.n };

	/* The host is gone, or talks nonsense: with this process all of it goes. */
	if (r <= 0)
		leave(x);
	switch (x->message.type) {
	case WIRE_START:
		if (!x->leader)
			start(x);
		break;
	case WIRE_SIGNAL: {
		int signal = (int)frame_get_u32(&m);
		send_signal(x, signal, frame_get_u32(&m));
		break;
	}
	case WIRE_SIGNAL_SINCE: {
		int signal = (int)frame_get_u32(&m);
		signal_newer(x, signal, frame_get_u64(&m));
		break;
	}
	case WIRE_RESIZE: {
		struct winsize size = { .ws_row = (uint16_t)frame_get_u32(&m) };
		size.ws_col = (uint16_t)frame_get_u32(&m);
		if (x->tty >= 0)
			ioctl(x->tty, TIOCSWINSZ, &size);
		break;
	}
	default:
		leave(x);
	}
}

static void end(struct run *x, int status, const struct rusage *usage)
{
	auto_text struct text t = { 0 };

	frame_put_u32(&t, (uint32_t)status);
	frame_put_u32(&t, is_shared(x) ? weak_tree_sweep() : sweep_all());
	frame_put_u64(&t, (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
		(uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec));
	frame_put_u64(&t, (uint64_t)usage->ru_maxrss * 1024);
	msg_send(x->sock, WIRE_ENDED, t.data, t.n, NULL, 0);
	_exit(0);
}

static void reap(struct run *x)
{
	struct signalfd_siginfo info;
	struct rusage usage;
	int status;
	pid_t pid;

	if (read(x->child_fd, &info, sizeof info) < 0)
		return;
	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
		if (pid == x->leader)
			end(x, status, &usage);
}

static int enter_group(int door, struct fault *f)
{
	if (door < 0)
		return 0;
	int r = write(door, "0", 1) < 0 ? setup_fail(f, -errno, "enter the memory group", NULL) : 0;
	close(door);
	return r;
}

_Noreturn void payload_main(const struct payload *p)
{
	static struct run x;
	struct jail_report report = { 0 };
	struct fault f = { 0 };
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	x = (struct run){ .payload = p, .sock = high_fd(p->sock), .tty = -1,
		.landlock = -1 };
	x.child_fd = high_fd(signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK));
	int r = x.child_fd < 0 ? setup_fail(&f, -errno, "signal descriptor", NULL) :
		enter_group(p->door, &f);
	/* Through init's /proc, which shows this process too: Landlock will forbid it later. */
	x.oom_fd = open_oom();
	if (!r && p->plan->is_weak)
		r = weak_walls(p->plan, &report, &x.landlock, &f);
	else if (!r)
		r = setup_exec(p->plan, &report, &f);
	if (x.landlock >= 0)
		x.landlock = high_fd(x.landlock);
	say_ready(p, &report, r, &f);
	if (r < 0)
		_exit(1);
	/* The memory for a message is touched now and not when it arrives. */
	memset(text_reserve(&x.message.room, MSG_INLINE_BYTES), 0, 4096);
	struct pollfd polls[2] = { { x.sock, POLLIN, 0 }, { x.child_fd, POLLIN, 0 } };
	for (;;) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			leave(&x);
		if (polls[1].revents)
			reap(&x);
		if (polls[0].revents)
			take_message(&x);
	}
}
