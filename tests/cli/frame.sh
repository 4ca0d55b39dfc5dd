#!/bin/sh
# The frame around the commands, from outside: frame.sh PROGRAM
set -eu
sbx=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export SBX_HOME="$home/sbx"
unset SBX_TRACE
failed=0

# try CODE STDOUT STDERR WORD…: exit code; stdout and stderr as patterns of case
try() {
	want_code=$1 want_out=$2 want_err=$3; shift 3
	code=0
	"$sbx" "$@" >"$home/out" 2>"$home/err" </dev/null || code=$?
	out=$(cat "$home/out") err=$(cat "$home/err")
	ok=1
	[ "$code" = "$want_code" ] || ok=
	# shellcheck disable=SC2254 # patterns are meant
	case $out in $want_out) ;; *) ok= ;; esac
	# shellcheck disable=SC2254
	case $err in $want_err) ;; *) ok= ;; esac
	if [ ! "$ok" ]; then
		failed=1
		printf 'sbx %s: exit %s\n--- stdout\n%s\n--- stderr\n%s\n' "$*" "$code" "$out" "$err"
	fi
}

try 2 '' 'Usage: sbx COMMAND*'
try 0 'Usage: sbx COMMAND*' '' --help
try 0 'Usage: sbx COMMAND*' '' help
try 0 'Usage: sbx create*' '' help create
try 2 '' 'sbx: help: nonsense: no such command' help nonsense
try 0 'sbx [0-9]*' '' --version
try 0 '{"schema":"sbx.version/1","name":"sbx","version":"[0-9]*","features":\["create"*' '' --version --json
try 2 '' 'sbx: crate: no such command; did you mean create?' crate
try 2 '' 'sbx: xyzzy: no such command' xyzzy
try 2 '' 'sbx: ../x: no such command' ../x
try 2 '' 'sbx: --jsn: no such option; options go behind the command' --jsn
try 2 '' 'sbx: __gen: *' __gen tcsh

# Every command: its help on stdout, at most 80 wide; one line for a wrong option.
for cmd in $("$sbx" __gen json | tr '{' '\n' | sed -n 's/^"name":"\([a-z]*\)","summary".*/\1/p'); do
	try 0 "Usage: sbx $cmd*" '' "$cmd" --help
	[ "$(awk 'length($0) > 80' "$home/out")" = '' ] || { echo "$cmd --help is wider than 80"; failed=1; }
	try 2 '' "sbx $cmd: --no-such-optiom: no such option" "$cmd" --no-such-optiom
	try 2 '' "sbx $cmd: -Z: no such option" "$cmd" -Z
	[ "$(wc -l <"$home/err")" = 1 ] || { echo "$cmd: more than one line"; failed=1; }
done

# Failures: one line, or one object; the kind is in the exit code, but 125 where a
# program's own status could be meant.
try 3 '' 'sbx create: runtime: python:2.1 is not here; there is *' create --runtime python:2.1
try 3 '{"schema":"sbx.error/1","kind":"not-found","errno":null,"text":"runtime: python:2.1 *"}' '' \
	create --runtime python:2.1 --json
try 7 '' 'sbx create: */bad.json:1:2: *' create -f "$(printf '{x' >"$home/bad.json"; echo "$home/bad.json")"
printf '"a\\e[31m\\u009b": 1\n' >"$home/escape.yaml"
try 7 '' "sbx create: $home/escape.yaml:1:1: 'a?\[31m\\\\xc2\\\\x9b' is no key here" create -f "$home/escape.yaml"
try 125 '' 'sbx exec: *nosuch*' exec nosuch true
try 2 '' 'sbx exec: --tiemout: no such option; did you mean --timeout?' exec nosuch --tiemout 5 true
try 2 '' 'sbx rm: SESSION is missing' rm
try 3 '' 'sbx rm: *nosuch*' rm nosuch
export SBX_TRACE=1
try 3 '' 'sbx create: runtime: *
sbx create: at *runtime.c:*' create --runtime python:2.1
unset SBX_TRACE

