/*
 * sbx doctor: what this kernel and user allow, and what sbx will use.
 *
 * Nothing is concluded from a version: a throw-away session is made, and from inside it
 * everything that must be refused is tried.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "fmt/fmt.h"
#include "jail/places.h"
#include "session/client.h"
#include "session/session.h"
#include "ask.h"

struct doctor_args {
	bool json;
};

#define S struct doctor_args
static const struct opt opts[] = {
	OPT_FLAG(S, json, 0, "json", "write one JSON object"),
	{ 0 },
};
#undef S

/* What one look found; walls is the JSON object that the probe inside printed. */
struct findings {
	struct jail_place places[JAIL_PLACES_MAX];
	size_t n_places;
	struct text walls;
	struct fault fault;  /* kind NONE: a jail could be made */
	struct fault weak;   /* as fault, without namespaces */
	struct session_status status;
	struct text fixes[LIMIT_KINDS]; /* what would put a control group behind it */
};

static int read_walls(int conn, struct text *walls, struct fault *f)
{
	struct session_reply reply = { 0 };
	int r = session_request_probe(conn, f);

	while (!r) {
		r = session_reply(conn, &reply, f);
		if (r < 0)
			break;
		if (reply.kind == SESSION_REPLY_DONE)
			break;
		if (reply.kind == SESSION_REPLY_OUTPUT && reply.stream == 1)
			text_put_bytes(walls, reply.data, reply.n);
		r = 0;
	}
	session_reply_done(&reply);
	return r < 0 ? r : 0;
}

static int look(struct cmd_env *env, enum isolation_kind isolation, struct findings *ret,
	struct fault *f)
{
	struct ask_args ask = ASK_DEFAULTS;
	struct session_spec spec = { 0 };
	auto_fd int conn = -1;

	ask.runtime = "shell";
	ask.isolation = isolation;
	int r = ask_resolve(env, &ask, NULL, &spec, f);
	if (r < 0)
		return r;
	spec.class = CLASS_EPHEMERAL;
	r = session_create(&env->store, &spec, &env->session, &conn, f);
	session_spec_done(&spec);
	if (r < 0)
		return r;
	env->has_session = true;
	r = session_wait_ready(conn, f);
	if (!r)
		r = store_status_read(&env->session, f);
	ret->status = env->session.status;
	/* Without namespaces most of them are not there to be tried. */
	if (!r && isolation == ISOLATION_STRONG)
		r = read_walls(conn, &ret->walls, f);
	struct fault other;
	session_remove(&env->session, &other);
	return r;
}

/* --- what to do about it ------------------------------------------------------------------- */

static const char *fix_of(const struct findings *d, int limit)
{
	return strncmp(d->status.enforced_by[limit], "cgroup", 6) && d->fixes[limit].n ?
		text_string(&d->fixes[limit]) : NULL;
}

static void put_limits(const struct findings *d, struct text *t)
{
	json_key(t, "limits");
	json_open(t, '{');
	for (int i = 0; i < LIMIT_KINDS; i++) {
		json_key(t, limit_names[i]);
		json_open(t, '{');
		json_put_string(t, "enforced_by", d->status.enforced_by[i]);
		json_put_string(t, "fix", fix_of(d, i));
		json_close(t, '}');
	}
	json_close(t, '}');
}

static void put_places(const struct findings *d, struct text *t)
{
	json_key(t, "places");
	json_open(t, '{');
	for (size_t i = 0; i < d->n_places; i++) {
		const struct jail_place *p = &d->places[i];
		json_key(t, p->key);
		json_open(t, '{');
		json_put_bool(t, "held", p->held);
		json_put_bool(t, "needed", p->is_needed);
		json_put_string(t, "observed", p->observed);
		json_put_string(t, "fix", *p->fix ? p->fix : NULL);
		json_close(t, '}');
	}
	json_close(t, '}');
}

static void print_json(const struct cmd_env *env, const struct findings *d)
{
	auto_text struct text t = { 0 };
	struct utsname u;

	uname(&u);
	json_open(&t, '{');
	json_put_string(&t, "schema", "sbx.doctor/1");
	json_put_string(&t, "version", SBX_VERSION);
	json_put_string(&t, "kernel", u.release);
	json_put_string(&t, "machine", u.machine);
	json_put_int(&t, "uid", geteuid());
	json_put_string(&t, "ids", env->store.id_base ? "block" : "single");
	json_put_bool(&t, "usable", !d->fault.kind);
	json_key(&t, "problem");
	json_string(&t, d->fault.kind ? d->fault.text : NULL);
	put_places(d, &t);
	json_key(&t, "weak");
	json_open(&t, '{');
	json_put_bool(&t, "usable", !d->weak.kind);
	json_put_string(&t, "problem", d->weak.kind ? d->weak.text : NULL);
	json_close(&t, '}');
	if (!d->fault.kind) {
		json_key(&t, "walls");
		json_raw(&t, d->walls.data, d->walls.n);
		json_key(&t, "jail");
		json_raw(&t, d->status.jail, strlen(d->status.jail));
		put_limits(d, &t);
	}
	json_close(&t, '}');
	puts(text_string(&t));
}

