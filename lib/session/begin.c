/* How a supervisor begins: directories, journal, jail, control groups, socket. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/title.h"
#include "session/gate.h"
#include "session/runtime.h"
#include "session/spec.h"
#include "session/start.h"
#include "session/super.h"
#include "sys/proc.h"

/* --- the jail ------------------------------------------------------------------------ */

static void note_report(struct super *s)
{
	const struct jail_report *r = &s->report;
	struct session_status *st = &s->session->status;
	auto_text struct text t = { 0 };

	json_open(&t, '{');
	json_put_bool(&t, "overlay_volatile", r->overlay_volatile);
	json_put_bool(&t, "proc_masked", r->proc_masked);
	json_put_bool(&t, "seccomp", r->seccomp);
	json_put_int(&t, "landlock_abi", r->landlock_abi);
	json_put_bool(&t, "userns_limited", r->userns_limited);
	json_put_bool(&t, "sealed", r->sealed);
	json_put_bool(&t, "private_keyring", r->private_keyring);
	json_put_bool(&t, "net_loopback", r->net_loopback);
	json_put_string(&t, "fallbacks", r->fallbacks);
	json_close(&t, '}');
	if (t.n >= sizeof st->jail || !strcmp(st->jail, t.data))
		return;
	memcpy(st->jail, t.data, t.n + 1);
	/* Nobody looks at a session that lives for one command, but doctor, which asks first. */
	if (s->session->spec.class != CLASS_EPHEMERAL || !s->execs)
		super_save_status(s);
}

