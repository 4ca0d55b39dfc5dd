/*
 * What a client asks of a session that lives, and how it is answered.
 *
 *	session_request_exec(conn, &req, &f);           conn: session_connect
 *	while ((r = session_reply(conn, &reply, &f)) > 0) … reply.kind …
 *	session_reply_done(&reply);
 *
 * A connection carries one request at a time and stays for the next one; closing it cancels a
 * foreground execution that runs on it. The supervisor of a session that goes to sleep hangs up,
 * so whoever keeps one asks with session_exec.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/id.h"
#include "base/text.h"
#include "store/store.h"

enum exec_flag {
	EXEC_WANT_OUTPUT = 1 << 0, /* send output as it comes; may slow the program down */
	EXEC_WANT_JSON = 1 << 1,   /* send the result with output texts */
	EXEC_WANT_STATUS = 1 << 2, /* send the result without them */
	EXEC_WANT_EVENTS = 1 << 3, /* send the journal's lines of this execution */
	EXEC_STDIN = 1 << 4,
	EXEC_TTY = 1 << 5,
	EXEC_FRESH = 1 << 6,       /* a new interpreter first */
	EXEC_LAST = 1 << 7,        /* destroy the session afterwards (run) */
	EXEC_NO_RESULT = 1 << 8,
	EXEC_AGAIN = 1 << 9,       /* set by the supervisor: the request id was used before */
};

#define EXEC_TIMEOUT_DEFAULT UINT64_MAX

struct exec_request {
	uint32_t flags;
	char **argv;            /* a command; NULL: code */
	const char *code;
	size_t n_code;          /* [bytes] */
	const char *language;   /* "": the session's own */
	const char *context;    /* "": main */
	const char *workdir;    /* "": /workspace, or where the interpreter is */
	char **env;             /* K=V */
	char **secret;          /* names whose values are not recorded */
	uint64_t timeout_ms;    /* [ms] 0: none; EXEC_TIMEOUT_DEFAULT: the session's */
	uint64_t cpu_limit_ms;  /* [ms] CPU time; 0: none */
	uint64_t output_keep_bytes; /* [bytes] 0: the session's */
	const char *request_id; /* "": none */
	uint16_t rows, columns;
	const char *term;       /* EXEC_TTY: kind of the caller's terminal; "": not known */
};

/* Faults: LIMIT the request is too long; SYSTEM the supervisor is gone. */
int session_request_exec(int conn, const struct exec_request *r, struct fault *f);

/*
 * session_exec - sends a request over a kept connection, or a new one
 * @conn:  what an earlier call left there, answered to the end; -1: none. A new one takes its
 *         place where its supervisor is gone.
 *
 * A supervisor that dies before it has accepted has run nothing (session_is_gone): the same
 * request may then be sent again.
 *
 * Returns: 0, or negative; conn is -1 then.
 * Faults:  as of session_connect and session_request_exec.
 */
int session_exec(struct store_session *s, const struct exec_request *r, int *conn, struct fault *f);

/* The fault says that the other side has hung up without a word. */
bool session_is_gone(const struct fault *f);

/* A supervisor that dies is replaced; one that dies so often has another problem. */
enum { SESSION_TRIES = 5 };

enum files_kind { FILES_GET, FILES_PUT, FILES_EMPTY, FILES_PROBE };

/* The stream of files comes as SESSION_REPLY_OUTPUT (GET) or goes through session_stdin
 * (PUT); base/stream.h has its format. Faults: as above. */
int session_request_files(int conn, enum files_kind kind, char **argv, struct fault *f);

/* The same on a new connection, of which the ACCEPTED is read already: supervisors that die before
 * it are replaced. Faults: as of session_exec and session_reply. */
int session_files(struct store_session *s, enum files_kind kind, char **argv, int *ret_conn,
	struct fault *f);

/* Tries from inside what must be refused, then ends the session; the answer comes as
 * SESSION_REPLY_OUTPUT, one JSON object. Faults: as above. */
int session_request_probe(int conn, struct fault *f);

/* Ends a kept interpreter; language "": the session's own. Faults: as above. */
int session_request_context_remove(int conn, const char *language, const char *name, struct fault *f);

enum session_reply_kind {
	SESSION_REPLY_ACCEPTED, /* .exec_id */
	SESSION_REPLY_OUTPUT,   /* .stream 1 or 2, .data */
	SESSION_REPLY_STDIN,    /* one more session_stdin may be sent */
	SESSION_REPLY_EVENT,    /* .data: one line */
	SESSION_REPLY_RESULT,   /* the last of an execution */
	SESSION_REPLY_DONE,     /* the last of anything else; .data: its answer */
	SESSION_REPLY_FAULT,    /* the last; f is set and the return value negative instead */
};

struct session_reply {
	enum session_reply_kind kind;
	char exec_id[ID_TEXT];
	uint32_t stream;
	const char *data;
	size_t n;                       /* [bytes] */
	uint32_t exit_code;
	const char *message;            /* one line for stderr; "" */
	const char *value, *traceback;  /* of a cell; "" */
	size_t n_value, n_traceback;    /* [bytes] */
	const char *json, *status_json; /* where asked for, else "" */
	size_t n_json, n_status;        /* [bytes] */
	struct text body;               /* what the pointers point into */
};

void session_reply_done(struct session_reply *r);

/*
 * session_reply - waits for the next reply
 *
 * Returns: 1 a reply; negative failed.
 * Faults:  any kind that the supervisor sent; SYSTEM the supervisor is gone.
 */
int session_reply(int conn, struct session_reply *ret, struct fault *f);

/* The session's answer to one chunk must be awaited (SESSION_REPLY_STDIN) before the next.
 * n = 0 ends it. Faults: SYSTEM. */
int session_stdin(int conn, const void *p, size_t n, struct fault *f);
int session_cancel(int conn, int signal, struct fault *f); /* begins with this signal */
int session_detach(int conn, struct fault *f);             /* answered with DONE; it goes on */
int session_signal(int conn, int signal, struct fault *f);
int session_resize(int conn, uint16_t rows, uint16_t columns, struct fault *f);

enum { SESSION_STDIN_BYTES = 64 * 1024 };
