/* Words for a shell at completion time: names of sessions, runtimes, columns. */
#include <string.h>

#include "cmds.h"
#include "session/runtime.h"

static int put_session(struct store_session *s, void *arg)
{
	FILE *out = arg;

	if (s->spec.name[0])
		fprintf(out, "%s\n", s->spec.name);
	fprintf(out, "%s\n", s->spec.id);
	return 0;
}

static int put_sessions(FILE *out, struct fault *f)
{
	struct store st;
	int r = store_open(&st, f);

	if (r < 0)
		return r;
	r = store_each(&st, put_session, out, f);
	store_close(&st);
	return r;
}

/* With the home directory the versions are known; without one they are asked. */
static void put_runtimes(FILE *out)
{
	auto_text struct text list = { 0 };
	struct store st;
	struct fault f;
	bool has_home = !store_open(&st, &f);

	runtime_list(has_home ? st.dir : -1, "\n", &list);
	if (has_home)
		store_close(&st);
	fprintf(out, "%s\n", text_string(&list));
}

int complete_words(const char *what, const char *name, FILE *out, struct fault *f)
{
	const struct cmd *c = name ? cmd_find(name) : NULL;

	if (!strcmp(what, "session"))
		return put_sessions(out, f);
	if (!strcmp(what, "runtime")) {
		put_runtimes(out);
		return 0;
	}
	if (strcmp(what, "columns") != 0 || !c || !c->columns)
		return fault_set(f, FAULT_USAGE, 0, "__complete: session, runtime, or columns COMMAND");
	for (const struct column *k = c->columns; k->key; k++)
		fprintf(out, "%s\n", k->key);
	return 0;
}