static void on_ready(struct super *s, const struct jail_event *ev)
{
	struct fault f;

	s->report = ev->report;
	s->root_fd = ev->root_fd;
	if (ev->up_fd >= 0) {
		drop_fd(&s->up_fd);
		s->up_fd = openat(ev->up_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(ev->up_fd);
	}
	s->ready = true;
	overdue_arrived(s);
	note_report(s);
	super_event(s, EVENT_SESSION_READY, NULL);
	super_journal(s, NULL);
	/* What is there now is the baseline of the first scan. Init has attached the idmapped
	 * lower on low by now, but only in its own namespace: here it is the plain directory. */
	changes_scan(s->changes, s->up_fd, s->lower_fd, NULL, &f);
	for (struct conn *c = s->conns; c; c = c->next)
		if (c->waits_ready)
			conn_done(c, NULL);
}

static void on_spare(struct super *s, struct jail_exec *x)
{
	s->spare_asked = false;
	overdue_arrived(s);
	s->n_spare_failures = 0;
	s->spare = x;
	exec_start_waiting(s);
	warm_want(s);
}

/* What was not accepted has not run: its clients give it to the next supervisor. */
static void send_away(struct exec *e)
{
	struct conn *c = e->conn;

	if (e->phase != PHASE_QUEUED)
		return;
	e->conn = NULL;
	if (c) {
		c->exec = NULL;
		conn_free(c);
	}
	repeat_send_away(e);
}

void super_jail_gone(struct super *s)
{
	s->ending = true;
	s->ready = false;
	s->jail_gone = true;
	overdue_arrived(s);
	loop_remove(&s->loop, &s->jail_source);
	for (struct exec *e = s->execs, *next; e; e = next) {
		next = e->next;
		if (e->phase == PHASE_ENDED)
			continue;
		if (s->fault.kind) {
			exec_fail(e, "jail", s->fault.sysno, s->fault.text);
			continue;
		}
		send_away(e);
		if (e->status == EXEC_RUNNING) {
			e->status = EXEC_LOST;
			e->reason = REASON_SIGNAL;
		}
		exec_settle(e);
	}
	/* Who has asked nothing yet is told why no supervisor will do better, else asks the next. */
	for (struct conn *c = s->conns; c; c = c->next) {
		if (!c->waits_ready && (c->has_asked || !s->fault.kind))
			continue;
		/* What was asked of it has not begun: the next supervisor can do it. */
		if (s->fault.kind)
			conn_fault(c, &s->fault);
		else
			conn_free(c);
	}
}

/* Mostly it is the directory's file system that cannot be a layer. */
static void note_failed(struct super *s, const struct fault *f)
{
	const char *base = session_spec_base(&s->session->spec);

	s->fault = *f;
	if (base && !s->ready)
		fault_wrap(&s->fault, "runtime dir:%.100s", base);
}

static void on_jail(void *owner, short revents)
{
	struct super *s = owner;
	struct jail_event ev;
	struct fault f;

	(void)revents;
	for (;;) {
		if (jail_read(s->jail, &ev, &f) < 0) {
			s->fault = f;
			jail_kill(s->jail);
			super_jail_gone(s);
			return;
		}
		switch (ev.kind) {
		case JAIL_EVENT_NONE:
			return;
		case JAIL_EVENT_READY:
			on_ready(s, &ev);
			break;
		case JAIL_EVENT_SPARE:
			on_spare(s, ev.exec);
			break;
		case JAIL_EVENT_REAPED:
			exec_reaped(s, ev.number, &ev.usage);
			context_reaped(s, ev.number, &ev.usage);
			super_spare_lost(s, ev.number);
			cgroup_child_remove(s->cgroup, ev.number);
			break;
		case JAIL_EVENT_FAILED:
			if (ev.number)
				super_spare_failed(s, ev.number, &ev.fault);
			else
				note_failed(s, &ev.fault);
			break;
		case JAIL_EVENT_DEAD:
			super_jail_gone(s);
			return;
		}
	}
}

static int start_cgroup(struct super *s, struct fault *f)
{
	struct session_status *st = &s->session->status;
	const uint64_t *limits = s->session->spec.limits;
	static const enum cgroup_controller controllers[] = {
		[LIMIT_CPU] = CGROUP_CPU, [LIMIT_MEMORY] = CGROUP_MEMORY, [LIMIT_PIDS] = CGROUP_PIDS,
	};
	/* What holds without a controller: polling and rlimits. CPU has nothing. */
	static const char *const otherwise[LIMIT_KINDS] = {
		[LIMIT_CPU] = "none", [LIMIT_MEMORY] = "rlimit", [LIMIT_DISK] = "poll",
		[LIMIT_PIDS] = "rlimit", [LIMIT_NOFILE] = "rlimit",
	};

	s->cgroup_limits = (struct cgroup_limits){ .cpu_milli = limits[LIMIT_CPU],
		.memory_bytes = limits[LIMIT_MEMORY], .pids = limits[LIMIT_PIDS] };
	if (cgroup_make(s->session->spec.id, &s->cgroup_limits, &s->cgroup, f) < 0)
		return -(int)f->kind;
	cgroup_paths(s->cgroup, st->cgroup, sizeof st->cgroup);
	for (int i = 0; i < LIMIT_KINDS; i++) {
		bool has = i == LIMIT_CPU || i == LIMIT_MEMORY || i == LIMIT_PIDS;
		const char *by = has ? cgroup_enforced(s->cgroup, controllers[i]) : "none";
		bool has_other = i != LIMIT_PIDS || s->session->spec.isolation != ISOLATION_WEAK;
		if (!strcmp(by, "none") && has_other)
			by = otherwise[i];
		if (i == LIMIT_DISK && s->session->spec.disk != DISK_PLAIN)
			by = session_disk_names[s->session->spec.disk];
		if (!limits[i])
			by = "none";
		snprintf(st->enforced_by[i], sizeof st->enforced_by[i], "%s", by);
		if ((s->session->spec.require & 1u << i) && !strcmp(by, "none"))
			return fault_set(f, FAULT_DENIED, 0, "the %s limit cannot be enforced here: %s",
				limit_names[i], has ? cgroup_why(s->cgroup, controllers[i]) : "no means");
	}
	return 0;
}

/* The first spare has the number 1. */
static int release_jail(struct super *s, struct fault *f)
{
	int doors[CGROUP_DOORS];
	size_t n;
	int r = cgroup_open_doors(s->cgroup, doors, &n, f);

	if (r < 0)
		return r;
	int door = cgroup_child_make(s->cgroup, 1);
	s->spare_grouped = door >= 0;
	r = jail_release(s->jail, doors, n, door, f);
	for (size_t i = 0; i < n; i++)
		close(doors[i]);
	if (door >= 0)
		close(door);
	return r;
}

/* For one command reading it takes as long as it saves. */
static bool has_compiled_driver(const struct super *s, struct text *t)
{
	const struct session_spec *spec = &s->session->spec;

	return spec->class != CLASS_EPHEMERAL && !spec->runtime_dir &&
		!strncmp(spec->runtime_resolved, "python", 6) &&
		compiled_read(s->store->dir, spec->interpreter, t);
}

static int start_jail(struct super *s, struct fault *f)
{
	struct jail_spec js;
	struct jail_file files[DRIVERS + 1];
	auto_text struct text compiled = { 0 };

	spec_jail(&s->session->spec, s->store->id_base, &js);
	if (js.is_weak) {
		int r = store_session_let_in(s->session, s->store->id_base + JAIL_UID, f);
		if (r < 0)
			return r;
	}
	/* One command has none. */
	for (size_t i = 0; i < js.n_files; i++)
		files[i] = js.files[i];
	js.files = files;
	s->has_compiled = has_compiled_driver(s, &compiled);
	if (s->has_compiled)
		files[js.n_files++] = (struct jail_file){ "python.pyc", compiled.data, compiled.n };
	js.fs_fd = s->fs_fd;
	js.skel_fd = s->lower_fd;
	js.base_fd = s->base_fd;
	js.disk_fd = s->mount_fd;
	int r = jail_start(&js, &s->jail, f);
	drop_fd(&s->mount_fd);
	if (r < 0)
		return r;
	s->disk.tree = jail_pid(s->jail);
	loop_add(&s->loop, &s->jail_source, jail_fd(s->jail), POLLIN, on_jail, s);
	r = start_cgroup(s, f);
	if (r < 0)
		return r;
	overdue_expect(s);
	return release_jail(s, f);
}

/* --- the socket ---------------------------------------------------------------------- */

static int start_listening(struct super *s, struct fault *f)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "socket");
	start_address(s->session, &a);
	unlinkat(s->session->dir, "ctl", 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 128) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "bind the session's socket");
	s->listen_fd = take_fd(&fd);
	loop_add(&s->loop, &s->listen, s->listen_fd, POLLIN, conn_accept, s);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------ */

