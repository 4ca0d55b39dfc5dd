#include "jail/builtin.h"
int files_get(char *const *argv) { (void)argv; return 1; }
int files_put(char *const *argv) { (void)argv; return 1; }
int files_empty(char *const *argv) { (void)argv; return 1; }
int probe_inside(void) { return 1; }
