/*
 * One execution as its client: output and input go through, signals become what they mean,
 * the result is shown in the form asked for.
 */
#pragma once

#include "session/client.h"
#include "session/spec.h"

#include "cmds.h"
#include "keys.h"

struct drive {
	const char *command;   /* "exec", for messages */
	bool json, stream;     /* result, or events and result, as JSON on stdout */
	int status_fd;         /* gets the result without output; -1: none */
	bool input, tty;
	struct keys keys;      /* that leave it */
};

/* The options that exec and run share. */
struct drive_args {
	const char *code, *file, *language, *workdir, *request_id, *context, *detach_keys;
	char **secret;
	uint64_t timeout_ms, cpu_limit_ms, status_fd;
	bool fresh, input, tty, json, stream, no_result;
};

#define DRIVE_DEFAULTS \
	{ .timeout_ms = OPT_UNSET, .cpu_limit_ms = OPT_UNSET, .status_fd = OPT_UNSET }

#define DRIVE_OPTS(S)                                                                            \
	OPT_ROW(TEXT, S, drive.code, const char *, 'c', "code", "run code in the kept interpreter", \
		.value = "CODE", .excl = 1),                                                     \
	OPT_ROW(TEXT, S, drive.file, const char *, 'f', "file", "run the code in a file; - is stdin", \
		.value = "FILE", .complete = COMP_FILE, .excl = 1),                              \
	OPT_TEXT(S, drive.language, 0, "lang", "NAME", COMP_NONE,                                \
		"python, node or shell; else by the ending of FILE"),                             \
	OPT_TEXT(S, drive.workdir, 'w', "workdir", "DIR", COMP_NONE, "working directory inside"), \
	OPT_ROW(TIME, S, drive.timeout_ms, uint64_t, 0, "timeout", "end it after this time; 0: never", \
		.value = "TIME", .max = SPEC_TIME_MAX_MS),                                       \
	OPT_ROW(TIME, S, drive.cpu_limit_ms, uint64_t, 0, "cpu-time",                            \
		"end a process after so much CPU time", .value = "TIME", .max = SPEC_TIME_MAX_MS), \
	OPT_FLAG(S, drive.input, 'i', "interactive", "pass standard input on to the command"),   \
	OPT_FLAG(S, drive.tty, 't', "tty", "give it a terminal, and no time limit by default"),   \
	OPT_LIST(S, drive.secret, 0, "secret-env", "NAME", COMP_NONE,                            \
		"keep the value of a variable out of the record"),                               \
	OPT_ROW(FLAG, S, drive.json, bool, 0, "json", "write the result as one JSON object",     \
		.excl = 2),                                                                      \
	OPT_ROW(FLAG, S, drive.stream, bool, 0, "stream", "write events as they happen, then the result", \
		.excl = 2),                                                                      \
	OPT_ROW(UINT, S, drive.status_fd, uint64_t, 0, "status-fd",                              \
		"write the result's status to descriptor N", .value = "N", .max = INT32_MAX),    \
	OPT_FLAG(S, drive.no_result, 0, "no-result", "do not print the value of a last expression")

/* Of those that leave a session behind when they end. */
#define DRIVE_DETACH_OPT(S)                                                                      \
	OPT_TEXT(S, drive.detach_keys, 0, "detach-keys", "KEYS", COMP_NONE,                      \
		"keys that leave it running, as in ctrl-p,ctrl-q")

/* What a request points to; drive_request_done frees it. */
struct drive_code {
	struct text text;
	char **env;
};

/* A request with what the options say, without argv, code and env. Faults: USAGE --status-fd is
 * not open. */
int drive_options(const struct drive_args *a, struct exec_request *ret, struct fault *f);

/*
 * drive_program - puts what is to run into a request
 * @a:        the options: -c, -f
 * @words:    the program, or "-" for code on standard input
 * @own:      keeps the code of a file
 * @q:        gets argv or code
 *
 * Returns: 0, or negative.
 * Faults:  USAGE  neither a command nor code, or both.
 *          NOT_FOUND, SYSTEM, LIMIT  the file with the code cannot be read.
 */
int drive_program(const struct drive_args *a, const struct opt_words *words, struct drive_code *own,
	struct exec_request *q, struct fault *f);

/* Whether a whole request makes sense. Faults: USAGE it asks of a command what only code has,
 * or the other way round. */
int drive_check(const struct exec_request *q, struct fault *f);

void drive_request_done(struct drive_code *own);

/* How it is shown. Faults: USAGE no such keys, or they are asked for without a terminal. */
int drive_init(struct drive *d, const char *command, const struct drive_args *a, struct fault *f);

/*
 * drive_run - sends the request and stays until it has ended
 * @s:     the session, NULL where conn is a connection to it already
 * @conn:  -1, or the connection
 *
 * Returns: the exit code, or negative.
 * Faults:  whatever the supervisor said; SYSTEM it is gone.
 */
int drive_run(const struct drive *d, struct store_session *s, int conn, struct exec_request *q,
	struct fault *f);
