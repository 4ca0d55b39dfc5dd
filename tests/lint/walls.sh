#!/bin/sh
# The program cannot be told to leave a wall of its jail out: it does not know the variable
# that the program of the tests knows. walls.sh WALLS-OFF.C SBX [SBX-WALLS-OFF]
set -eu
source=$1 program=$2 control=${3-}
name=$(sed -n 's/^#define VARIABLE "\(.*\)"$/\1/p' "$source")
[ -n "$name" ] || { echo "$source: no variable is defined"; exit 1; }
if grep -q "$name" "$program"; then echo "$program knows $name"; exit 1; fi
[ -z "$control" ] || grep -q "$name" "$control" || { echo "the control: $control does not know $name"; exit 1; }
