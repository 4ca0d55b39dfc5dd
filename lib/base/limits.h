/*
 * Every bound on input, and every default of a session, in one place. Each has its source.
 */
#pragma once

#define KIB (1024ull)
#define MIB (1024ull * KIB)
#define GIB (1024ull * MIB)

/* Longest request body: argv and environment may together take a quarter of the stack
 * limit of 8 MiB (execve(2)), code is bounded by what a person or a model writes. */
#define LIMIT_REQUEST_BYTES (20 * MIB)
#define LIMIT_CODE_BYTES    (16 * MIB)
#define LIMIT_ARGS          65536u

/* A specification or a request in YAML or JSON. Source: the article's is 130 bytes; a
 * request carries code. */
#define LIMIT_SPEC_BYTES    (1 * MIB)

/* One status or record file: a record lists at most LIMIT_FILES_LISTED names. */
#define LIMIT_STATE_BYTES   (64 * MIB)

/* Output text in a result, a stream: head and tail. Source: what a model's context bears;
 * inspect_ai and piston cut at 1 KiB to 10 MiB (field reports). */
#define LIMIT_RESULT_TEXT_BYTES (64 * KIB)

/* Raw output kept on disk an exec, both streams (contract, section 4.6). */
#define DEFAULT_OUTPUT_KEEP_BYTES (256 * MIB)

/* Names in "files" of a result; above it only counts. Source: 3-jail.md G. */
#define LIMIT_FILES_LISTED 1000u

/* Of their paths together. Source: a byte takes up to 8 in JSON, and an answer with two such
 * lists must be no more than LIMIT_REQUEST_BYTES; paths are chosen inside. */
#define LIMIT_FILES_BYTES (512 * KIB)

/* Largest message of a driver inside: result text, traceback, names. Untrusted. */
#define LIMIT_DRIVER_FRAME_BYTES (4 * MIB)

/* Times. Sources: contract sections 4.1, 4.2, 4.19. */
#define DEFAULT_EXEC_TIMEOUT_MS (60ull * 1000)
#define DEFAULT_DORMANT_MS      (60ull * 1000)
#define DEFAULT_IDLE_TASK_MS    (30ull * 60 * 1000)
#define DEFAULT_IDLE_WORKSPACE_MS (24ull * 3600 * 1000)
#define DEFAULT_LIFETIME_MS     (7ull * 24 * 3600 * 1000)
#define REAP_LIMIT_MS           2000
