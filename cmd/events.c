/* sbx events: prints and follows the journal of a session. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/near.h"
#include "event/event.h"
#include "cmds.h"

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SSE };

static const char *const formats[] = { "text", "json", "sse", NULL };

struct events_args {
	bool follow, until_idle;
	uint64_t since;
	int format;
	const char *types;
};

#define S struct events_args
static const struct opt opts[] = {
	OPT_FLAG(S, follow, 0, "follow", "wait for more until the session is destroyed"),
	OPT_FLAG(S, until_idle, 0, "until-idle", "wait for more until nothing runs any more"),
	OPT_UINT(S, since, 0, "since", "SEQ", "begin behind this event"),
	OPT_ENUM(S, format, 0, "format", "FORMAT", formats, "how events are written"),
	OPT_TEXT(S, types, 0, "types", "TYPE,...", COMP_NONE, "only events of these types"),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SESSION", .min = 1, .max = 1, .complete = COMP_SESSION },
	{ 0 },
};

/* [bytes] Written at once while there is more to read. */
enum { BATCH_BYTES = 64 * 1024 };

/* [ms] How often --until-idle looks whether the supervisor still lives: one that was killed
 * writes no last event. */
enum { LIVE_CHECK_MS = 1000 };

struct reader {
	const struct events_args *args;
	struct store_session *session;
	struct follow *follow;
	uint64_t types;             /* bit i: type i is wanted */
	struct text out;
	char (*running)[ID_TEXT];   /* executions that have not ended */
	size_t n_running, room;
	bool destroyed, closed;     /* the session; our standard output */
};

static int parse_type(const char *word, uint64_t *types, struct fault *f)
{
	const char *names[EVENT_MAX];

	for (unsigned i = 0; i < EVENT_MAX; i++) {
		names[i] = event_type_name((enum event_type)i);
		if (strcmp(names[i], word) == 0) {
			*types |= 1ull << i;
			return 0;
		}
	}
	const char *near = near_find(word, names, EVENT_MAX);
	return fault_set(f, FAULT_USAGE, 0, "--types: '%.40s' is no type of event%s%s%s", word,
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int parse_types(const char *list, uint64_t *ret, struct fault *f)
{
	uint64_t types = list ? 0 : UINT64_MAX;
	int r = 0;

	while (list && r >= 0) {
		char word[64];
		size_t n = strcspn(list, ",");
		snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word), list);
		r = parse_type(word, &types, f);
		list = list[n] ? list + n + 1 : NULL;
	}
	*ret = types;
	return r;
}

static void note_running(struct reader *rd, const char *id)
{
	if (rd->n_running == rd->room) {
		rd->room = rd->room ? 2 * rd->room : 16;
		rd->running = mem_resized(rd->running, rd->room, sizeof *rd->running);
	}
	snprintf(rd->running[rd->n_running++], ID_TEXT, "%.*s", ID_MAX, id);
}

/* One execution is queued, running, writes output, and ends in exactly one other status. */
static void track(struct reader *rd, const char *line, size_t n)
{
	auto_text struct text id = { 0 }, status = { 0 };
	size_t i = 0;

	if (!event_get(line, n, "execution_id", &id) || !event_get(line, n, "status", &status))
		return;
	bool runs = !strcmp(text_string(&status), "queued") || !strcmp(text_string(&status), "running") ||
		!strcmp(text_string(&status), "output");
	while (i < rd->n_running && strcmp(rd->running[i], text_string(&id)) != 0)
		i++;
	if (runs && i == rd->n_running)
		note_running(rd, text_string(&id));
	if (!runs && i < rd->n_running)
		memmove(rd->running[i], rd->running[--rd->n_running], ID_TEXT);
}

static void put(struct reader *rd, const char *line, size_t n)
{
	if (rd->args->format == FORMAT_SSE) {
		event_put_sse(&rd->out, line, n);
	} else if (rd->args->format == FORMAT_TEXT) {
		event_put_text(&rd->out, line, n);
	} else {
		text_put_bytes(&rd->out, line, n);
		text_put_char(&rd->out, '\n');
	}
}

