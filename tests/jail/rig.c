#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "rig.h"

enum { WAIT_MS = 20000, ID_BASE = 0x70000000 };

#define CHECK(what)                                                                       \
	do {                                                                              \
		if (!(what)) {                                                            \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what,     \
				strerror(errno));                                         \
			abort();                                                          \
		}                                                                         \
	} while (0)

static void give(int dir, const char *name, uint32_t id)
{
	if (!geteuid())
		CHECK(!fchownat(dir, name, id, id, AT_SYMLINK_NOFOLLOW));
}

static int make_dir(int dir, const char *name, mode_t mode, uint32_t owner)
{
	CHECK(!mkdirat(dir, name, 0755));
	CHECK(!fchmodat(dir, name, mode, 0));
	give(dir, name, owner);
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static void make_file(int dir, const char *name, const char *content)
{
	auto_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && !fd_write_all(fd, content, strlen(content)));
}

static void make_skeleton(int dir)
{
	static const struct {
		const char *name;
		mode_t mode;
		uint32_t owner;
	} dirs[] = { { "usr", 0755, 0 }, { "proc", 0555, 0 }, { "dev", 0755, 0 }, { "sys", 0555, 0 },
		{ "run", 0755, 0 }, { "run/sbx", 0755, 0 }, { "tmp", 01777, 0 }, { "var", 0755, 0 },
		{ "var/tmp", 01777, 0 }, { "workspace", 0755, 1000 }, { "home", 0755, 0 },
		{ "home/sandbox", 0755, 1000 }, { "etc", 0755, 0 }, { "root", 0700, 0 } };
	static const char *const merged[] = { "bin", "sbin", "lib", "lib64", "lib32" };
	char host[16], target[64];

	for (size_t i = 0; i < array_size(dirs); i++)
		close(make_dir(dir, dirs[i].name, dirs[i].mode, dirs[i].owner));
	for (size_t i = 0; i < array_size(merged); i++) {
		snprintf(host, sizeof host, "/%s", merged[i]);
		ssize_t n = readlink(host, target, sizeof target - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		CHECK(!symlinkat(target, dir, merged[i]));
	}
	make_file(dir, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
		"sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/sh\n");
	make_file(dir, "etc/group", "root:x:0:\nsandbox:x:1000:\n");
}

void rig_make(struct rig *r)
{
	const char *tmp = getenv("TMPDIR");

	*r = (struct rig){ .id_base = geteuid() ? 0 : ID_BASE, .root = -1 };
	umask(022);
	snprintf(r->dir, sizeof r->dir, "%.90s/sbx-rig-XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(r->dir));
	r->top = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(r->top >= 0);
	r->skel = make_dir(r->top, "skel", 0755, 0);
	make_skeleton(r->skel);
	r->fs = make_dir(r->top, "fs", 0755, 0);
	close(make_dir(r->fs, "up", 0755, r->id_base));
	close(make_dir(r->fs, "wk", 0755, r->id_base));
	close(make_dir(r->fs, "root", 0755, 0));
	close(make_dir(r->fs, "low", 0755, 0));
}

void rig_event(struct rig *r, struct jail_event *e)
{
	struct pollfd p = { jail_fd(r->jail), POLLIN, 0 };
	struct fault f;

	for (;;) {
		CHECK(poll(&p, 1, WAIT_MS) == 1);
		if (jail_read(r->jail, e, &f) < 0) {
			fprintf(stderr, "jail: %s\n", f.text);
			abort();
		}
		if (e->kind == JAIL_EVENT_REAPED)
			r->reaped++;
		if (e->kind == JAIL_EVENT_FAILED)
			fprintf(stderr, "jail failed: %s\n", e->fault.text);
		if (e->kind != JAIL_EVENT_NONE)
			return;
	}
}

static void await_spare(struct rig *r)
{
	struct jail_event e;

	while (!r->spare) {
		rig_event(r, &e);
		CHECK(e.kind != JAIL_EVENT_FAILED && e.kind != JAIL_EVENT_DEAD);
		if (e.kind == JAIL_EVENT_READY) {
			r->report = e.report;
			r->root = e.root_fd;
		}
		if (e.kind == JAIL_EVENT_SPARE)
			r->spare = e.exec;
	}
}

void rig_start(struct rig *r)
{
	struct fault f;
	struct jail_spec s = { .id = "sess_rig", .hostname = "rig", .fs_fd = r->fs, .skel_fd = r->skel,
		.id_base = r->id_base, .shm_bytes = 16 << 20, .files = r->files, .n_files = r->n_files };

	if (jail_start(&s, &r->jail, &f) < 0 || jail_release(r->jail, NULL, 0, -1, &f) < 0) {
		fprintf(stderr, "jail_start: %s\n", f.text);
		abort();
	}
	await_spare(r);
}

void rig_open(struct rig *r)
{
	rig_make(r);
	rig_start(r);
}

void rig_stop(struct rig *r)
{
	r->spare = jail_exec_free(r->spare);
	r->jail = jail_free(r->jail);
	drop_fd(&r->root);
	/* The marker of a volatile overlay forbids a second mount with the same wk. */
	char old[32];
	snprintf(old, sizeof old, "wk-%u", ++r->n_old);
	CHECK(!renameat(r->fs, "wk", r->fs, old));
	close(make_dir(r->fs, "wk", 0755, r->id_base));
}

void rig_remove(struct rig *r)
{
	char command[512];

	close(r->top);
	close(r->fs);
	close(r->skel);
	snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", r->dir, r->dir);
	CHECK(!system(command));
}

void rig_close(struct rig *r)
{
	rig_stop(r);
	rig_remove(r);
}

struct jail_exec *rig_take(struct rig *r)
{
	struct fault f;

	await_spare(r);
	CHECK(!jail_want_spare(r->jail, -1, &f));
	return take_ptr(&r->spare);
}

void rig_exec_event(struct jail_exec *x, struct jail_exec_event *e)
{
	struct pollfd p = { jail_exec_fd(x), POLLIN, 0 };
	struct fault f;

	do {
		CHECK(poll(&p, 1, WAIT_MS) == 1);
		if (jail_exec_read(x, e, &f) < 0) {
			fprintf(stderr, "exec: %s\n", f.text);
			abort();
		}
	} while (e->kind == JAIL_EXEC_NONE);
}

struct jail_command rig_default(char *const *argv)
{
	static char *env[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin",
		(char *)"HOME=/home/sandbox", NULL };

	return (struct jail_command){ .argv = argv, .env = env, .uid = JAIL_UID, .gid = JAIL_UID,
		.cwd = "/workspace" };
}

/* Writes the input and reads the output until both ends are through. */
static void pump(int in, const struct text *text, int out, struct text *t)
{
	size_t at = 0;

	while (out >= 0) {
		struct pollfd p[2] = { { out, POLLIN, 0 }, { in, POLLOUT, 0 } };
		CHECK(poll(p, 2, WAIT_MS) > 0);
		if (p[1].revents) {
			ssize_t n = text && at < text->n ? write(in, text->data + at, text->n - at) : 0;
			at += n > 0 ? (size_t)n : 0;
			if (n <= 0)
				drop_fd(&in);
		}
		if (p[0].revents) {
			ssize_t n = read(out, text_reserve(t, 65536), 65536);
			if (n > 0)
				text_grew(t, (size_t)n);
			else
				drop_fd(&out);
		}
	}
	auto_fd_do(&in);
}

void rig_command(struct rig *r, struct rig_end *e, const struct jail_command *command,
	const struct text *in)
{
	struct jail_command c = *command;
	struct jail_exec *x = rig_take(r);
	struct fault f;
	int to[2] = { -1, -1 }, from[2];

	CHECK(!pipe2(from, O_CLOEXEC));
	if (in)
		CHECK(!pipe2(to, O_CLOEXEC) && !fd_set_nonblock(to[1], 1));
	int fds[3] = { to[0], from[1], from[1] };
	if (!c.tty) {
		c.fds = fds;
		c.n_fds = 3;
	}
	if (jail_exec_start(x, &c, &f) < 0) {
		fprintf(stderr, "jail_exec_start: %s\n", f.text);
		abort();
	}
	close(from[1]);
	if (in)
		close(to[0]);
	text_clear(&e->out);
	text_put(&e->out, "");
	pump(to[1], in, from[0], &e->out);
	rig_exec_event(x, &e->event);
	e->started = e->event.kind == JAIL_EXEC_STARTED;
	if (e->started)
		rig_exec_event(x, &e->event);
	jail_exec_free(x);
}

void rig_run(struct rig *r, struct rig_end *e, char *const *argv)
{
	struct jail_command c = rig_default(argv);

	rig_command(r, e, &c, NULL);
}

void rig_shell(struct rig *r, struct rig_end *e, const char *script)
{
	rig_run(r, e, (char *[]){ (char *)"/bin/sh", (char *)"-c", (char *)script, NULL });
}
