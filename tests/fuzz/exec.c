/* What an exec-init sends to the supervisor, from each state that it can be in. */
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/mem.h"
#include "fuzz-inside.h"
#include "jail/host.h"

static void check_event(const struct jail_exec_event *e)
{
	fuzz_check(e->kind > JAIL_EXEC_NONE && e->kind <= JAIL_EXEC_DEAD);
	fuzz_check(e->usage.cpu_us >= 0 && e->usage.max_rss_bytes >= 0 && e->sysno >= 0);
	fuzz_check(memchr(e->stage, 0, sizeof e->stage));
	if (e->kind == JAIL_EXEC_ENDED)
		fuzz_check(WIFEXITED(e->status) || WIFSIGNALED(e->status));
	fuzz_check(e->tty_fd < 0 || e->kind == JAIL_EXEC_STARTED);
	if (e->tty_fd >= 0)
		close(e->tty_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct jail j;
	struct fuzz_rest z = { p, n };
	struct jail_exec_event e;
	struct fault f;
	int pair[2];
	uint8_t state = fuzz_take_u8(&z);

	fuzz_check(msg_pair(pair) == 0 && fd_set_nonblock(pair[0], 1) == 0);
	struct jail_exec *x = jail_exec_new(&j, 1, 0, -1, pair[0]);
	x->state = state & 3;
	x->tty = state & 4;
	while (fuzz_send(pair[1], &z)) {
		int r = jail_exec_read(x, &e, &f);
		if (r < 0) { /* the supervisor kills it now */
			fuzz_check(f.kind == FAULT_BUG && strstr(f.text, "wrong message"));
			break;
		}
		if (e.kind == JAIL_EXEC_DEAD)
			break;
		check_event(&e);
	}
	jail_exec_free(x);
	close(pair[1]);
	return 0;
}
