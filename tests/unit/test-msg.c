#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sys/msg.h"

static void test_there_and_back(void **state)
{
	auto_msg struct msg m = { 0 };
	int pair[2], ends[2];

	(void)state;
	assert_int_equal(msg_pair(pair), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(msg_send(pair[0], 7, "body", 4, ends, 2), 0);
	assert_int_equal(msg_receive(pair[1], MSG_TRUSTED, &m), 1);
	assert_int_equal(m.type, 7);
	assert_int_equal(m.n, 4);
	assert_string_equal((char *)m.body, "body");
	auto_fd int first = msg_take_fd(&m, 0);
	assert_true(first >= 0);
	assert_true(fcntl(first, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(msg_take_fd(&m, 0), -1);
	assert_int_equal(msg_take_fd(&m, MSG_FDS), -1);
	/* An empty one, and the end. */
	assert_int_equal(msg_send(pair[0], 8, NULL, 0, NULL, 0), 0);
	close(pair[0]);
	assert_int_equal(msg_receive(pair[1], MSG_TRUSTED, &m), 1);
	assert_int_equal(m.n, 0);
	assert_int_equal(msg_receive(pair[1], MSG_TRUSTED, &m), 0);
	close(pair[1]);
	close(ends[0]);
	close(ends[1]);
}

static void test_long_body(void **state)
{
	auto_msg struct msg m = { 0 };
	size_t n = MSG_INLINE_BYTES * 3;
	auto_free char *long_body = mem_new_array(char, n);
	int pair[2];

	(void)state;
	memset(long_body, 'x', n);
	assert_int_equal(msg_pair(pair), 0);
	assert_int_equal(msg_send(pair[0], 1, long_body, n, NULL, 0), 0);
	assert_int_equal(msg_receive(pair[1], MSG_TRUSTED, &m), 1);
	assert_int_equal(m.n, n);
	assert_memory_equal(m.body, long_body, n);
	/* From inside no descriptor stands for a body. */
	assert_int_equal(msg_send(pair[0], 1, long_body, n, NULL, 0), 0);
	assert_int_equal(msg_receive(pair[1], MSG_HOSTILE, &m), -EBADMSG);
	/* Less than a head. */
	assert_int_equal(send(pair[0], "abc", 3, 0), 3);
	assert_int_equal(msg_receive(pair[1], MSG_TRUSTED, &m), -EBADMSG);
	close(pair[0]);
	close(pair[1]);
}

/* The last word of a peer that hangs up with a message of ours unread. */
static void test_last_word(void **state)
{
	auto_msg struct msg m = { 0 };
	int pair[2];

	(void)state;
	assert_int_equal(msg_pair(pair), 0);
	assert_int_equal(msg_send(pair[0], 1, "more", 4, NULL, 0), 0);
	assert_int_equal(msg_send(pair[1], 2, "done", 4, NULL, 0), 0);
	close(pair[1]);
	assert_int_equal(msg_receive(pair[0], MSG_TRUSTED, &m), 1);
	assert_int_equal(m.type, 2);
	assert_int_equal(msg_receive(pair[0], MSG_TRUSTED, &m), 0);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_long_body),
		cmocka_unit_test(test_last_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
