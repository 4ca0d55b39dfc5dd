#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/number.h"
#include "fmt/fmt.h"
#include "session/config.h"
#include "session/spec.h"

/* Words of one file. */
struct words {
	uint64_t n[CONFIG_CAPS];
};

#define AT(i) ((i) * sizeof(uint64_t))
static const struct fmt_field keys[] = {
	{ "max_sessions", FMT_TYPE_UINT, AT(CONFIG_SESSIONS), 0, CONFIG_SESSIONS_MAX },
	{ "max_disk", FMT_TYPE_SIZE, AT(CONFIG_DISK), 0, SPEC_BYTES_MAX },
	{ "max_execs", FMT_TYPE_UINT, AT(CONFIG_EXECS), 0, CONFIG_EXECS_MAX },
	{ 0 },
};

static const char *const variables[] = {
	[CONFIG_SESSIONS] = "SBX_MAX_SESSIONS", [CONFIG_DISK] = "SBX_MAX_DISK",
	[CONFIG_EXECS] = "SBX_MAX_EXECS",
};

static int parse_number(size_t i, const char *s, uint64_t *ret, struct fault *f)
{
	return keys[i].type == FMT_TYPE_SIZE ?
		number_parse_size(s, keys[i].min, keys[i].max, ret, f) :
		number_parse_uint(s, keys[i].min, keys[i].max, ret, f);
}

/* Where a line of a file is, in front of what is wrong with it. */
static int fail_at(struct fault *f, const char *path, unsigned line, const char *why)
{
	return fault_set(f, FAULT_FORMAT, 0, "%.200s:%u:1: %s", path, line, why);
}

/* Ends the word at s, quoted or not, behind its last character; false when more follows than a
 * comment. */
static bool cut_value(char **s)
{
	char quote = **s == '"' || **s == '\'' ? **s : 0, *end, *rest;

	if (quote) {
		end = strchr(++*s, quote);
		if (!end)
			return false;
		rest = end + 1;
	} else {
		end = rest = *s + strcspn(*s, " \t\r");
	}
	rest += strspn(rest, " \t\r");
	bool is_end = !*rest || (*rest == '#' && rest > end);
	*end = 0;
	return is_end;
}

static int take_line(char *line, const char *path, unsigned n, struct words *w, struct fault *f)
{
	const char *names[CONFIG_CAPS];
	char *value = strchr(line, ':'), why[300];
	struct fault number;
	size_t i;

	if (line[strspn(line, " \t\r")] == 0 || line[strspn(line, " \t")] == '#')
		return 0;
	if (!value || (value[1] != ' ' && value[1] != '\t'))
		return fail_at(f, path, n, "keys and values are expected, one pair a line, as in max_execs: 8");
	*value++ = 0;
	for (i = 0; i < CONFIG_CAPS && strcmp(keys[i].key, line) != 0; i++)
		;
	for (size_t k = 0; k < CONFIG_CAPS; k++)
		names[k] = keys[k].key;
	const char *near = near_find(line, names, CONFIG_CAPS);
	if (i == CONFIG_CAPS)
		return fault_set(f, FAULT_FORMAT, 0, "%.200s:%u:1: '%.40s' is no key here%s%s%s", path, n, line,
			near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	value += strspn(value, " \t");
	if (!cut_value(&value))
		return fail_at(f, path, n, "something follows the value");
	if (!strcmp(value, "null") || !strcmp(value, "~"))
		return 0;
	if (w->n[i] != SPEC_UNSET)
		return fail_at(f, path, n, "this key is here twice");
	if (parse_number(i, value, &w->n[i], &number) == 0)
		return 0;
	snprintf(why, sizeof why, "%s: %.250s", keys[i].key, number.text);
	return fail_at(f, path, n, why);
}

/* Pairs of one key and one number: so much of YAML needs no library, which the program that starts
 * fast has not. */
static int read_lines(char *text, const char *path, struct words *w, struct fault *f)
{
	unsigned n = 1;
	int r = 0;

	for (char *line = text, *next; !r && line; line = next, n++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		r = take_line(line, path, n, w, f);
	}
	return r;
}

static int read_words(char *text, size_t n, const char *path, struct words *w, struct fault *f)
{
	auto_doc struct fmt_doc *doc = NULL;

	if (!fmt_is_json(text, n))
		return strlen(text) == n ? read_lines(text, path, w, f) :
					   fail_at(f, path, 1, "it has a NUL in it");
	int r = fmt_parse_json(path, text, n, &doc, f);
	return r < 0 ? r : fmt_fill(doc, keys, w, f);
}

static int read_file(const char *path, struct config *c, struct fault *f)
{
	struct words w = { { SPEC_UNSET, SPEC_UNSET, SPEC_UNSET } };
	auto_text struct text t = { 0 };
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 :
			fault_set(f, FAULT_SYSTEM, errno, "open %.200s", path);
	int r = fd_read_to_end(fd, LIMIT_SPEC_BYTES, path, &t, f);
	if (!r && t.n)
		r = read_words(t.data, t.n, path, &w, f);
	for (size_t i = 0; !r && i < CONFIG_CAPS; i++) {
		if (w.n[i] == SPEC_UNSET)
			continue;
		c->caps[i].n = w.n[i];
		snprintf(c->caps[i].where, sizeof c->caps[i].where, "%s in %.250s", keys[i].key, path);
	}
	return r;
}

static int read_variable(size_t i, struct config *c, struct fault *f)
{
	const char *s = getenv(variables[i]);
	uint64_t n;

	if (!s || !*s)
		return 0;
	int r = parse_number(i, s, &n, f);
	if (r < 0) {
		f->kind = FAULT_FORMAT;
		return fault_wrap(f, "%s", variables[i]);
	}
	c->caps[i].n = n;
	snprintf(c->caps[i].where, sizeof c->caps[i].where, "%s", variables[i]);
	return 0;
}

/* Where the user's own is; NULL: nowhere. Source: XDG Base Directory Specification 0.8, where a
 * relative path counts for nothing. */
static char *name_own(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg && xdg[0] == '/')
		return mem_format("%s/sbx/config.yaml", xdg);
	return home && home[0] == '/' ? mem_format("%s/.config/sbx/config.yaml", home) : NULL;
}

int config_read(struct config *ret, struct fault *f)
{
	struct config c = { 0 };
	auto_free char *own = name_own();
	int r = read_file("/etc/sbx/config.yaml", &c, f);

	if (!r && own)
		r = read_file(own, &c, f);
	for (size_t i = 0; !r && i < CONFIG_CAPS; i++)
		r = read_variable(i, &c, f);
	if (!r)
		*ret = c;
	return r;
}

int config_refuse(const struct config *c, enum config_cap cap, struct fault *f, const char *format, ...)
{
	char words[300], value[NUMBER_TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof words, format, ap);
	va_end(ap);
	snprintf(value, sizeof value, "%llu", (unsigned long long)c->caps[cap].n);
	if (cap == CONFIG_DISK)
		number_format_size(c->caps[cap].n, value);
	return fault_set(f, FAULT_LIMIT, 0, "%s; the cap is %s (%s)", words, value, c->caps[cap].where);
}
