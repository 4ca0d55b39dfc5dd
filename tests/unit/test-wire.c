/* What comes from inside is hostile: every message that is not as it should be is refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/mem.h"
#include "jail/host.h"
#include "jail/wire.h"
#include "sys/kernel.h"

struct ends {
	struct jail *jail;
	struct jail_exec *exec;
	int init, exec_init; /* the other side's */
};

static int setup(void **state)
{
	struct ends *x = mem_new(struct ends);
	struct fault f;
	uint32_t number;
	int pair[2];

	assert_int_equal(msg_pair(pair), 0);
	x->jail = mem_new(struct jail);
	x->jail->sock = pair[0];
	x->jail->pidfd = -1;
	x->init = pair[1];
	assert_int_equal(fd_set_nonblock(pair[0], 1), 0);
	assert_int_equal(jail_pair(x->jail, &x->exec_init, &number, &f), 0);
	assert_int_equal(number, 1);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct ends *x = *state;

	jail_exec_free(x->exec);
	jail_free(x->jail);
	close(x->init);
	close(x->exec_init);
	free(x);
	return 0;
}

static void send_numbers(int sock, uint32_t type, const uint32_t *v, size_t n, const char *s, int fd)
{
	auto_text struct text t = { 0 };

	for (size_t i = 0; i < n; i++)
		frame_put_u32(&t, v[i]);
	if (s)
		frame_put_string(&t, s);
	assert_int_equal(msg_send(sock, type, t.data, t.n, &fd, fd >= 0), 0);
}

static void expect_bad(struct ends *x)
{
	struct jail_event e = { .number = 77 };
	struct fault f = { 0 };

	assert_int_equal(jail_read(x->jail, &e, &f), -FAULT_BUG);
	assert_int_equal(e.number, 77); /* untouched */
	assert_non_null(strstr(f.text, "wrong message"));
}

static void send_ready(struct ends *x, const char *text, int fd)
{
	static const uint32_t flags[] = { 1, 1, 1, 1000000, 0, 1, 1 };

	send_numbers(x->init, WIRE_READY, flags, 7, text, fd);
}

static void test_ready(void **state)
{
	struct ends *x = *state;
	struct jail_event e;
	struct fault f;
	char text[600];

	int plain = open("/", O_RDONLY | O_CLOEXEC), root = open("/", O_PATH | O_CLOEXEC),
	    file = open("/proc/self/stat", O_PATH | O_CLOEXEC);
	send_ready(x, "", -1); /* no descriptor */
	expect_bad(x);
	send_ready(x, "", plain); /* one that can be read */
	expect_bad(x);
	send_ready(x, "", file);
	expect_bad(x);
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = 0;
	send_ready(x, text, root);
	expect_bad(x);
	send_ready(x, "a\033[2J\xff" "b\n", root);
	assert_int_equal(jail_read(x->jail, &e, &f), 0);
	assert_int_equal(e.kind, JAIL_EVENT_READY);
	assert_string_equal(e.report.fallbacks, "a?[2J?b\ninit: memfd refused, runs from a file\n");
	assert_int_equal(e.report.landlock_abi, 127);
	close(e.root_fd);
	send_ready(x, "", root); /* twice */
	expect_bad(x);
	close(plain);
	close(root);
	close(file);
}

static void send_spare(struct ends *x, uint32_t number, int fd)
{
	send_numbers(x->init, WIRE_SPARED, &number, 1, NULL, fd);
}

static void test_spare(void **state)
{
	struct ends *x = *state;
	auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_fd int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	send_spare(x, 1, -1);
	expect_bad(x);
	send_spare(x, 2, self); /* not asked for */
	expect_bad(x);
	send_spare(x, 0, self);
	expect_bad(x);
	send_spare(x, 1, null);
	expect_bad(x);
	send_spare(x, 1, self); /* no first process of a namespace below */
	expect_bad(x);
}

