/* Completions for the shells, from the command tables; written to completions/. */
#pragma once

#include <stdio.h>

void gen_bash(FILE *out);
void gen_zsh(FILE *out);
void gen_fish(FILE *out);
