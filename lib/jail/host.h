/* The host side: what start.c, jail.c and exec.c share. */
#pragma once

#include <stdbool.h>

#include "jail/exec.h"
#include "sys/msg.h"

enum { JAIL_PENDING_MAX = 8 };

struct jail {
	pid_t pid;
	int pidfd, sock;
	bool sealed;
	uint32_t id_base;
	uint32_t n_spares; /* asked for so far; the number of the last one */
	struct {
		uint32_t number; /* 0: free */
		int sock;        /* the host's end */
	} pending[JAIL_PENDING_MAX];
	bool dead;
	bool ready;
	char *weak_root;     /* the path of the session's fs where isolation is weak; else NULL */
	int64_t file_system; /* where the session's files lie, statfs(2) */
	struct msg message;
};

struct jail_exec {
	uint32_t number;
	pid_t pid;
	int pidfd, sock;
	uint32_t id_base;
	char *weak_root; /* as in struct jail */
	enum { EXEC_SPARE, EXEC_ASKED, EXEC_RUNNING, EXEC_OVER } state;
	bool tty;
	struct msg message;
};

/* A descriptor of the program that init is: sealed where the kernel lets us, else a file
 * without a name below dir. Faults: DENIED, SYSTEM. */
int image_open(int dir, bool *ret_sealed, struct fault *f);

/* Puts the cause and the fix behind a failure to make namespaces or mounts, where the
 * session's files lie on a file system of this type (statfs(2)). */
int cause_explain(int64_t file_system, struct fault *f);

/* The cause and the fix alone, or NULL; room may be what it points to. */
const char *cause_find(int64_t file_system, const struct fault *f, char room[160]);

/* The name of a file system that is known not to carry sessions; NULL for any other. */
const char *cause_file_system(int64_t type);

/* While the jail is being started its init may fail before it reads what it is sent: the
 * broken pipe says less than its own message, which replaces it. */
int cause_prefer(struct jail *j, struct fault *f);

/* Makes the pair for one more spare and remembers the host's end; *ret_inner is the other
 * one. Faults: LIMIT, SYSTEM. */
int jail_pair(struct jail *j, int *ret_inner, uint32_t *ret_number, struct fault *f);

/* Puts real paths and ids into a command: of cwd, of variables, of a builtin's arguments. It owns
 * them until weak_command_done. */
void weak_command(const char *root, uint32_t id_base, struct jail_command *c);
void weak_command_done(struct jail_command *c);

/* The real path of one inside; owned. */
char *weak_path(const char *root, const char *path);

/* An execution over an end of a pair and a pidfd, which it takes. */
struct jail_exec *jail_exec_new(const struct jail *j, uint32_t number, pid_t pid, int pidfd,
	int sock);
