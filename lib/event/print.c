/* An event for people, and for an event stream of a browser. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "event/event.h"

void event_put_sse(struct text *t, const char *line, size_t n)
{
	enum event_type type;
	uint64_t seq;

	if (event_peek(line, n, &seq, &type))
		text_format(t, "id: %" PRIu64 "\nevent: %s\n", seq, event_type_name(type));
	text_put(t, "data: ");
	size_t from = t->n;
	text_put_bytes(t, line, n);
	/* The writer escapes all of them; a damaged file must not end the field early. */
	for (size_t i = from; i < t->n; i++)
		if (t->data[i] == '\r' || t->data[i] == '\n' || !t->data[i])
			t->data[i] = ' ';
	text_put(t, "\n\n");
}

/* A walk over the members of one object in a line; no recursion, nothing is trusted. */
struct walk {
	const char *p, *end;
};

static void put_code_point(struct text *t, uint32_t c)
{
	char b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		b[i] = (char)(0x80 | (c & 0x3f));
	b[0] = (char)(lead[n] | c);
	text_put_bytes(t, b, n);
}

static bool take_hex(struct walk *w, uint32_t *ret)
{
	char hex[5] = "";
	char *stop;

	if (w->end - w->p < 4)
		return false;
	memcpy(hex, w->p, 4);
	*ret = (uint32_t)strtoul(hex, &stop, 16);
	w->p += 4;
	return stop == hex + 4 && hex[0] != '+' && hex[0] != '-' && hex[0] != ' ';
}

/* Behind a backslash. */
static bool take_escape(struct walk *w, struct text *t)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	uint32_t c, low;

	if (w->p == w->end)
		return false;
	char kind = *w->p++;
	if (kind != 'u') {
		at = kind ? strchr(from, kind) : NULL;
		if (at)
			text_put_char(t, to[at - from]);
		return at;
	}
	if (!take_hex(w, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00 && w->end - w->p >= 6 && !memcmp(w->p, "\\u", 2)) {
		w->p += 2;
		if (!take_hex(w, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	put_code_point(t, c);
	return true;
}

/* A string at its opening quote; t gets its text. */
static bool take_string(struct walk *w, struct text *t)
{
	if (w->p == w->end || *w->p++ != '"')
		return false;
	while (w->p < w->end && *w->p != '"') {
		char c = *w->p++;
		if (c != '\\')
			text_put_char(t, c);
		else if (!take_escape(w, t))
			return false;
	}
	if (w->p == w->end)
		return false;
	w->p++;
	return true;
}

/* Any other value: up to the comma or bracket that ends it. */
static bool take_raw(struct walk *w, struct text *t)
{
	const char *from = w->p;
	size_t depth = 0;
	bool quoted = false;

	for (; w->p < w->end; w->p++) {
		char c = *w->p;
		if (quoted) {
			if (c == '\\' && w->p + 1 < w->end)
				w->p++;
			quoted = c != '"';
		} else if (!depth && (c == ',' || c == '}' || c == ']')) {
			break;
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			depth--;
		}
	}
	text_put_bytes(t, from, (size_t)(w->p - from));
	return w->p < w->end && w->p > from;
}

/* The next member; false at the end, or where the line is no JSON any more. */
static bool take_member(struct walk *w, struct text *key, struct text *value)
{
	text_clear(key);
	text_clear(value);
	if (w->p == w->end || (*w->p != '{' && *w->p != ','))
		return false;
	w->p++;
	if (!take_string(w, key) || w->p == w->end || *w->p++ != ':' || w->p == w->end)
		return false;
	return *w->p == '"' ? take_string(w, value) : take_raw(w, value);
}

bool event_get(const char *line, size_t n, const char *key, struct text *t)
{
	auto_text struct text name = { 0 }, value = { 0 };
	struct walk w = { line, line + n };

	while (take_member(&w, &name, &value))
		if (strcmp(text_string(&name), key) == 0) {
			text_put_bytes(t, text_string(&value), value.n);
			return true;
		}
	return false;
}

static bool is_one_of(const char *key, const char *const *list)
{
	while (*list && strcmp(key, *list) != 0)
		list++;
	return *list;
}

static void put_member(struct text *t, const struct text *key, const struct text *value)
{
	/* The session is known to whoever asked; the type says what these are. */
	static const char *const silent[] = { "session_id", NULL };
	static const char *const bare[] = { "execution_id", "status", "message", "reason", NULL };

	if (is_one_of(text_string(key), silent))
		return;
	text_put_char(t, ' ');
	if (!is_one_of(text_string(key), bare)) {
		utf8_put_visible(t, text_string(key), key->n);
		text_put_char(t, '=');
	}
	utf8_put_visible(t, text_string(value), value->n);
}

void event_put_text(struct text *t, const char *line, size_t n)
{
	auto_text struct text key = { 0 }, value = { 0 };
	struct walk w = { line, line + n };
	enum event_type type;
	uint64_t seq;

	if (!event_peek(line, n, &seq, &type)) {
		utf8_put_visible(t, line, n);
		text_put_char(t, '\n');
		return;
	}
	take_member(&w, &key, &value);
	take_member(&w, &key, &value);
	utf8_put_visible(t, text_string(&value), value.n);
	text_format(t, " %6" PRIu64 " ", seq);
	take_member(&w, &key, &value);
	utf8_put_visible(t, text_string(&value), value.n);
	while (take_member(&w, &key, &value))
		put_member(t, &key, &value);
	text_put_char(t, '\n');
}
