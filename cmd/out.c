#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/number.h"
#include "base/utf8.h"
#include "out.h"

static int choose(struct out *o, const struct column *columns, const char *word, struct fault *f)
{
	const char *keys[COLUMNS_MAX];
	size_t n = 0;

	for (; n < COLUMNS_MAX && columns[n].key; n++) {
		keys[n] = columns[n].key;
		if (strcmp(keys[n], word) != 0)
			continue;
		if (o->n == COLUMNS_MAX)
			return fault_set(f, FAULT_USAGE, 0, "--columns: more than %d", COLUMNS_MAX);
		o->shown[o->n++] = &columns[n];
		return 0;
	}
	const char *near = near_find(word, keys, n);
	return fault_set(f, FAULT_USAGE, 0, "--columns: '%.40s' is no column%s%s%s", word,
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

int out_init(struct out *o, const struct column *columns, const char *names, const char *schema,
	struct fault *f)
{
	*o = (struct out){ .schema = schema };
	for (const struct column *c = columns; !names && c->key && o->n < COLUMNS_MAX; c++)
		if (schema || !c->extra)
			o->shown[o->n++] = c;
	while (names) {
		char word[64];
		size_t n = strcspn(names, ",");
		snprintf(word, sizeof word, "%.*s", (int)(n < 63 ? n : 63), names);
		int r = choose(o, columns, word, f);
		if (r < 0)
			return r;
		names = names[n] ? names + n + 1 : NULL;
	}
	return 0;
}

static bool is_absent(const struct column *c, const void *p)
{
	switch (c->kind) {
	case COLUMN_TEXT:
		return !*(const char *const *)p;
	case COLUMN_UINT:
	case COLUMN_BOOL:
		return false;
	default:
		return !*(const uint64_t *)p;
	}
}

static void put_cell(struct text *t, const struct column *c, const void *p)
{
	char buf[CLOCK_TEXT_MAX + NUMBER_TEXT_MAX];

	switch (c->kind) {
	case COLUMN_TEXT:
		utf8_put_visible(t, *(const char *const *)p, strlen(*(const char *const *)p));
		break;
	case COLUMN_UINT:
		text_format(t, "%" PRIu64, *(const uint64_t *)p);
		break;
	case COLUMN_SIZE:
		text_put(t, number_format_size(*(const uint64_t *)p, buf));
		break;
	case COLUMN_TIME:
		text_put(t, number_format_time(*(const uint64_t *)p, buf));
		break;
	case COLUMN_CPU:
		text_put(t, number_format_cpu(*(const uint64_t *)p, buf));
		break;
	case COLUMN_WHEN:
		clock_format(*(const int64_t *)p, buf);
		strcpy(buf + 19, "Z"); /* whole seconds are enough for people */
		text_put(t, buf);
		break;
	case COLUMN_BOOL:
		text_put(t, *(const bool *)p ? "yes" : "no");
		break;
	}
}

static void put_json(struct text *t, const struct column *c, const void *p)
{
	char buf[CLOCK_TEXT_MAX + NUMBER_TEXT_MAX];

	json_key(t, c->key);
	if (is_absent(c, p))
		json_null(t);
	else if (c->kind == COLUMN_TEXT)
		json_string(t, *(const char *const *)p);
	else if (c->kind == COLUMN_BOOL)
		json_bool(t, *(const bool *)p);
	else if (c->kind == COLUMN_WHEN)
		json_string(t, clock_format(*(const int64_t *)p, buf));
	else if (c->kind == COLUMN_CPU) {
		number_format_cpu(*(const uint64_t *)p, buf);
		json_raw(t, buf, strlen(buf));
	} else
		json_int(t, *(const int64_t *)p);
}

static void row_json(const struct out *o, const char *row)
{
	auto_text struct text t = { 0 };

	json_open(&t, '{');
	json_put_string(&t, "schema", o->schema);
	for (size_t i = 0; i < o->n; i++)
		put_json(&t, o->shown[i], row + o->shown[i]->at);
	json_close(&t, '}');
	puts(t.data);
}

void out_row(struct out *o, const void *row)
{
	const char *p = row;

	if (o->schema) {
		row_json(o, p);
		return;
	}
	for (size_t i = 0; i < o->n; i++) {
		const struct column *c = o->shown[i];
		if (is_absent(c, p + c->at))
			text_put(&o->cells, "-");
		else
			put_cell(&o->cells, c, p + c->at);
		text_put_char(&o->cells, 0);
	}
	o->n_rows++;
}

/* Code points; wide characters are rare in ids and names. */
static size_t cells_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

/* Narrows the widest column that may be cut until the row fits. */
static void fit_terminal(const struct out *o, size_t *widths)
{
	struct winsize w;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_col)
		return;
	for (;;) {
		size_t total = 0, widest = o->n;
		for (size_t i = 0; i < o->n; i++) {
			total += widths[i] + (i ? 2 : 0);
			if (o->shown[i]->width && widths[i] > o->shown[i]->width &&
				(widest == o->n || widths[i] > widths[widest]))
				widest = i;
		}
		if (total <= w.ws_col || widest == o->n)
			return;
		widths[widest]--;
	}
}

static void print_cell(const char *s, size_t width, bool right, bool last)
{
	size_t n = cells_of(s), pad = n < width ? width - n : 0;

	if (right)
		printf("%*s", (int)pad, "");
	if (n > width) {
		size_t at = 0;
		for (size_t seen = 0; s[at]; at++) {
			seen += (s[at] & 0xc0) != 0x80;
			if (seen == width)
				break;
		}
		printf("%.*s…", (int)at, s);
	} else {
		fputs(s, stdout);
	}
	if (!right && !last)
		printf("%*s", (int)pad, "");
	fputs(last ? "\n" : "  ", stdout);
}

static bool is_right(const struct column *c)
{
	return c->kind == COLUMN_UINT || c->kind == COLUMN_SIZE || c->kind == COLUMN_CPU;
}

void out_done(struct out *o)
{
	size_t widths[COLUMNS_MAX];
	const char *s = text_string(&o->cells);

	for (size_t i = 0; i < o->n; i++)
		widths[i] = cells_of(o->shown[i]->head);
	for (size_t k = 0; k < o->n * o->n_rows; k++, s += strlen(s) + 1)
		if (cells_of(s) > widths[k % o->n])
			widths[k % o->n] = cells_of(s);
	fit_terminal(o, widths);
	for (size_t i = 0; i < o->n && !o->schema && o->n_rows; i++)
		print_cell(o->shown[i]->head, widths[i], is_right(o->shown[i]), i + 1 == o->n);
	s = text_string(&o->cells);
	for (size_t k = 0; k < o->n * o->n_rows; k++, s += strlen(s) + 1)
		print_cell(s, widths[k % o->n], is_right(o->shown[k % o->n]),
			k % o->n + 1 == o->n);
	text_done(&o->cells);
	o->n_rows = 0;
}