static void test_failed(void **state)
{
	static const uint32_t known[] = { 0, FAULT_DENIED, EPERM }, unknown[] = { 0, 4711, 1u << 31 },
		spare[] = { 1, FAULT_SYSTEM, EIO }, other[] = { 9, FAULT_SYSTEM, EIO };
	struct ends *x = *state;
	struct jail_event e;
	struct fault f;

	send_numbers(x->init, WIRE_FAILED, known, 3, "mount \001proc", -1);
	assert_int_equal(jail_read(x->jail, &e, &f), 0);
	assert_int_equal(e.kind, JAIL_EVENT_FAILED);
	assert_memory_equal(e.fault.text, "mount ?proc", 11);
	assert_int_equal(e.fault.kind, FAULT_DENIED);
	send_numbers(x->init, WIRE_FAILED, unknown, 3, "x", -1);
	assert_int_equal(jail_read(x->jail, &e, &f), 0);
	assert_int_equal(e.fault.kind, FAULT_BUG);
	assert_int_equal(e.fault.sysno, 0);
	send_numbers(x->init, WIRE_FAILED, other, 3, "x", -1);
	expect_bad(x);
	send_numbers(x->init, WIRE_FAILED, spare, 3, "x", -1);
	assert_int_equal(jail_read(x->jail, &e, &f), 0);
	assert_int_equal(e.number, 1);
	send_numbers(x->init, WIRE_FAILED, spare, 3, "x", -1); /* its place is free now */
	expect_bad(x);
}

static void test_nonsense(void **state)
{
	static const uint32_t types[] = { 0, WIRE_PLAN, WIRE_START, WIRE_ENDED, 99, ~0u };
	struct ends *x = *state;
	struct jail_event e;
	struct fault f;

	assert_int_equal(jail_read(x->jail, &e, &f), 0);
	assert_int_equal(e.kind, JAIL_EVENT_NONE);
	for (size_t i = 0; i < array_size(types); i++) {
		assert_int_equal(msg_send(x->init, types[i], "abc", 3, NULL, 0), 0);
		expect_bad(x);
	}
	assert_int_equal(send(x->init, "abc", 3, 0), 3); /* no head */
	expect_bad(x);
	close(x->init);
	x->init = -1;
	assert_int_equal(jail_read(x->jail, &e, &f), 0);
	assert_int_equal(e.kind, JAIL_EVENT_DEAD);
}

/* --- an execution ---------------------------------------------------------------------- */

static void start(struct ends *x, bool tty)
{
	struct jail_command c = { .argv = (char *[]){ (char *)"a", NULL }, .uid = JAIL_UID,
		.gid = JAIL_UID, .tty = tty };
	auto_msg struct msg m = { 0 };
	struct fault f;

	x->jail->pending[0].number = 0;
	x->exec = jail_exec_new(x->jail, 1, 0, -1, x->jail->pending[0].sock);
	assert_int_equal(jail_exec_start(x->exec, &c, &f), 0);
	assert_int_equal(msg_receive(x->exec_init, MSG_TRUSTED, &m), 1);
	assert_int_equal(m.type, WIRE_START);
	assert_int_equal(jail_exec_start(x->exec, &c, &f), -FAULT_BUG); /* once only */
}

static void expect_bad_exec(struct ends *x)
{
	struct jail_exec_event e = { .leftovers = 77 };
	struct fault f;

	assert_int_equal(jail_exec_read(x->exec, &e, &f), -FAULT_BUG);
	assert_int_equal(e.leftovers, 77);
}

static void expect_exec(struct ends *x, enum jail_exec_event_kind kind, struct jail_exec_event *e)
{
	struct fault f;

	assert_int_equal(jail_exec_read(x->exec, e, &f), 0);
	assert_int_equal(e->kind, kind);
}

static void send_ended(struct ends *x, uint32_t status, uint32_t high)
{
	uint32_t v[] = { status, 3, 10, high, 4096, 0 };

	send_numbers(x->exec_init, WIRE_ENDED, v, 6, NULL, -1);
}

