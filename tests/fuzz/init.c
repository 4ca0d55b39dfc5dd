/* What the init of a jail sends to the supervisor. */
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "fuzz-inside.h"
#include "jail/host.h"

static void check_event(struct jail_event *e)
{
	fuzz_check(e->kind > JAIL_EVENT_NONE && e->kind <= JAIL_EVENT_DEAD);
	fuzz_check((e->root_fd >= 0) == (e->kind == JAIL_EVENT_READY));
	fuzz_check(!e->exec == (e->kind != JAIL_EVENT_SPARE));
	fuzz_check(e->usage.cpu_us >= 0 && e->usage.max_rss_bytes >= 0);
	for (const char *p = e->report.fallbacks; *p; p++)
		fuzz_check((*p >= 0x20 && *p < 0x7f) || *p == '\n');
	if (e->kind == JAIL_EVENT_FAILED)
		fuzz_check(e->fault.kind > FAULT_NONE && e->fault.kind < FAULT_MAX &&
			!strchr(e->fault.text, '\n'));
	if (e->root_fd >= 0)
		close(e->root_fd);
	jail_exec_free(e->exec);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct fuzz_rest z = { p, n };
	struct jail_event e;
	uint32_t number;
	struct fault f;
	int pair[2], inner;

	fuzz_check(msg_pair(pair) == 0 && fd_set_nonblock(pair[0], 1) == 0);
	struct jail *j = mem_new(struct jail);
	j->sock = pair[0];
	j->pidfd = -1;
	fuzz_check(jail_pair(j, &inner, &number, &f) == 0);
	while (fuzz_send(pair[1], &z)) {
		int r = jail_read(j, &e, &f);
		if (r < 0) { /* the supervisor kills it now */
			fuzz_check(f.kind == FAULT_BUG && strstr(f.text, "wrong message"));
			break;
		}
		if (e.kind == JAIL_EVENT_DEAD)
			break;
		check_event(&e);
	}
	jail_free(j);
	close(pair[1]);
	close(inner);
	return 0;
}