static void note_start(struct super *s)
{
	struct session_status *st = &s->session->status;
	int64_t now_us = clock_wall_us();

	/* It was started because somebody wants to use it. */
	start_used(s->session, now_us);
	super_set_expiry(s, now_us);
	st->state = STATE_READY;
	st->pid = getpid();
	st->pid_start_ticks = proc_start_ticks(getpid());
	st->init_pid = jail_pid(s->jail);
	st->init_start_ticks = proc_start_ticks(st->init_pid);
	store_boot_id(st->boot_id);
	super_save_status(s);
}

/* Contexts that lived when the last supervisor died are lost, and this is where it shows. */
static void note_lost(struct super *s)
{
	struct session_status *st = &s->session->status;

	for (uint32_t i = 0; i < st->n_contexts; i++) {
		struct context_state *c = &st->contexts[i];
		if (c->alive)
			snprintf(c->lost, sizeof c->lost, "the session's processes were gone");
		snprintf(s->contexts[i].lost_why, sizeof s->contexts[i].lost_why, "%s", c->lost);
		if (!c->alive)
			continue;
		c->alive = false;
		struct text *t = super_event(s, EVENT_STATE_LOST, NULL);
		json_put_string(t, "context", c->name);
		json_put_string(t, "language", c->language);
		json_put_int(t, "epoch", c->epoch);
		json_put_string(t, "reason", c->lost);
		super_journal(s, NULL);
	}
}

