#!/bin/sh
# The program may be built under another name (-Dprogram_name): what it says calls it SBX_PROGRAM,
# and not by the usual one: name.sh ROOT
# Titles of processes ("sbx: sess_… init") mark a session's processes under any name, and a Symbol
# of JavaScript is said to nobody.
set -eu
cd "$1"
found=$(grep -rnE --include='*.c' --include='*.h' --include='*.def' --include='*.sh' --include='*.py' \
	--include='*.js' "(\"|')([^\"]*[^\"/.[:alnum:]_-])?sbx([ '\"]|: |-%|\\\\n)" lib cmd |
	grep -vE '^[^:]*:[0-9]*:[[:space:]]*(/\*|\*|#|//)' |
	grep -vE '"sbx: %s (init|supervisor)"|Symbol\(.sbx.\)' || :)
[ -z "$found" ] || { printf 'SBX_PROGRAM is its name:\n%s\n' "$found"; exit 1; }
