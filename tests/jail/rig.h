/*
 * A jail to test with: a skeleton and a session directory below $TMPDIR, made by hand.
 *
 *	struct rig r;
 *	rig_open(&r);
 *	struct rig_end e;
 *	rig_run(&r, &e, (char *[]){ "/bin/sh", "-c", "echo hi", NULL });
 *	assert_string_equal(e.out.data, "hi\n");
 *	rig_close(&r);
 *
 * As root it has a block of ids, as anybody else a single map. All aborts on failure.
 */
#pragma once

#include "base/text.h"
#include "jail/exec.h"

struct rig {
	char dir[128];
	int top, fs, skel;
	uint32_t id_base;
	const struct jail_file *files;
	size_t n_files;
	struct jail *jail;
	struct jail_report report;
	struct jail_exec *spare; /* the one that waits */
	uint32_t reaped, n_old;
	int root;
};

struct rig_end {
	struct text out; /* descriptors 1 and 2 */
	struct jail_exec_event event; /* the last one */
	bool started;
};

/* Makes the directories; starts a jail and waits for its first spare. */
void rig_make(struct rig *r);
void rig_start(struct rig *r);
void rig_open(struct rig *r); /* both */

/* Ends the jail; removes the directories. */
void rig_stop(struct rig *r);
void rig_remove(struct rig *r);
void rig_close(struct rig *r); /* both */

/* The next event of the jail, within some seconds. */
void rig_event(struct rig *r, struct jail_event *e);

/* The spare, once there is one; asks for the next. */
struct jail_exec *rig_take(struct rig *r);

/* Runs a command with stdin from a text or /dev/null, its output in e->out (cleared). */
void rig_command(struct rig *r, struct rig_end *e, const struct jail_command *c, const struct text *in);
void rig_run(struct rig *r, struct rig_end *e, char *const *argv);
void rig_shell(struct rig *r, struct rig_end *e, const char *script);

/* The next event of an execution. */
void rig_exec_event(struct jail_exec *x, struct jail_exec_event *e);

/* A command with the usual environment. */
struct jail_command rig_default(char *const *argv);

/* Makes a jail in a place of its own and says why it could not, instead of aborting. */
int rig_probe(struct fault *f);
