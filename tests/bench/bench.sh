#!/bin/sh
# The speed rows of this machine, sbx beside its peers, in one table: bench.sh BUILDDIR
#   BENCH_ROWS=1,5   only these rows
# Asserts nothing: the exit code is 0 whatever the times are.
set -eu
here=$(dirname "$(readlink -f "$0")")
build=$(readlink -f "${1:?usage: bench.sh BUILDDIR}")

# On the file system where sessions live by default, for that is a part of the time.
if [ "$(id -u)" = 0 ]; then
	place=/var/lib
else
	place=${XDG_STATE_HOME:-$HOME/.local/state}
	while [ ! -d "$place" ]; do place=$(dirname "$place"); done
fi
top=$(mktemp -d "$place/sbx-bench.XXXXXX")
mkdir "$top/work"
export SBX_HOME="$top/home"
PATH=$build/cmd:$PATH

# shellcheck disable=SC2317 # called by the trap
finish() {
	ids=$(sbx list -q) || ids=
	# shellcheck disable=SC2086 # a list of ids
	[ -z "$ids" ] || sbx rm -f $ids || :
	rm -rf "$top"
}
trap finish EXIT
trap 'exit 130' INT TERM
python3 -B "$here/bench.py" "$build" "$top/work"
