#!/bin/sh
# What is written about the formats is what the code writes: documents.sh ROOT
#   - each type of lib/event/event.def is in sbx-events.7, and no other;
#   - each key of a session's file and of a request is in sbx.yaml.5, and no other;
#   - each member of a result is in the section RESULT of sbx-exec.1, and at most once;
#   - each test that SECURITY.md names is in tests/abuse, and each document it names exists.
set -eu
cd "$1"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
bad=0

section() { # PAGE SECTION...
	page=$1
	shift
	for name; do
		sed -n "/^# $name\$/,/^# /p" "$page"
	done
}
# Bold words, without options and other pages.
bold() { grep -oE '\*[a-z][][a-z0-9_.]*\*' | tr -d '*'; }
same() { # WHAT WRITTEN CODE
	LC_ALL=C sort -u "$2" >"$2.sorted"
	LC_ALL=C sort -u "$3" >"$3.sorted"
	[ -s "$3.sorted" ] || { echo "$1: nothing found in the code"; bad=1; }
	LC_ALL=C comm -23 "$3.sorted" "$2.sorted" | sed "s|^|$1: not documented: |" >"$temp/missing"
	LC_ALL=C comm -13 "$3.sorted" "$2.sorted" | sed "s|^|$1: documented, but not in the code: |" >>"$temp/missing"
	[ ! -s "$temp/missing" ] || { cat "$temp/missing"; bad=1; }
}

section man/sbx-events.7.scd TYPES | grep '^\*' | bold >"$temp/types"
sed -n 's/^X([A-Z_]*, *"\([a-z_]*\)".*/\1/p' lib/event/event.def >"$temp/types.code"
same events "$temp/types" "$temp/types.code"

# A key is followed by what it takes, or stands alone as another name of one.
section man/sbx.yaml.5.scd 'A SESSION' 'A REQUEST' | grep -E '^	?\*[^(:]*\*( \(.*|)$|^	\*.*\): ' |
	sed 's/ (.*//' | bold >"$temp/keys"
sed -n 's/^\t{ "\([a-z_]*\)", FMT_TYPE.*/\1/p' lib/session/spec-read.c >"$temp/keys.code"
same keys "$temp/keys" "$temp/keys.code"

section man/sbx-exec.1.scd RESULT >"$temp/result"
bold <"$temp/result" | tr -d '[]' | tr . '\n' >"$temp/members"
{
	grep -hoE '(json_put_[a-z]+|json_key|put_[a-z_]+)\(&?[a-z>.-]+, "[a-z_]+"' lib/session/result.c \
		lib/session/answer.c lib/session/artifact.c
	grep -hE '^	*\{ "std(out|err)"' lib/session/result.c | grep -oE '"[a-z_0-9]+"'
} | grep -oE '"[a-z_0-9]+"' | tr -d '"' >"$temp/members.code"
same result "$temp/members" "$temp/members.code"
grep '^\*' "$temp/result" | bold | LC_ALL=C sort | uniq -d | sed 's/^/result: documented twice: /' >"$temp/twice"
[ ! -s "$temp/twice" ] || { cat "$temp/twice"; bad=1; }

# The last column of a row of a CVE has the numbers of its tests.
grep '^| .*CVE-' SECURITY.md | sed 's/.*| \([0-9, ]*\) |$/\1/' | tr -s ', ' '\n' | sort -un >"$temp/tests"
[ -s "$temp/tests" ] || { echo "SECURITY.md: no row names a test"; bad=1; }
while read -r n; do
	grep -qE "^@test\($n," tests/abuse/*.py || { echo "SECURITY.md: test $n is not in tests/abuse"; bad=1; }
done <"$temp/tests"
for name in $(grep -ohE '\b[A-Z]+\.md\b' ./*.md | sort -u); do
	[ -f "$name" ] || { echo "$name is named, but is not there"; bad=1; }
done
grep -q 'make check' README.md || { echo "README.md does not say how to check"; bad=1; }
exit $bad
