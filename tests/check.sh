#!/bin/sh
# Builds as developers do (warnings are errors) and with sanitizers, runs every suite, and
# counts single tests: the last line is "N passed, N failed, N skipped".
#   CHECK_FAST=1  leaves the sanitizer build out
set -u
cd "$(dirname "$0")/.." || exit 1
status=0

build() { # DIRECTORY OPTION...
	dir=$1
	shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" "$@" >"$dir.log" 2>&1 ||
		{ cat "$dir.log"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
	rm -f "$dir.log"
	ninja -C "$dir" >/dev/null || { ninja -C "$dir"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
}

# A test that hangs ends; a machine that is slow is none that fails: meson's limits are tripled.
suite() { # DIRECTORY MULTIPLIER
	echo "== $1"
	meson test -C "$1" --print-errorlogs --no-rebuild --num-processes=2 --timeout-multiplier="$2" || status=1
}

build build-check -Dwerror=true -Dwalls_off=true
suite build-check 3
builds=build-check
if [ -z "${CHECK_FAST:-}" ]; then
	CC=clang build build-asan -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized
	SBX_TEST_SCALE=${SBX_TEST_SCALE:-4} suite build-asan 10
	builds="$builds build-asan"
fi
# shellcheck disable=SC2086 # two words
python3 tests/count.py $builds
[ "$status" = 0 ]
