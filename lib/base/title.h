/* The name of a long-lived process in ps and top: "sbx: sess_… supervisor". */
#pragma once

/* Remembers where argv and the environment lie; called once, first in main(). */
void title_init(int argc, char **argv);

/* Writes over them (the environment is copied away first) and sets the thread's name. */
void title_set(const char *format, ...) __attribute__((format(printf, 1, 2)));
