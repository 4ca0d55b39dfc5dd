/* Reading a tree: every function takes NULL for "not there". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fmt/doc.h"

const struct fmt_value *fmt_root(const struct fmt_doc *doc)
{
	return doc->root;
}

const struct fmt_value *fmt_get(const struct fmt_value *map, const char *key)
{
	if (!map || map->kind != FMT_MAP)
		return NULL;
	FMT_EACH(v, map)
		if (!strcmp(v->key, key))
			return v;
	return NULL;
}

const char *fmt_string(const struct fmt_value *v, const char *fallback)
{
	return v && v->kind == FMT_STRING && strlen(v->text) == v->n ? v->text : fallback;
}

int64_t fmt_int(const struct fmt_value *v, int64_t fallback)
{
	char *end;

	if (!v || v->kind != FMT_NUMBER)
		return fallback;
	errno = 0;
	long long n = strtoll(v->text, &end, 10);
	return errno || *end ? fallback : n;
}

bool fmt_bool(const struct fmt_value *v, bool fallback)
{
	return v && v->kind == FMT_BOOL ? v->text[0] == 't' : fallback;
}

size_t fmt_count(const struct fmt_value *v)
{
	size_t n = 0;

	FMT_EACH(item, v)
		n++;
	return n;
}
