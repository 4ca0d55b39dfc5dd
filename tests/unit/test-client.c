/* What a client is told when its supervisor has hung up before it asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/frame.h"
#include "session/client.h"
#include "session/session.h"
#include "session/wire.h"
#include "sys/msg.h"

static void hang_up_with(int conn, const struct fault *f)
{
	auto_text struct text t = { 0 };

	frame_put_fault(&t, f);
	assert_int_equal(msg_send(conn, WIRE_FAULT, t.data, t.n, NULL, 0), 0);
	close(conn);
}

static void test_its_reason_is_told(void **state)
{
	struct fault said, f;
	int pair[2];

	(void)state;
	assert_int_equal(msg_pair(pair), 0);
	fault_set(&said, FAULT_DENIED, 0, "no namespaces here");
	hang_up_with(pair[1], &said);
	assert_int_equal(session_wait_ready(pair[0], &f), -FAULT_DENIED);
	assert_string_equal(f.text, "no namespaces here");
	assert_false(session_is_gone(&f));
	close(pair[0]);
}

static void test_without_a_reason_it_is_gone(void **state)
{
	struct fault f;
	int pair[2];

	(void)state;
	assert_int_equal(msg_pair(pair), 0);
	close(pair[1]);
	assert_int_equal(session_wait_ready(pair[0], &f), -FAULT_SYSTEM);
	assert_true(session_is_gone(&f));
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_reason_is_told),
		cmocka_unit_test(test_without_a_reason_it_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
