/*
 * What every command gets from the frame, and the list of commands (cmds.def).
 *
 *	static int run(struct cmd_env *env, const void *p, struct fault *f)
 *	{
 *		const struct stop_args *a = p;
 *		…
 *		return 0;           an exit code; negative: f is set, the frame prints it
 *	}
 *
 *	const struct cmd cmd_stop = {
 *		.name = "stop", .summary = "Stop a session; its files stay",
 *		.opts = opts, .operands = operands, .args_size = sizeof(struct stop_args),
 *		.needs = NEED_SESSION, .run = run,
 *	};
 *
 * Option "json" of kind FLAG: a failure is printed as one JSON object on stdout.
 */
#pragma once

#include "store/store.h"

#include "opt.h"
#include "out.h"

struct cmd_env {
	const struct cmd *cmd;
	char **argv;                  /* from the command's name on */
	struct opt_words words;       /* operands, SESSION among them; the program */
	struct store store;           /* NEED_STORE, NEED_SESSION */
	bool has_store, has_session;
	struct store_session session; /* NEED_SESSION, where the operand was given */
};

#define X(name) extern const struct cmd cmd_##name;
#include "cmds.def"
#undef X

/* All of cmds.def, NULL-terminated. */
extern const struct cmd *const cmds[];
#define EACH_CMD(c) for (const struct cmd *const *c##_at = cmds, *c; (c = *c##_at); c##_at++)

/* Opens env->store (and makes it, the first time). Faults: as of store_open. */
int cmd_open_store(struct cmd_env *env, struct fault *f);

/* Opens env->session by id or name; for commands that learn it from elsewhere than their
 * operand. Faults: as of store_session_open; NOT_FOUND names the nearest one. */
int cmd_open_session(struct cmd_env *env, const char *id, struct fault *f);

/*
 * more_run - goes on in the program that is linked with libyaml, json-c and libarchive
 * @what:  what needs it, for the message
 *
 * Nothing that would be done twice may have been done before.
 *
 * Returns: negative, or not at all.
 * Faults:  NOT_FOUND  it is not installed. SYSTEM  it cannot be run.
 */
int more_run(const struct cmd_env *env, const char *what, struct fault *f);

/* Parses and runs one command. argv[0] is its name. Returns the exit code of sbx. */
int cmd_perform(const struct cmd *c, char **argv);

/* Writes what is derived from the tables: "bash", "zsh", "fish", "json", "man" (with a
 * command or alone), or "synopsis" and a command. Faults: USAGE there is no such product. */
int gen(const char *what, const char *name, FILE *out, struct fault *f);

/* Words for a shell: "session", "runtime", or "columns" and a command. Faults: USAGE;
 * as of store_open. */
int complete_words(const char *what, const char *name, FILE *out, struct fault *f);

/* The nearest command name, or NULL. */
const char *cmd_near(const char *word);
const struct cmd *cmd_find(const char *word);
