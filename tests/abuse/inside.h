/* What the probes share. A probe performs raw system calls and prints a line for each attempt. */
#pragma once

#include <stddef.h>

struct probe {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the first word after the name */
};

extern const struct probe call_probes[], socket_probes[], process_probes[], file_probes[],
	fuzz_probes[];

/* Prints "PROBE ATTEMPT OK value", or the name of the error when r is -1. */
void say(const char *attempt, long r, int error);
void say_text(const char *attempt, const char *result, const char *detail);
const char *error_name(int error);
