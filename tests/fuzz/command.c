/* A command as an exec-init takes it out of a message. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "fuzz-msg.h"
#include "jail/command.h"

static bool get(const void *p, size_t n, struct msg *m, struct jail_command *c, int *fds)
{
	fuzz_msg(m, 0, p, n);
	return command_get(m, c, fds);
}

static void drop(struct msg *m, struct jail_command *c)
{
	free((void *)c->argv);
	free((void *)c->env);
	msg_done(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	auto_text struct text once = { 0 }, twice = { 0 };
	struct jail_command c, again;
	int fds[MSG_FDS], more[MSG_FDS];
	struct msg m, m2;

	if (get(p, n, &m, &c, fds)) {
		fuzz_check(c.argv[0] && c.n_fds <= MSG_FDS && c.kind <= JAIL_PROBE);
		command_put(&c, &once);
		fuzz_check(get(once.data, once.n, &m2, &again, more));
		command_put(&again, &twice);
		fuzz_check_same(&once, &twice);
		drop(&m2, &again);
	}
	drop(&m, &c);
	return 0;
}