# Commands from PATH, with their own options.
mkdir "$home/bin"
printf '#!/bin/sh\necho "$0: $*"; exit 9\n' >"$home/bin/sbx-hello"
chmod +x "$home/bin/sbx-hello"
PATH=$home/bin:$PATH
export PATH
try 9 '*/sbx-hello: --help -x' '' hello --help -x
try 9 '*/sbx-hello: --help' '' help hello
printf 'echo "$#: $1"\n' >"$home/bin/sbx-plain"
chmod +x "$home/bin/sbx-plain"
try 0 '1: a b' '' plain 'a b'
: >"$home/bin/sbx-closed"
try 1 '' 'sbx: sbx-closed: Permission denied' closed
mkdir "$home/bin/sbx-folder"
try 1 '' 'sbx: sbx-folder: Permission denied' folder
# No word leads out of PATH, and nothing of where the caller happens to be is a command.
mkdir -p "$home/here/sbx-" "$home/here/rel"
cp "$home/bin/sbx-hello" "$home/here/sbx-trap"
cp "$home/bin/sbx-hello" "$home/here/sbx-/x"
cp "$home/bin/sbx-hello" "$home/here/rel/sbx-trap"
case $sbx in /*) ;; *) sbx=$PWD/$sbx ;; esac
cd "$home/here"
for path in : "$PATH:" ":$PATH" "/nowhere::$PATH" . rel "rel:.:$PATH" ''; do
	(PATH=$path; export PATH; code=0; "$sbx" trap >"$home/out" 2>&1 || code=$?; [ "$code" = 2 ]) ||
		{ echo "PATH='$path': something was run: $(cat "$home/out")"; failed=1; }
done
(unset PATH; code=0; "$sbx" trap >/dev/null 2>&1 || code=$?; [ "$code" = 2 ]) || { echo "no PATH: not refused"; failed=1; }
for word in /x ./trap ../here/trap bin/hello hello/ . .. '' 'a b' HELLO "$(printf 'hello\nx')"; do
	code=0
	"$sbx" "$word" >"$home/out" 2>"$home/err" || code=$?
	[ "$code" = 2 ] && [ ! -s "$home/out" ] && grep -q 'no such command' "$home/err" ||
		{ echo "'$word': exit $code: $(cat "$home/err")"; failed=1; }
	code=0
	"$sbx" help "$word" >"$home/out" 2>"$home/err" || code=$?
	[ "$code" = 2 ] && [ ! -s "$home/out" ] || { echo "help '$word': exit $code: $(cat "$home/err")"; failed=1; }
done
cd "$home"
# The nearest command is still named, and a program that is a command's namesake is not run.
cp "$home/bin/sbx-hello" "$home/bin/sbx-list"
try 0 '' '' list

# Output that goes nowhere is a failure; a closed descriptor is no home for a file.
code=0; "$sbx" --help >/dev/full 2>/dev/null || code=$?
[ "$code" = 1 ] || { echo "full disk: exit $code"; failed=1; }
code=0; "$sbx" create --dry-run >/dev/full 2>"$home/err" || code=$?
[ "$code" = 1 ] && grep -q 'No space left' "$home/err" || { echo "full disk: exit $code"; failed=1; }
code=0; "$sbx" create --dry-run <&- >&- 2>&- || code=$?
[ "$code" = 1 ] || { echo "closed descriptors: exit $code"; failed=1; }
code=0; "$sbx" create --dry-run <&- >/dev/null 2>&- || code=$?
[ "$code" = 0 ] || { echo "closed stdin and stderr: exit $code"; failed=1; }

# What a shell asks while a word is typed.
try 0 '*shell*' '' __complete runtime
try 0 '' '' __complete session
try 2 '' 'sbx: __complete: *' __complete nonsense

# The plan of a jail, from the request of the article.
printf '{"runtime":"shell","resources":{"cpu":2,"memory":"2Gi","disk":"10Gi"},"timeout":600,"tools":["python_interpreter","file_reader"]}' >"$home/article.json"
try 0 '{"schema":"sbx.plan/1"*}' '' create --dry-run -f "$home/article.json"
[ -z "$(ls "$SBX_HOME/sessions")" ] || { echo "a dry run made a session"; failed=1; }

exit $failed
