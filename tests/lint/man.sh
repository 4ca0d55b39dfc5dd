#!/bin/sh
# Every command has a manual page, and mandoc finds nothing to complain of: man.sh ROOT PROGRAM
set -eu
root=$1 program=$2 bad=0
for tool in scdoc mandoc jq; do
	command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
for cmd in $("$program" __gen json | jq -r '.commands[].name'); do
	[ -f "$root/man/sbx-$cmd.1.scd" ] || { echo "man/sbx-$cmd.1.scd is missing"; bad=1; }
	grep -q "'sbx-$cmd.1'" "$root/man/meson.build" || { echo "man/sbx-$cmd.1.scd is not installed"; bad=1; }
done
for page in "$root"/man/*.scd; do
	to=$temp/$(basename "$page" .scd)
	sh "$root/man/render.sh" scdoc "$program" sbx "$page" > "$to" || { echo "$page: not rendered"; bad=1; continue; }
	mandoc -Tlint -W error "$to" || bad=1
done
exit $bad
