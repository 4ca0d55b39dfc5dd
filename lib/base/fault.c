#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"

static const struct {
	int code;
	const char *json;
} kinds[FAULT_MAX] = {
	[FAULT_NONE] = { 0, "none" },
#define X(name, code, json, text) [FAULT_##name] = { code, json },
#include "base/fault.def"
#undef X
};

/* What is put into a text may come from anywhere: it stays one line, and moves no cursor. */
static void make_one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

int fault_set_at(struct fault *f, enum fault_kind kind, int sysno, const char *file, int line,
	const char *format, ...)
{
	va_list ap;
	int n;

	/* The arguments may point into f->text, so the text is built beside it. */
	char text[sizeof f->text];
	va_start(ap, format);
	n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (sysno && n >= 0 && (size_t)n < sizeof text)
		snprintf(text + n, sizeof text - (size_t)n, ": %s", strerror(sysno));
	make_one_line(text);
	if (kind <= FAULT_NONE || kind >= FAULT_MAX)
		kind = FAULT_BUG;
	*f = (struct fault){ .kind = kind, .sysno = sysno, .file = file, .line = line };
	memcpy(f->text, text, sizeof text);
	return -(int)kind;
}

int fault_wrap(struct fault *f, const char *format, ...)
{
	char head[sizeof f->text + 2];
	va_list ap;

	va_start(ap, format);
	vsnprintf(head, sizeof f->text, format, ap);
	va_end(ap);
	make_one_line(head);
	strcat(head, ": ");

	size_t room = sizeof f->text - 1, n_tail = strlen(f->text), n_head = strlen(head);
	if (n_head + n_tail > room)
		n_head = room - n_tail;
	memmove(f->text + n_head, f->text, n_tail + 1);
	memcpy(f->text, head, n_head);
	return -(int)f->kind;
}

/* Source: MAX_ERRNO of Linux. */
enum { SYSNO_MAX = 4095 };

int fault_import(struct fault *f)
{
	if (f->kind <= FAULT_NONE || f->kind >= FAULT_MAX)
		f->kind = FAULT_BUG;
	if (f->sysno < 0 || f->sysno > SYSNO_MAX)
		f->sysno = 0;
	f->file = NULL;
	f->line = 0;
	f->text[sizeof f->text - 1] = 0;
	for (char *p = f->text; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	return -(int)f->kind;
}

int fault_exit_code(enum fault_kind kind)
{
	return kinds[kind].code;
}

const char *fault_kind_name(enum fault_kind kind)
{
	return kinds[kind].json;
}
