/* The terminal of the caller, and the signals that a client of an execution gets. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
	struct termios saved;
	bool wanted;       /* it is to be raw while an execution has it */
	bool has_saved, is_raw;
	int signals;       /* signalfd(2); -1: none */
	sigset_t before;
};

/*
 * terminal_open - holds the signals that a client acts on
 * @raw:  standard input, if it is a terminal, will be handed to the program inside
 *
 * INT, TERM, HUP and QUIT, but those that the caller ignores (nohup(1), a shell's "&"); with raw
 * WINCH, TSTP and CONT, too. Nothing is changed at the terminal yet.
 */
void terminal_open(struct terminal *t, bool raw);

/* Every key goes through from now on. */
void terminal_make_raw(struct terminal *t);

/* As it was. Does not wait for anything, may be called twice. */
void terminal_restore(struct terminal *t);

/* Restores all that was changed, the signals too. */
void terminal_close(struct terminal *t);

/* The next signal that has come; 0: none. */
int terminal_signal(struct terminal *t);

/* Stops this process as its caller asked by SIGTSTP, with the terminal as it was; returns once it
 * goes on. */
void terminal_stop(struct terminal *t);

/* Rows and columns; those of the first ones where it does not know them. */
void terminal_size(uint16_t *ret_rows, uint16_t *ret_columns);
