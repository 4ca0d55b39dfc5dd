/* sbx cp: files into and out of a session. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/stream.h"
#include "pack/pack.h"
#include "session/client.h"
#include "session/session.h"
#include "cmds.h"

struct cp_args {
	bool follow;
};

#define S struct cp_args
static const struct opt opts[] = {
	OPT_FLAG(S, follow, 'L', "follow-link", "follow SRC when it is a link"),
	{ 0 },
};
#undef S

static const struct operand operands[] = {
	{ .name = "SRC", .min = 1, .max = 1, .complete = COMP_FILE },
	{ .name = "DST", .min = 1, .max = 1, .complete = COMP_FILE },
	{ 0 },
};

/* One side, taken apart. */
struct side {
	char *session; /* NULL: a path here */
	const char *path;
};

/* What stands before the first colon names a session if it can; "./a:b" is a path. */
static struct side parse_side(const char *word)
{
	const char *colon = strchr(word, ':');
	auto_free char *id = colon ? mem_bytes(word, (size_t)(colon - word)) : NULL;

	if (!id || !id_is_valid(id))
		return (struct side){ NULL, word };
	return (struct side){ take_ptr(&id), colon + 1 };
}

static bool is_slashed(const char *path)
{
	size_t n = strlen(path);

	return n && path[n - 1] == '/';
}

/* The name that a copy of path has: its last component; "" for the content of a directory. */
static char *base_name(const char *path)
{
	size_t n = strlen(path), from;

	while (n && path[n - 1] == '/')
		n--;
	for (from = n; from && path[from - 1] != '/';)
		from--;
	auto_free char *name = mem_bytes(path + from, n - from);
	return mem_string(!strcmp(name, ".") || !strcmp(name, "..") ? "" : name);
}

/* The directory and the name in it that a copy becomes; as cp(1) and docker-cp(1) do. But a
 * link is gone through only where the caller says so: the copy before may have made it. */
static int find_target(const char *dst, const char *name, int *ret_dir, char **ret_name,
	struct fault *f)
{
	struct stat st, link;
	bool is_dir = !stat(dst, &st) && S_ISDIR(st.st_mode);

