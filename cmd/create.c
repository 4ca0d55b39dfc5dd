/* sbx create: makes a session and says what it is. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "jail/jail.h"
#include "session/session.h"
#include "ask.h"
#include "describe.h"

struct create_args {
	struct ask_args ask;
	const char *file;
	bool json, quiet, dry_run;
};

#define S struct create_args
static const struct opt opts[] = {
	OPT_TEXT(S, file, 'f', "file", "FILE", COMP_FILE, "read it from YAML or JSON; - is stdin"),
	ASK_LIFE_OPTS(S),
	ASK_OPTS(S),
	OPT_ROW(FLAG, S, json, bool, 0, "json", "write one JSON object", .excl = 1),
	OPT_ROW(FLAG, S, quiet, bool, 'q', "quiet", "write the id and nothing else", .excl = 1),
	OPT_FLAG(S, dry_run, 0, "dry-run", "print the plan of the jail and make nothing"),
	{ 0 },
};
#undef S

static const struct create_args defaults = { .ask = ASK_DEFAULTS };

static void print_plan(struct cmd_env *env, struct session_spec *spec)
{
	auto_text struct text t = { 0 };
	struct jail_spec jail;

	strcpy(spec->id, "dry-run");
	spec_jail(spec, env->store.id_base, &jail);
	jail_plan_print(&jail, &t);
	puts(text_string(&t));
}

/* A limit that was asked for and does not hold is said at once, not when it would matter. */
static void warn_unenforced(const struct store_session *s)
{
	for (int i = 0; i < LIMIT_KINDS; i++)
		if (s->spec.limits[i] && !strcmp(s->status.enforced_by[i], "none"))
			fprintf(stderr, SBX_PROGRAM " create: the %s limit cannot be enforced here; "
				"see '" SBX_PROGRAM " doctor'\n", limit_names[i]);
}

/* What is as it was asked for and may still surprise. */
static void warn_ids(const struct store_session *s)
{
	if (s->spec.foreign_ids)
		fprintf(stderr, SBX_PROGRAM " create: " DESCRIBE_FOREIGN_IDS "\n");
}

/* Said in every case: what was asked for in a script must not be forgotten in its output. */
static void warn_isolation(const struct store_session *s)
{
	if (describe_weak(s))
		fprintf(stderr, SBX_PROGRAM " create: %s\n", describe_weak(s));
}

static void print_session(const struct create_args *a, const struct store_session *s)
{
	auto_text struct text t = { 0 };

	warn_isolation(s);
	if (a->json) {
		describe_session(s, true, &t);
		puts(text_string(&t));
		return;
	}
	puts(s->spec.id);
	if (!a->quiet) {
		warn_unenforced(s);
		warn_ids(s);
	}
}

/* A session that never ran, or that nobody was told of, is none: nothing is left behind. */
static void take_back(struct cmd_env *env)
{
	struct fault other;

	session_remove(&env->session, &other);
}

static void set_ends(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/* A signal that came meanwhile, or 0. */
static int pending_signal(void)
{
	struct timespec none = { 0 };
	sigset_t set;

	set_ends(&set);
	int sig = sigtimedwait(&set, NULL, &none);
	return sig > 0 ? sig : 0;
}

static int make(struct cmd_env *env, const struct create_args *a, struct session_spec *spec,
	struct fault *f)
{
	sigset_t set;
	int conn;

	/* Between the first directory and the printed id is no place to end. */
	set_ends(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	int r = session_create(&env->store, spec, &env->session, &conn, f);
	if (r < 0)
		return r;
	env->has_session = true;
	r = session_wait_ready(conn, f);
	close(conn);
	if (r < 0) {
		take_back(env);
		return r;
	}
	/* The supervisor has written what is in force. */
	r = store_status_read(&env->session, f);
	int sig = pending_signal();
	if (!r && sig)
		r = fault_set(f, FAULT_SYSTEM, 0, "ended by signal %d; the session was taken back", sig);
	if (!r)
		print_session(a, &env->session);
	if (!r && (fflush(stdout) || ferror(stdout)))
		r = fault_set(f, FAULT_SYSTEM, errno, "write its id to standard output");
	if (r < 0)
		take_back(env);
	return r;
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct create_args *a = p;
	struct session_spec spec = { 0 };
	int r = ask_resolve(env, &a->ask, a->file, &spec, f);

	if (r < 0)
		return r;
	if (a->dry_run)
		print_plan(env, &spec);
	else
		r = make(env, a, &spec, f);
	session_spec_done(&spec);
	return r;
}

const struct cmd cmd_create = {
	.name = "create", .summary = "Make a session and print its id",
	.opts = opts, .defaults = &defaults, .args_size = sizeof(struct create_args),
	.needs = NEED_STORE, .run = run,
};
