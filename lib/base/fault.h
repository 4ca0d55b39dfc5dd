/*
 * Failures: how every function of lib/ reports that it could not do its work.
 *
 *	int r = file_replace(dir, "spec.json", text, n, &f);
 *	if (r < 0)
 *		return fault_wrap(&f, "session '%s'", id);
 *
 * 0 is done, negative is failed (-kind; f is set), positive is a result that the
 * called function documents. Negative is forwarded, positive is handled. The caller
 * owns the struct; nothing is allocated and nothing has to be freed.
 */
#pragma once

#include <stddef.h>

enum fault_kind {
	FAULT_NONE,
#define X(name, code, json, text) FAULT_##name,
#include "base/fault.def"
#undef X
	FAULT_MAX,
};

struct fault {
	enum fault_kind kind;
	int sysno;        /* errno, or 0 */
	int line;         /* where it was first seen; shown with SBX_TRACE only */
	const char *file;
	char text[256];   /* one line for people, no newline */
};

/* Fills f and returns -kind. With sysno, the text of the errno is appended. Control characters
 * become '?': arguments may come from anywhere. */
#define fault_set(f, kind, sysno, ...) \
	fault_negative(fault_set_at(f, kind, sysno, __FILE__, __LINE__, __VA_ARGS__))
int fault_set_at(struct fault *f, enum fault_kind kind, int sysno, const char *file, int line,
	const char *format, ...) __attribute__((format(printf, 6, 7), nonnull(1), cold));

/* r, which compilers and analysers may take for negative: what returns a failure always is. */
static inline int fault_negative(int r)
{
	if (r >= 0)
		__builtin_unreachable();
	return r;
}

/*
 * fault_wrap - puts "context: " in front of the text of f
 *
 * Returns: -f->kind. When the line gets too long the context is cut, not the cause.
 */
int fault_wrap(struct fault *f, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(1), cold));

/*
 * fault_import - takes over a struct that another process sent
 * @f:    what arrived; every field is untrusted
 *
 * The kind is range-checked, the text is cut and made printable, an errno that no kernel
 * has, file and line are dropped.
 *
 * Returns: -f->kind; FAULT_BUG stands for a kind that does not exist.
 */
int fault_import(struct fault *f) __attribute__((nonnull(1)));

int fault_exit_code(enum fault_kind kind);
const char *fault_kind_name(enum fault_kind kind);
