/* Where a session's places really are, when no mount namespace puts them where they belong. */
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "jail/host.h"

static const struct {
	const char *place, *below; /* below the session's fs */
} places[] = { { "/workspace", "up/workspace" }, { "/home/sandbox", "up/home/sandbox" },
	{ "/tmp", "up/tmp" }, { "/var/tmp", "up/var/tmp" }, { "/run/sbx", "run" } };

/* The length of a place that path begins with, 0 without one; *ret is where it is. */
static size_t find_place(const char *path, const char **ret)
{
	for (size_t i = 0; i < array_size(places); i++) {
		size_t n = strlen(places[i].place);
		if (strncmp(path, places[i].place, n) != 0 || !strchr("/:", path[n]))
			continue;
		*ret = places[i].below;
		return n;
	}
	return 0;
}

char *weak_path(const char *root, const char *path)
{
	const char *below;
	size_t n = find_place(path, &below);

	return n ? mem_format("%s/%s%s", root, below, path + n) : mem_string(path);
}

/* NAME=VALUE, where VALUE may be a list of paths. */
static char *map_variable(const char *root, const char *variable)
{
	auto_text struct text t = { 0 };
	const char *at = strchr(variable, '=');

	if (!at)
		return mem_string(variable);
	text_put_bytes(&t, variable, (size_t)(++at - variable));
	for (const char *below;; at++) {
		size_t n = find_place(at, &below);
		if (n)
			text_format(&t, "%s/%s", root, below);
		at += n;
		size_t rest = strcspn(at, ":");
		text_put_bytes(&t, at, rest);
		at += rest;
		if (!*at)
			break;
		text_put_char(&t, ':');
	}
	return mem_string(text_string(&t));
}

static char **map_all(const char *root, char *const *list, char *(*map)(const char *, const char *))
{
	size_t n = 0;

	while (list && list[n])
		n++;
	char **all = mem_new_array(char *, n + 1);
	for (size_t i = 0; i < n; i++)
		all[i] = map(root, list[i]);
	return all;
}

/* A program's arguments are its own, but for the driver that an interpreter is started with. */
static char *map_driver(const char *root, const char *argument)
{
	return strncmp(argument, "/run/sbx/", 9) ? mem_string(argument) : weak_path(root, argument);
}

void weak_command(const char *root, uint32_t id_base, struct jail_command *c)
{
	c->cwd = weak_path(root, c->cwd && *c->cwd ? c->cwd : "/workspace");
	c->argv = map_all(root, c->argv, c->kind == JAIL_RUN ? map_driver : weak_path);
	c->env = map_all(root, c->env, map_variable);
	c->uid += id_base;
	c->gid += id_base;
}

void weak_command_done(struct jail_command *c)
{
	free((char *)c->cwd);
	mem_free_strings((char **)c->argv);
	mem_free_strings((char **)c->env);
}

char *jail_path_inside(const struct jail *j, const char *path)
{
	size_t n = j->weak_root ? strlen(j->weak_root) : 0;
	bool is_below = n && !strncmp(path, j->weak_root, n) && !strncmp(path + n, "/up/", 4);

	return mem_string(is_below ? path + n + 3 : path);
}
