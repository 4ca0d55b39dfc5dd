/*
 * Asks over one kept connection: one execution for every line of stdin.
 *
 *	asks SESSION -c CODE | asks SESSION COMMAND...    its time [ns] to stdout
 *	asks SESSION                                      each line is code; its output, then "= CODE"
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/title.h"
#include "session/client.h"
#include "session/session.h"

enum { TRIES = 3 };

struct asker {
	struct store store;
	struct store_session session;
	struct session_reply reply;
	int conn;
	bool shows;
};

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int follow(struct asker *a, bool *accepted, struct fault *f)
{
	for (;;) {
		int r = session_reply(a->conn, &a->reply, f);
		if (r < 0 || a->reply.kind == SESSION_REPLY_RESULT)
			return r;
		*accepted |= a->reply.kind == SESSION_REPLY_ACCEPTED;
		if (a->shows && a->reply.kind == SESSION_REPLY_OUTPUT)
			fwrite(a->reply.data, 1, a->reply.n, stdout);
	}
}

/* Another supervisor is asked where one died before it accepted. */
static int ask(struct asker *a, const struct exec_request *q, struct fault *f)
{
	bool accepted = false;
	int r = -1;

	for (int i = 0; i < TRIES; i++) {
		r = session_exec(&a->session, q, &a->conn, f);
		if (r >= 0)
			r = follow(a, &accepted, f);
		if (r >= 0 || accepted || !session_is_gone(f))
			break;
	}
	return r;
}

static int time_one(struct asker *a, const struct exec_request *q, struct fault *f)
{
	long long start_ns = now_ns();
	int r = ask(a, q, f);

	if (r >= 0 && a->reply.exit_code)
		return fault_set(f, FAULT_SYSTEM, 0, "exit code %u", a->reply.exit_code);
	if (r >= 0)
		printf("%lld\n", now_ns() - start_ns);
	return r;
}

static int show_one(struct asker *a, struct exec_request *q, struct fault *f)
{
	int r = ask(a, q, f);

	if (r >= 0)
		printf("= %u\n", a->reply.exit_code);
	return r;
}

int main(int argc, char **argv)
{
	struct exec_request q = { .flags = EXEC_WANT_OUTPUT, .timeout_ms = EXEC_TIMEOUT_DEFAULT };
	struct asker a = { .conn = -1, .shows = argc == 2 };
	char line[4096];
	struct fault f;
	int r;

	title_init(argc, argv);
	if (argc < 2)
		return 2;
	if (argc > 3 && !strcmp(argv[2], "-c")) {
		q.code = argv[3];
		q.n_code = strlen(q.code);
	} else if (!a.shows) {
		q.argv = argv + 2;
	}
	r = store_open(&a.store, &f);
	if (!r)
		r = store_session_find(&a.store, argv[1], &a.session, &f);
	while (r >= 0 && fgets(line, sizeof line, stdin)) {
		if (a.shows) {
			q.code = line;
			q.n_code = strlen(line);
		}
		r = a.shows ? show_one(&a, &q, &f) : time_one(&a, &q, &f);
		fflush(stdout);
	}
	session_reply_done(&a.reply);
	if (r < 0)
		fprintf(stderr, "asks: %s\n", f.text);
	return r < 0;
}
