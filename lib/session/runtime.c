#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "session/probe.h"
#include "session/runtime.h"

struct language {
	const char *name;
	const char *const *programs; /* "%u": each number from first to last */
	unsigned first, last;
	uint32_t oldest[2];          /* major, minor */
	unsigned parts;              /* of the version that are part of the name */
};

static const char *const pythons[] = { "python3", "python3.%u", NULL };
static const char *const nodes[] = { "node", "nodejs", "node%u", "node-%u", NULL };
static const char *const shells[] = { "bash", NULL };

/* Oldest: what the drivers need. Source: ast.unparse and positional-only parameters,
 * Python 3.8; node:repl's and fetch's behaviour, Node.js 18. */
static const struct language languages[] = {
	{ "python", pythons, 8, 40, { 3, 8 }, 2 },
	{ "node", nodes, 18, 50, { 18, 0 }, 1 },
	{ "shell", shells, 0, 0, { 0, 0 }, 0 },
};

/* These two are part of every jail, through the host's /usr. */
static const char *const dirs[] = { "/usr/local/bin", "/usr/bin" };

enum { FOUND_MAX = 64 };

struct search {
	struct probe probe;
	const struct language *language;
	struct runtime found[FOUND_MAX]; /* newest first */
	size_t n;
};

static const char *parse_number(const char *s, int32_t *ret)
{
	size_t n = strspn(s, "0123456789");

	if (!n || n > 6)
		return NULL;
	*ret = atoi(s);
	return s + n;
}

bool runtime_parse_name(const char *name, char ret_language[16], int32_t ret_version[3])
{
	int32_t v[3] = { -1, -1, -1 };
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz");
	const char *s = name + n;

	if (!n || n > 15 || (*s && *s != ':'))
		return false;
	for (size_t i = 0; *s; i++) {
		if (i == 3 || *s != (i ? '.' : ':') || !(s = parse_number(s + 1, &v[i])))
			return false;
	}
	memcpy(ret_language, name, n);
	ret_language[n] = 0;
	memcpy(ret_version, v, sizeof v);
	return true;
}

bool runtime_parse_version(const char *answer, uint32_t ret_version[3])
{
	uint32_t v[3] = { 0 };
	const char *s = answer;

	/* Only the first line; what stands in front of the number is the program's name. */
	s += strcspn(s, "0123456789\n");
	for (size_t i = 0; i < 3; i++) {
		int32_t part;
		const char *end = parse_number(s, &part);
		if (!end)
			break;
		v[i] = (uint32_t)part;
		if (*end != '.') {
			/* A version has at least two parts: "Copyright 2022" is none. */
			if (!i)
				return false;
			memcpy(ret_version, v, sizeof v);
			return true;
		}
		s = end + 1;
	}
	if (!v[0] && !v[1])
		return false;
	memcpy(ret_version, v, sizeof v);
	return true;
}

static int compare(const uint32_t a[3], const uint32_t b[3])
{
	for (size_t i = 0; i < 3; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static void put_name(const struct language *l, struct runtime *rt)
{
	snprintf(rt->language, sizeof rt->language, "%s", l->name);
	if (l->parts == 2)
		snprintf(rt->name, sizeof rt->name, "%s:%u.%u", l->name, rt->version[0],
			rt->version[1]);
	else if (l->parts == 1)
		snprintf(rt->name, sizeof rt->name, "%s:%u", l->name, rt->version[0]);
	else
		snprintf(rt->name, sizeof rt->name, "%s", l->name);
}

/* Sorted in; of two with the same version the one found first stays in front. */
static void insert(struct search *s, const struct runtime *rt)
{
	size_t at = s->n;

	while (at && compare(s->found[at - 1].version, rt->version) < 0)
		at--;
	memmove(s->found + at + 1, s->found + at, (s->n - at) * sizeof *s->found);
	s->found[at] = *rt;
	s->n++;
}

static void try_program(struct search *s, const char *dir, const char *program)
{
	struct runtime rt = { 0 };
	char path[300];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", dir, program);
	if (s->n == FOUND_MAX || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return;
	/* Through /etc/alternatives a link may lead anywhere; the jail shows /usr only. */
	auto_free char *real = realpath(path, NULL);
	if (!real || strncmp(real, "/usr/", 5) != 0 || strlen(real) >= sizeof rt.path)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->found[i].path, real))
			return;
	if (!probe_version(&s->probe, real, &st, rt.version))
		return;
	uint32_t oldest[3] = { s->language->oldest[0], s->language->oldest[1], 0 };
	if (compare(rt.version, oldest) < 0)
		return;
	strcpy(rt.path, real);
	put_name(s->language, &rt);
	insert(s, &rt);
}

static void find_all(struct search *s, const struct language *l)
{
	char program[32];

	s->language = l;
	s->n = 0;
	for (size_t d = 0; d < array_size(dirs); d++)
		for (const char *const *p = l->programs; *p; p++) {
			const char *number = strstr(*p, "%u");
			if (!number)
				try_program(s, dirs[d], *p);
			for (unsigned v = l->last; number && v >= l->first; v--) {
				snprintf(program, sizeof program, "%.*s%u", (int)(number - *p), *p, v);
				try_program(s, dirs[d], program);
			}
		}
}

void runtime_list(int home, const char *separator, struct text *t)
{
	struct search s = { .probe.home = home };
	bool first = true;

	for (size_t l = 0; l < array_size(languages); l++) {
		find_all(&s, &languages[l]);
		for (size_t i = 0; i < s.n; i++) {
			if (i && !strcmp(s.found[i].name, s.found[i - 1].name))
				continue;
			text_format(t, "%s%s", first ? "" : separator, s.found[i].name);
			first = false;
		}
	}
	probe_done(&s.probe);
}

static bool is_match(const struct runtime *rt, const int32_t version[3])
{
	for (size_t i = 0; i < 3; i++)
		if (version[i] >= 0 && (uint32_t)version[i] != rt->version[i])
			return false;
	return true;
}

static int fail_missing(int home, const char *name, struct fault *f)
{
	auto_text struct text there = { 0 };

	runtime_list(home, ", ", &there);
	return fault_set(f, FAULT_NOT_FOUND, 0, "%.64s is not here; there is %s", name,
		there.n ? there.data : "none");
}

int runtime_resolve(int home, const char *name, struct runtime *ret, struct fault *f)
{
	struct search s = { .probe.home = home };
	char language[16];
	int32_t version[3];

	if (!runtime_parse_name(name, language, version))
		return fault_set(f, FAULT_USAGE, 0,
			"'%.64s' is no runtime; write it as python, python:3.11, node:20 or shell", name);
	for (size_t l = 0; l < array_size(languages); l++)
		if (!strcmp(languages[l].name, language))
			find_all(&s, &languages[l]);
	probe_done(&s.probe);
	for (size_t i = 0; i < s.n; i++)
		if (is_match(&s.found[i], version)) {
			*ret = s.found[i];
			return 0;
		}
	return fail_missing(home, name, f);
}

int runtime_find_language(int home, const char *language, struct runtime *ret, struct fault *f)
{
	if (strchr(language, ':'))
		return fault_set(f, FAULT_USAGE, 0, "'%.40s' is no language; python, node, shell are",
			language);
	return runtime_resolve(home, language, ret, f);
}