static void print_walls(const struct fmt_value *walls, unsigned *held, unsigned *all)
{
	FMT_EACH(w, walls) {
		bool holds = fmt_bool(fmt_get(w, "held"), false);
		(*all)++;
		*held += holds;
		printf("  %-4s %-24s %s\n", holds ? "ok" : "BAD", w->key,
			fmt_string(fmt_get(w, "observed"), ""));
	}
}

/* A wall that does not hold is for scripts to see, too. */
static bool all_hold(const struct findings *d)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	if (fmt_parse_json("the probe", text_string(&d->walls), d->walls.n, &doc, &f) < 0)
		return false;
	FMT_EACH(w, fmt_root(doc))
		if (!fmt_bool(fmt_get(w, "held"), false))
			return false;
	return true;
}

static void print_places(const struct findings *d)
{
	puts("\nThis place:");
	for (size_t i = 0; i < d->n_places; i++) {
		const struct jail_place *p = &d->places[i];
		printf("  %-4s %-24s %s\n", p->held ? "ok" : !p->was_tried ? "-" : p->is_needed ? "BAD" :
			"weak", p->key, p->observed);
		if (*p->fix)
			printf("       fix: %s\n", p->fix);
	}
}

static void print_weak(const struct findings *d)
{
	if (d->weak.kind)
		printf("  -    --isolation weak         %s\n", d->weak.text);
	else
		puts("  ok   --isolation weak         can be made; it is no replacement");
}

/* One line each of what is weaker in the jail than it should be. */
static void print_fallbacks(const struct findings *d)
{
	auto_doc struct fmt_doc *doc = NULL;
	struct fault f;

	if (fmt_parse_json("the jail", d->status.jail, strlen(d->status.jail), &doc, &f) < 0)
		return;
	const char *line = fmt_string(fmt_get(fmt_root(doc), "fallbacks"), "");
	if (*line)
		puts("\nWeaker than it should be:");
	for (; *line; line += strspn(line, "\n")) {
		int n = (int)strcspn(line, "\n");
		printf("  %.*s\n", n, line);
		line += n;
	}
}

static bool has_fix(const struct findings *d, int i, const char *fix)
{
	const char *own = fix_of(d, i);

	return own && !strcmp(own, fix);
}

/* One line for all that the same helps. */
static void print_fixes(const struct findings *d)
{
	for (int i = 0; i < LIMIT_KINDS; i++) {
		const char *fix = fix_of(d, i);
		bool said = false;
		for (int j = 0; fix && j < i; j++)
			said |= has_fix(d, j, fix);
		if (!fix || said)
			continue;
		printf("  fix for %s", limit_names[i]);
		for (int j = i + 1; j < LIMIT_KINDS; j++)
			if (has_fix(d, j, fix))
				printf(", %s", limit_names[j]);
		printf(": %s\n", fix);
	}
}

static int print_text(const struct cmd_env *env, const struct findings *d, struct fault *f)
{
	auto_doc struct fmt_doc *doc = NULL;
	unsigned held = 0, all = 0;
	struct utsname u;

	uname(&u);
	printf(SBX_PROGRAM " %s on %s, as %s\n", SBX_VERSION, u.release,
		env->store.id_base ? "root: a block of 65536 ids" : "an ordinary user: a single id");
	print_places(d);
	print_weak(d);
	if (d->fault.kind) {
		printf("\nNo session can be made here:\n  %s\n", d->fault.text);
		return 0;
	}
	int r = fmt_parse_json("the probe", text_string(&d->walls), d->walls.n, &doc, f);
	if (r < 0)
		return r;
	puts("\nTried from inside:");
	print_walls(fmt_root(doc), &held, &all);
	puts("\nLimits:");
	for (int i = 0; i < LIMIT_KINDS; i++)
		printf("  %-28s %s\n", limit_names[i], d->status.enforced_by[i]);
	print_fixes(d);
	print_fallbacks(d);
	printf("\n%u of %u walls hold.\n", held, all);
	return 0;
}

static int run(struct cmd_env *env, const void *p, struct fault *f)
{
	const struct doctor_args *a = p;
	struct findings d = { 0 };

	d.n_places = jail_places(env->store.dir, d.places);
	int r = look(env, ISOLATION_STRONG, &d, &d.fault);

	if (r >= 0) {
		d.fault.kind = FAULT_NONE;
		session_limit_fixes(d.fixes);
	}
	struct findings weak = { 0 };
	if (look(env, ISOLATION_WEAK, &weak, &d.weak) >= 0)
		d.weak.kind = FAULT_NONE;
	r = 0;
	if (a->json)
		print_json(env, &d);
	else
		r = print_text(env, &d, f);
	enum fault_kind kind = d.fault.kind;
	if (!kind && !all_hold(&d))
		kind = FAULT_DENIED;
	text_done(&d.walls);
	for (int i = 0; i < LIMIT_KINDS; i++)
		text_done(&d.fixes[i]);
	/* What was printed says it all; the exit code is for scripts. */
	return r < 0 ? r : fault_exit_code(kind);
}

const struct cmd cmd_doctor = {
	.name = "doctor", .summary = "Try what holds here, and say how to mend what does not",
	.opts = opts, .args_size = sizeof(struct doctor_args), .needs = NEED_STORE, .run = run,
};