static void take(struct reader *rd, const char *line, size_t n)
{
	enum event_type type;
	uint64_t seq;

	if (!event_peek(line, n, &seq, &type))
		return;
	rd->destroyed = rd->destroyed || type == EVENT_SESSION_DESTROYED;
	if (rd->args->until_idle && type == EVENT_EXECUTION_UPDATE)
		track(rd, line, n);
	if (seq <= rd->args->since)
		return;
	/* A type of a newer version is shown unless types were chosen. */
	if (type < EVENT_MAX ? rd->types & 1ull << type : rd->types == UINT64_MAX)
		put(rd, line, n);
}

/* A reader of ours that has enough is no failure. */
static int flush(struct reader *rd, struct fault *f)
{
	int r = rd->out.n ? fd_write_all(STDOUT_FILENO, rd->out.data, rd->out.n) : 0;

	text_clear(&rd->out);
	if (r == -EPIPE) {
		rd->closed = true;
		return 0;
	}
	return r < 0 ? fault_set(f, FAULT_SYSTEM, -r, "write standard output") : 0;
}

/* Everything that is there now. */
static int drain(struct reader *rd, struct fault *f)
{
	const char *line;
	size_t n;
	int r;

	while (!rd->closed && (r = follow_next(rd->follow, &line, &n, f)) != 0) {
		if (r < 0)
			return r;
		take(rd, line, n);
		r = rd->out.n > BATCH_BYTES ? flush(rd, f) : 0;
		if (r < 0)
			return r;
	}
	return flush(rd, f);
}

static bool is_idle(const struct reader *rd)
{
	struct fault ignored;
	bool live = true;

	return !rd->n_running ||
		(store_session_is_live(rd->session, &live, &ignored) == 0 && !live);
}

static bool is_over(const struct reader *rd, bool was_idle)
{
	if (rd->closed || rd->destroyed || follow_is_gone(rd->follow))
		return true;
	if (rd->args->until_idle)
		return was_idle;
	return !rd->args->follow;
}

/* For more to read, or for the end of whoever reads us. */
static int wait_more(struct reader *rd, struct fault *f)
{
	struct pollfd p[] = {
		{ .fd = follow_fd(rd->follow), .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	int r = poll(p, 2, rd->args->until_idle ? LIVE_CHECK_MS : -1);

	if (r < 0 && errno != EINTR)
		return fault_set(f, FAULT_SYSTEM, errno, "wait for events");
	rd->closed = r > 0 && p[1].revents & (POLLERR | POLLHUP | POLLNVAL);
	return 0;
}

static int read_on(struct reader *rd, struct fault *f)
{
	for (;;) {
		/* Asked first: what ends between the two is still read. */
		bool idle = rd->args->until_idle && is_idle(rd);
		int r = drain(rd, f);
		if (r < 0)
			return r;
		if (is_over(rd, idle && is_idle(rd)))
			return 0;
		/* It became idle by what was just read: once more without waiting. */
		if (rd->args->until_idle && is_idle(rd))
			continue;
		r = wait_more(rd, f);
		if (r < 0)
			return r;
	}
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct events_args *a = p;
	struct reader rd = { .args = a, .session = &env->session };
	auto_fd int dir = -1;
	/* What runs now may have begun before the events that are asked for. */
	uint64_t since = a->until_idle ? 0 : a->since;
	int r = parse_types(a->types, &rd.types, f);

	if (r >= 0 && env->session.spec.class == CLASS_EPHEMERAL)
		return fault_set(f, FAULT_USAGE, 0, "a one-off session keeps no journal; '" SBX_PROGRAM
			" run --stream' prints its events");
	if (r >= 0)
		r = store_session_events(&env->session, &dir, f);
	if (r >= 0)
		r = follow_open(dir, since, a->follow || a->until_idle, &rd.follow, f);
	if (r < 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	if (a->format == FORMAT_JSON)
		text_put(&rd.out, "{\"schema\":\"" EVENT_SCHEMA "\"}\n");
	r = read_on(&rd, f);
	follow_free(rd.follow);
	text_done(&rd.out);
	free(rd.running);
	return r;
}

const struct cmd cmd_events = {
	.name = "events", .summary = "Print the journal of a session, or follow it",
	.opts = opts, .operands = operands, .args_size = sizeof(struct events_args),
	.needs = NEED_SESSION, .run = run,
};
