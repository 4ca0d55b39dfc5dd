#!/bin/sh
# The static program and the one with the libraries behind it: full.sh PROGRAM
set -eu
sbx=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export SBX_HOME="$home/sbx"
failed=0

# same WHAT WANTED GOT
same() {
	# shellcheck disable=SC2254 # a pattern is meant
	case $3 in $2) return ;; esac
	failed=1
	printf '%s\n--- wanted\n%s\n--- got\n%s\n' "$1" "$2" "$3"
}

plan() {
	"$@" 2>&1 | cksum
}

# The same plan from YAML and JSON, from a file and a pipe, on either way of options.
printf 'runtime: shell\nresources: {pids: 77}\n' >"$home/a.yaml"
printf '{"runtime":"shell","resources":{"pids":77}}' >"$home/a.json"
plan=$(plan "$sbx" create --dry-run --runtime shell --pids 77)
for file in a.yaml a.json; do
	same "--file $file" "$plan" "$(plan "$sbx" create -f "$home/$file" --dry-run </dev/null)"
	same "$file in a pipe" "$plan" "$(cat "$home/$file" | plan "$sbx" create --dry-run -f -)"
	same "$file as standard input" "$plan" "$(plan "$sbx" create --dry-run -f - <"$home/$file")"
done
same 'a request in YAML' '*nosuch*' "$(printf 'session_id: nosuch\ncommand: [a]\n' | "$sbx" exec --request - 2>&1)"

# Without its second program the first says what is missing, and all else works.
if [ -e "$sbx-full" ]; then
	mkdir "$home/bin"
	cp "$sbx" "$home/bin/sbx"
	alone=$home/bin/sbx
	same 'options alone' "$plan" "$(plan "$alone" create --dry-run --runtime shell --pids 77)"
	for file in a.yaml a.json; do
		code=0
		text=$("$alone" create --dry-run -f - <"$home/$file" 2>&1) || code=$?
		same "$file alone" '3 sbx create: a description needs the program sbx-full, which is not installed' "$code $text"
	done
	code=0
	text=$("$alone" cp nosuch:/x - 2>&1) || code=$?
	same 'tar alone' '3 sbx cp: tar needs the program sbx-full, which is not installed' "$code $text"
	mkdir -p "$home/libexec/sbx"
	cp "$sbx-full" "$home/libexec/sbx/sbx-full"
	same 'installed' "$plan" "$(plan "$alone" create --dry-run -f - <"$home/a.yaml")"
fi
exit $failed