	if (is_dir && !is_slashed(dst) && !lstat(dst, &link) && S_ISLNK(link.st_mode))
		return fault_set(f, FAULT_DENIED, 0, "'%.150s' is a link to a directory; '%.50s/' follows it",
			dst, dst);
	if (is_dir) {
		*ret_dir = open(dst, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		*ret_name = mem_string(*name ? name : ".");
	} else {
		auto_free char *own = base_name(dst);
		const char *at = strstr(dst, own);
		/* The last place where it stands: a path may repeat a name. */
		for (const char *next; at && *own && (next = strstr(at + 1, own));)
			at = next;
		auto_free char *parent = mem_bytes(dst, at ? (size_t)(at - dst) : 0);
		*ret_dir = open(*parent ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		*ret_name = is_slashed(dst) ? mem_format("%s/", own) : mem_string(own);
	}
	if (*ret_dir >= 0)
		return 0;
	bool is_denied = errno == EACCES || errno == EPERM || errno == EROFS;
	return fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : is_denied ? FAULT_DENIED : FAULT_SYSTEM,
		errno, "write '%.150s'", dst);
}

static int open_sink(const struct side *src, const char *dst, struct pack_sink **ret, struct fault *f)
{
	auto_free char *name = base_name(src->path), *target = NULL;
	auto_fd int dir = -1;

	if (!strcmp(dst, "-")) {
		if (isatty(1))
			return fault_set(f, FAULT_USAGE, 0, "a tar is not written to a terminal");
		return pack_sink_tar(1, *name ? name : ".", ret, f);
	}
	int r = find_target(dst, name, &dir, &target, f);
	return r < 0 ? r : pack_sink_dir(dir, target, ret, f);
}

static int open_source(const char *src, bool follow, struct pack_source **ret, struct fault *f)
{
	size_t n = strlen(src);

	if (!strcmp(src, "-"))
		return pack_source_tar(0, ret, f);
	follow |= is_slashed(src) || (n > 1 && !strcmp(src + n - 2, "/."));
	return pack_source_path(src, follow, ret, f);
}

/* Some of it could not be copied: said, and not a success. */
static int report(const struct pack_stats *s)
{
	if (!s->skipped)
		return 0;
	fprintf(stderr, SBX_PROGRAM " cp: left out %llu, the first was %s\n",
		(unsigned long long)s->skipped, s->first_skipped);
	return fault_exit_code(FAULT_SYSTEM);
}

/* --- out of a session --------------------------------------------------------------------- */

/* Signals that end this program wait while a file is half written: it has to go first. */
struct stop {
	sigset_t before;
	int fd; /* readable once one has come; -1: they end it as ever */
};

/* What the caller had us ignore stays ignored. */
static struct stop stop_hold(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct stop s = { .fd = -1 };
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < array_size(numbers); i++)
		if (!sigaction(numbers[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, NULL, &s.before);
	s.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.fd >= 0)
		sigprocmask(SIG_BLOCK, &set, NULL);
	return s;
}

/* One that has come was not taken out of the descriptor: it ends the program here. */
static void stop_release(struct stop *s)
{
	drop_fd(&s->fd);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

static int wait_reply(int conn, int stop_fd, struct fault *f)
{
	struct pollfd polls[2] = { { conn, POLLIN, 0 }, { stop_fd, POLLIN, 0 } };

	while (poll(polls, 2, -1) < 0)
		if (errno != EINTR)
			return fault_set(f, FAULT_SYSTEM, errno, "wait for the session");
	return polls[1].revents ? fault_set(f, FAULT_SYSTEM, EINTR, "copy out of the session") : 0;
}

static int receive(int conn, struct pack_sink *k, int stop_fd, struct fault *f)
{
	struct session_reply r = { 0 };
	int e;

	while (!(e = wait_reply(conn, stop_fd, f)) && (e = session_reply(conn, &r, f)) > 0 &&
		r.kind != SESSION_REPLY_DONE) {
		if (r.kind != SESSION_REPLY_OUTPUT || r.stream != 1)
			continue;
		e = pack_feed(k, r.data, r.n, f);
		if (e < 0)
			break;
	}
	session_reply_done(&r);
	return e < 0 ? e : 0;
}

static int copy_out(struct cmd_env *env, const struct side *src, const char *dst, bool follow,
	struct fault *f)
{
	static char follow_word[] = "follow";
	size_t n = strlen(src->path);
	bool through = follow || is_slashed(src->path) || (n > 1 && !strcmp(src->path + n - 2, "/."));
	char *argv[] = { (char *)src->path, through ? follow_word : NULL, NULL };
	struct pack_sink *k = NULL;
	struct pack_stats stats = { 0 };
	struct fault end_fault = { 0 };
	struct stop stop = { .fd = -1 };
	auto_fd int conn = -1;
	int end;

	int r = open_sink(src, dst, &k, f);
	if (!r)
		r = session_files(&env->session, FILES_GET, argv, &conn, f);
	sigprocmask(SIG_BLOCK, NULL, &stop.before);
	/* A pipe may keep us waiting for its reader; and nothing half is left in it. */
	if (!r && strcmp(dst, "-"))
		stop = stop_hold();
	if (!r)
		r = receive(conn, k, stop.fd, f);
	k = pack_sink_end(k, &stats, &end, &end_fault);
	stop_release(&stop);
	if (!r && end < 0) {
		*f = end_fault;
		r = end;
	}
	return r < 0 ? r : report(&stats);
}

/* --- into a session ----------------------------------------------------------------------- */

struct sending {
	int conn;
	struct pack_source *source;
	struct text part;
	size_t at;
	bool may_send, is_last, is_ended; /* is_ended: its end was sent */
	int failed;                       /* of the source */
	struct fault fault;
};

/* One chunk. A source that fails is told to the other side, which then leaves nothing half. */
static int send_chunk(struct sending *s, struct fault *f)
{
	if (s->at == s->part.n && !s->is_last) {
		int r = pack_next(s->source, &s->part, &s->fault);
		s->at = 0;
		s->is_last = r <= 0;
		if (r < 0) {
			s->failed = r;
			stream_put_fault(&s->part, &s->fault);
		}
	}
	size_t n = s->part.n - s->at;
	if (n > SESSION_STDIN_BYTES)
		n = SESSION_STDIN_BYTES;
	s->may_send = false;
	s->is_ended = !n;
	s->at += n;
	return session_stdin(s->conn, s->part.data + s->at - n, n, f);
}

static int on_reply(struct sending *s, const struct session_reply *r, struct stream_reader *answer,
	struct pack_stats *stats, struct fault *f)
{
	struct stream_item it;
	int e = 0;

	if (r->kind == SESSION_REPLY_STDIN)
		s->may_send = true;
	if (r->kind != SESSION_REPLY_OUTPUT || r->stream != 1)
		return 0;
	stream_feed(answer, r->data, r->n);
	while ((e = stream_next(answer, &it, f)) > 0) {
		if (it.entry.kind == STREAM_FAULT) {
			*f = it.fault;
			return -(int)f->kind;
		}
		if (it.entry.kind == STREAM_SKIPPED)
			stats->skipped++;
	}
	return e;
}

static int send_all(struct sending *s, struct pack_stats *stats, struct fault *f)
{
	struct session_reply r = { 0 };
	struct stream_reader answer = { 0 };
	int e = 0;

	while (!e) {
		/* A session that has ended already has said so: its word is read, not ours. */
		if (s->may_send && !s->is_ended)
			(void)send_chunk(s, f);
		e = session_reply(s->conn, &r, f);
		if (e > 0 && r.kind == SESSION_REPLY_DONE)
			break;
		if (e > 0)
			e = on_reply(s, &r, &answer, stats, f);
	}
	session_reply_done(&r);
	stream_reader_done(&answer);
	return e < 0 ? e : 0;
}

static int copy_in(struct cmd_env *env, const char *src, const struct side *dst, bool follow,
	struct fault *f)
{
	auto_free char *name = strcmp(src, "-") ? base_name(src) : mem_string("");
	char *argv[] = { (char *)dst->path, name, NULL };
	struct pack_stats stats = { 0 };
	struct sending s = { .conn = -1, .may_send = true };

	int r = open_source(src, follow, &s.source, f);
	if (!r)
		r = session_files(&env->session, FILES_PUT, argv, &s.conn, f);
	if (!r)
		r = send_all(&s, &stats, f);
	/* What is wrong here comes before what is wrong there because of it. */
	if (s.failed) {
		*f = s.fault;
		r = s.failed;
	}
	if (s.source) {
		const struct pack_stats *own = pack_source_stats(s.source);
		if (own->skipped)
			stats = *own;
	}
	pack_source_free(s.source);
	text_done(&s.part);
	drop_fd(&s.conn);
	return r < 0 ? r : report(&stats);
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct cp_args *a = p;
	struct side src = parse_side(env->words.operands[0]), dst = parse_side(env->words.operands[1]);
	auto_free char *from = src.session, *to = dst.session;

	if (!from == !to)
		return fault_set(f, FAULT_USAGE, 0, "one of SRC and DST must be SESSION:PATH");
	bool is_tar = !strcmp((from ? &dst : &src)->path, "-");
	if (is_tar && !pack_has_tar)
		return more_run(env, "tar", f);
	if (!*(from ? &src : &dst)->path || !*(from ? &dst : &src)->path)
		return fault_set(f, FAULT_USAGE, 0, "a path is empty");
	int r = cmd_open_session(env, from ? from : to, f);
	if (r < 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	return from ? copy_out(env, &src, dst.path, a->follow, f) :
		      copy_in(env, src.path, &dst, a->follow, f);
}

const struct cmd cmd_cp = {
	.name = "cp", .summary = "Copy files into and out of a session",
	.opts = opts, .operands = operands, .args_size = sizeof(struct cp_args), .needs = NEED_STORE,
	.run = run,
};
