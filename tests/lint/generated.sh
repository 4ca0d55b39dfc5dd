#!/bin/sh
# A committed completion is what the program writes now: generated.sh PROGRAM SHELL FILE
set -eu
"$1" __gen "$2" | diff -u "$3" - || { echo "run 'meson compile regen'"; exit 1; }
