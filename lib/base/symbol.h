/* The names of numbers, which not every C library knows. */
#pragma once

/* "ENOENT", or NULL. */
const char *symbol_errno(int number);

/* "KILL", without the SIG in front, or NULL: none, or a real-time one. */
const char *symbol_signal(int number);