static void note_created(struct super *s)
{
	const struct session_spec *spec = &s->session->spec;
	const char *runtime = session_spec_runtime(spec);

	struct text *t = super_event(s, EVENT_SESSION_CREATED, NULL);
	json_put_name(t, "runtime", runtime, strlen(runtime));
	json_put_string(t, "class", session_class_names[spec->class]);
	if (spec->name[0])
		json_put_string(t, "name", spec->name);
	super_journal(s, NULL);
}

static void note_warning(struct super *s, const char *message)
{
	struct text *t = super_event(s, EVENT_LOG, NULL);

	json_put_string(t, "level", "warning");
	json_put_string(t, "message", message);
	super_journal(s, NULL);
}

static int open_base(struct super *s, struct fault *f)
{
	const char *path = session_spec_base(&s->session->spec);

	if (!path)
		return 0;
	int r = runtime_dir_open(path, s->store->dir, true, NULL, &s->base_fd, f);
	return r < 0 ? fault_wrap(f, "runtime dir:%.150s", path) : 0;
}

/* The upper directory; that of a tmpfs comes from init. */
static int open_up(struct super *s, struct fault *f)
{
	if (s->session->spec.disk == DISK_TMPFS)
		return 0;
	if (s->session->spec.disk == DISK_PLAIN)
		return file_open_dir(s->fs_fd, "up", &s->up_fd, f);
	/* It has run when its status was written, and from then on the image must be there. */
	int r = disk_open(s->session, !s->session->status.boot_id[0], &s->mount_fd, f);
	s->disk_repaired = r == DISK_REPAIRED;
	return r < 0 ? r : file_open_dir(s->mount_fd, "up", &s->up_fd, f);
}

/* The journal of a one-off session would be removed with it. Its client gets the events of
 * the execution. */
static int open_journal(struct super *s, struct fault *f)
{
	bool one_off = s->session->spec.class == CLASS_EPHEMERAL;
	int r = one_off ? 0 : store_session_events(s->session, &s->events_dir, f);

	return r < 0 ? r : journal_open(s->events_dir, &s->journal, f);
}

static int open_all(struct super *s, struct fault *f)
{
	bool other_boot = false;
	int r;

	r = store_session_fs(s->session, &s->fs_fd, f);
	if (!r)
		r = open_up(s, f);
	if (!r)
		r = store_skeleton_open(s->store, s->session->spec.skeleton, &s->lower_fd, f);
	if (!r)
		r = open_base(s, f);
	if (!r)
		r = open_journal(s, f);
	if (r < 0)
		return r;
	if (s->journal.seq == 0)
		return 0;
	r = store_session_fresh_work(s->session, &other_boot, f);
	if (r < 0)
		return r;
	s->files_lost = s->session->spec.disk == DISK_TMPFS;
	if (s->files_lost)
		note_warning(s, "its files were in memory and are gone with the processes it had");
	else if (s->disk_repaired)
		note_warning(s, "its disk was not unmounted in order and was repaired: files may be lost");
	else if (other_boot)
		note_warning(s, "the machine was restarted: files that were not synced may be lost");
	return 0;
}

int super_begin(struct super *s, struct fault *f)
{
	struct fault other;
	int r = open_all(s, f);

	if (r < 0)
		return r;
	r = gate_open(s, f);
	if (r < 0)
		return r;
	s->changes = changes_new(s->store->id_base);
	changes_set_base(s->changes, s->base_fd);
	/* Another kind of disk has a size of its own. */
	watch_disk_init(&s->disk,
		s->session->spec.disk == DISK_PLAIN ? s->session->spec.limits[LIMIT_DISK] : 0);
	/* After a crash: ends are missing, and the groups may still have processes. */
	if (s->session->status.pid)
		mend_executions(s);
	if (s->session->status.cgroup[0])
		cgroup_remove_paths(s->session->status.cgroup, &other);
	r = start_jail(s, f);
	if (!r)
		r = start_listening(s, f);
	if (r < 0)
		return r;
	if (s->journal.seq == 0)
		note_created(s);
	note_lost(s);
	note_start(s);
	s->wants_warm = s->session->spec.preload && s->session->spec.preload[0];
	return 0;
}
