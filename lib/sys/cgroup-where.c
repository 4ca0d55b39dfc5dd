#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "sys/cgroup-inner.h"

/* Whether word is an element of a comma-separated list of n bytes. */
static bool list_has(const char *list, size_t n, const char *word)
{
	size_t n_word = strlen(word);

	for (const char *end = list + n; list < end;) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t n_here = (size_t)((comma ? comma : end) - list);
		if (n_here == n_word && !memcmp(list, word, n_word))
			return true;
		list += n_here + 1;
	}
	return false;
}

/* The group in "4:memory:/path" of the hierarchy, NULL when it has no line. */
static char *find_group(const char *self, const char *controller)
{
	for (const char *line = self; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, "\n");
		const char *list = memchr(line, ':', n);
		if (!list)
			continue;
		list++;
		const char *path = memchr(list, ':', n - (size_t)(list - line));
		if (!path)
			continue;
		size_t n_list = (size_t)(path++ - list), n_path = n - (size_t)(path - line);
		bool is_v2 = !strncmp(line, "0:", 2) && !n_list;
		if (controller ? list_has(list, n_list, controller) : is_v2)
			return mem_bytes(path, n_path);
	}
	return NULL;
}

/* One word of a line of mountinfo: spaces and such are written as \040. */
static char *unescape(const char *word, size_t n)
{
	char *out = mem_bytes(word, n), *to = out;

	for (size_t i = 0; i < n; i++) {
		const char *p = word + i;
		if (*p == '\\' && n - i > 3 && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
			p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			i += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = 0;
	return out;
}

struct mount {
	const char *root, *point, *type, *options;
	size_t n_root, n_point, n_type, n_options;
};

/* 36 35 98:0 ROOT POINT rw,noatime master:1 - TYPE SOURCE OPTIONS */
static bool parse_mount(const char *line, size_t n, struct mount *ret)
{
	const char *words[64];
	size_t n_words = 0, lengths[64], dash = 0;

	for (size_t i = 0; i < n && n_words < 64;) {
		size_t to = i;
		while (to < n && line[to] != ' ')
			to++;
		words[n_words] = line + i;
		lengths[n_words++] = to - i;
		i = to + 1;
	}
	for (size_t i = 6; i < n_words && !dash; i++)
		if (lengths[i] == 1 && words[i][0] == '-')
			dash = i;
	if (!dash || dash + 3 >= n_words)
		return false;
	*ret = (struct mount){ words[3], words[4], words[dash + 1], words[dash + 3], lengths[3],
		lengths[4], lengths[dash + 1], lengths[dash + 3] };
	return true;
}

static bool is_type(const struct mount *m, const char *type)
{
	return m->n_type == strlen(type) && !memcmp(m->type, type, m->n_type);
}

/* What is left of path behind root: "" or "/…"; NULL when it is not below. */
static const char *below(const char *path, const char *root)
{
	size_t n = strlen(root);

	if (!strcmp(root, "/"))
		return !strcmp(path, "/") ? "" : path;
	if (strncmp(path, root, n))
		return NULL;
	return !path[n] || path[n] == '/' ? path + n : NULL;
}

int cgroup_where(const char *self, const char *mountinfo, const char *controller, char **ret_path,
	char **ret_top)
{
	auto_free char *group = find_group(self, controller);
	int r = -ENOENT;

	if (!group)
		return -ENOENT;
	for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		struct mount m;
		if (!parse_mount(line, strcspn(line, "\n"), &m))
			continue;
		if (controller ? !is_type(&m, "cgroup") || !list_has(m.options, m.n_options, controller)
			       : !is_type(&m, "cgroup2"))
			continue;
		auto_free char *root = unescape(m.root, m.n_root);
		/* In a container the mount may show a part of the hierarchy only, and the own
		 * group ("/../x") may lie outside of it. */
		const char *rest = strstr(group, "/..") ? NULL : below(group, root);
		if (!rest) {
			r = -EXDEV;
			continue;
		}
		char *point = unescape(m.point, m.n_point);
		*ret_path = mem_format("%s%s", point, rest);
		if (ret_top)
			*ret_top = point;
		else
			free(point);
		return 0;
	}
	return r;
}

static bool is_plain(const char *path)
{
	if (path[0] != '/')
		return false;
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		size_t n = strcspn(++p, "/");
		if (!n || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
	}
	return true;
}

bool cgroup_is_below_mount(const char *mountinfo, const char *path)
{
	if (!is_plain(path))
		return false;
	for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		struct mount m;
		if (!parse_mount(line, strcspn(line, "\n"), &m))
			continue;
		if (!is_type(&m, "cgroup") && !is_type(&m, "cgroup2"))
			continue;
		auto_free char *point = unescape(m.point, m.n_point);
		size_t n = strlen(point);
		if (!strncmp(path, point, n) && path[n] == '/')
			return true;
	}
	return false;
}