static void test_exec_order(void **state)
{
	static const uint32_t refused[] = { ENOENT };
	struct ends *x = *state;
	struct jail_exec_event e;

	start(x, false);
	expect_exec(x, JAIL_EXEC_NONE, &e);
	send_ended(x, 0, 0); /* before it started */
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_STARTED, NULL, 0, NULL, -1);
	expect_exec(x, JAIL_EXEC_STARTED, &e);
	send_numbers(x->exec_init, WIRE_STARTED, NULL, 0, NULL, -1);
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_REFUSED, refused, 1, "exec", -1);
	expect_bad_exec(x);
	send_ended(x, 0x7f, 0); /* stopped is no end */
	expect_bad_exec(x);
	send_ended(x, 0, 1u << 31); /* a negative time */
	expect_bad_exec(x);
	send_ended(x, 7 << 8, 0);
	expect_exec(x, JAIL_EXEC_ENDED, &e);
	assert_int_equal(e.leftovers, 3);
	assert_int_equal(e.usage.cpu_us, 10);
	send_ended(x, 0, 0);
	expect_bad_exec(x);
	close(x->exec_init);
	x->exec_init = -1;
	expect_exec(x, JAIL_EXEC_DEAD, &e);
}

static void test_exec_refused(void **state)
{
	static const uint32_t huge[] = { 5000 }, missing[] = { ENOENT };
	struct ends *x = *state;
	struct jail_exec_event e;

	start(x, false);
	send_numbers(x->exec_init, WIRE_REFUSED, huge, 1, "exec", -1);
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_REFUSED, missing, 1, "a name that is too long", -1);
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_REFUSED, missing, 1, NULL, -1);
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_REFUSED, missing, 1, "ex\033c", -1);
	expect_exec(x, JAIL_EXEC_FAILED, &e);
	assert_string_equal(e.stage, "ex?c");
	assert_int_equal(e.sysno, ENOENT);
}

static void test_exec_terminal(void **state)
{
	struct ends *x = *state;
	struct jail_exec_event e;
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC), ptmx = posix_openpt(O_RDWR | O_NOCTTY);

	start(x, true);
	send_numbers(x->exec_init, WIRE_STARTED, NULL, 0, NULL, -1); /* where is it? */
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_STARTED, NULL, 0, NULL, null);
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_STARTED, NULL, 0, NULL, x->init);
	expect_bad_exec(x);
	send_numbers(x->exec_init, WIRE_STARTED, NULL, 0, NULL, ptmx);
	expect_exec(x, JAIL_EXEC_STARTED, &e);
	assert_true(e.tty_fd >= 0);
	close(e.tty_fd);
}

/* A descriptor that nobody asked for is closed, not kept. */
static void test_descriptors_are_not_collected(void **state)
{
	struct ends *x = *state;
	struct jail_event e;
	struct fault f;
	int first = dup(0);

	close(first);
	for (int i = 0; i < 100; i++) {
		int fds[MSG_FDS];
		for (int k = 0; k < MSG_FDS; k++)
			fds[k] = x->init;
		assert_int_equal(msg_send(x->init, 99, NULL, 0, fds, MSG_FDS), 0);
		assert_int_equal(jail_read(x->jail, &e, &f), -FAULT_BUG);
	}
	send_numbers(x->init, 99, NULL, 0, NULL, -1); /* lets go of the last ones */
	assert_int_equal(jail_read(x->jail, &e, &f), -FAULT_BUG);
	int last = dup(0);
	assert_int_equal(last, first);
	close(last);
}

static void test_wrong_commands(void **state)
{
	struct ends *x = *state;
	struct fault f;
	int fds[MSG_FDS + 1] = { 0 };
	struct jail_command c = { .argv = (char *[]){ NULL }, .uid = JAIL_UID, .gid = JAIL_UID };

	x->jail->pending[0].number = 0;
	x->exec = jail_exec_new(x->jail, 1, 0, -1, x->jail->pending[0].sock);
	assert_int_equal(jail_exec_start(x->exec, &c, &f), -FAULT_USAGE);
	c.argv = (char *[]){ (char *)"a", NULL };
	c.uid = 0; /* does not exist in a single map */
	assert_int_equal(jail_exec_start(x->exec, &c, &f), -FAULT_USAGE);
	c.uid = JAIL_UID;
	c.fds = fds;
	c.n_fds = MSG_FDS + 1;
	assert_int_equal(jail_exec_start(x->exec, &c, &f), -FAULT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ready, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spare, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_terminal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_are_not_collected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_commands, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
