#!/bin/sh
# Builds the fuzz targets with libFuzzer and lets each run for a time, one after the other.
#   FUZZ_SECONDS=60   for each
#   FUZZ_TARGETS=…    only these; default: all
# What they learn stays in build-fuzz/corpus; an input that found something is in build-fuzz/found:
# add it to tests/data/fuzz/TARGET under the name of what it found.
set -eu
cd "$(dirname "$0")/../.."
build='build-fuzz'
seconds=${FUZZ_SECONDS:-60}
targets=${FUZZ_TARGETS:-$(cd tests/data/fuzz && echo *)}

[ -f $build/build.ninja ] || CC=clang meson setup $build -Dfuzz=true -Dwerror=true \
	-Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized >/dev/null
programs=
for target in $targets; do
	programs="$programs tests/fuzz/fuzz-$target"
done
# shellcheck disable=SC2086 # a list of words
ninja -C $build $programs >/dev/null

# In memory where that can be: some targets make and remove files with each input.
scratch=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p $build/found
status=0
for target in $targets; do
	mkdir -p "$build/corpus/$target" "$scratch/$target"
	r=0
	TMPDIR=$scratch/$target $build/tests/fuzz/fuzz-"$target" -max_total_time="$seconds" -timeout=20 \
		-rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$build/found/$target-" \
		"$build/corpus/$target" "tests/data/fuzz/$target" tests/data/hostile \
		>"$build/fuzz-$target.log" 2>&1 </dev/null || r=$?
	n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz-$target.log")
	echo "$target: ${n:-no} inputs in $seconds s$([ $r = 0 ] || echo ", FOUND: see $build/fuzz-$target.log")"
	[ $r = 0 ] || status=1
done
exit $status
