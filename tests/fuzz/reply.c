/* What a supervisor answers to a client. */
#include <string.h>

#include "fuzz-inside.h"
#include "session/client.h"

static void check(const struct session_reply *r)
{
	const char *const parts[] = { r->data, r->value, r->traceback, r->json, r->status_json };
	const size_t lengths[] = { r->n, r->n_value, r->n_traceback, r->n_json, r->n_status };
	unsigned sum = 0;

	fuzz_check(r->kind < SESSION_REPLY_FAULT && strlen(r->exec_id) < ID_TEXT);
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < lengths[i]; k++)
			sum |= (unsigned char)parts[i][k]; /* can be read */
	fuzz_check(sum <= 255);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct session_reply reply = { 0 };
	struct fuzz_rest z = { p, n };
	struct fault f;
	int pair[2];

	fuzz_check(msg_pair(pair) == 0);
	while (fuzz_send(pair[1], &z)) {
		int r = session_reply(pair[0], &reply, &f);
		if (r < 0)
			break;
		check(&reply);
	}
	session_reply_done(&reply);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
