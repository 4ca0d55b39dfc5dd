/*
 * Times an execution without the start of a client: one for every line of stdin, [ns].
 *
 *	asks SESSION -c CODE | asks SESSION COMMAND...
 *
 * Connects anew each time: a connection carries one request.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session/client.h"
#include "session/session.h"

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int ask(struct store_session *s, const struct exec_request *q, struct fault *f)
{
	struct session_reply reply = { 0 };
	int conn = -1;
	int r = session_exec(s, q, &conn, f);

	while (r >= 0 && reply.kind != SESSION_REPLY_RESULT)
		r = session_reply(conn, &reply, f);
	if (r >= 0 && reply.exit_code)
		r = fault_set(f, FAULT_SYSTEM, 0, "exit code %u", reply.exit_code);
	session_reply_done(&reply);
	if (conn >= 0)
		close(conn);
	return r < 0 ? r : 0;
}

int main(int argc, char **argv)
{
	struct exec_request q = { .flags = EXEC_WANT_OUTPUT, .timeout_ms = EXEC_TIMEOUT_DEFAULT };
	struct store st;
	struct store_session s;
	struct fault f;
	int c, r;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "-c")) {
		q.code = argv[3] ? argv[3] : "";
		q.n_code = strlen(q.code);
	} else {
		q.argv = argv + 2;
	}
	r = store_open(&st, &f);
	if (!r)
		r = store_session_find(&st, argv[1], &s, &f);
	while (!r && (c = getchar()) != EOF) {
		long long start_ns = now_ns();
		if (c != '\n')
			continue;
		r = ask(&s, &q, &f);
		if (!r)
			printf("%lld\n", now_ns() - start_ns);
		fflush(stdout);
	}
	if (r < 0)
		fprintf(stderr, "asks: %s\n", f.text);
	return r < 0;
}
