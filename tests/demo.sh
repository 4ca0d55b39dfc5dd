#!/bin/bash
# The main job, on this machine's own data, from the built tree: make demo.
set -u
build=$(cd "${1:-build}" && pwd) || exit 1
PATH=$build/cmd:$PATH
SBX_HOME=$(mktemp -d "${TMPDIR:-/tmp}/sbx-demo.XXXXXX") || exit 1
export SBX_HOME
out=$SBX_HOME.out
mkdir "$out"
S=
failed=0

# shellcheck disable=SC2317 # called by the trap
finish() {
	[ -z "$S" ] || sbx rm -f "$S"
	rm -rf "$SBX_HOME" "$out"
}
trap finish EXIT
trap 'exit 130' INT TERM

title() { printf '\n\033[1m%s\033[0m\n' "$1"; }
run() { printf '$ %s\n' "$*"; "$@"; }
# A step that must hold; its words are printed either way.
must() { # TEXT COMMAND...
	local text=$1
	shift
	if "$@"; then
		echo "  ok: $text"
	else
		echo "  FAILED: $text"
		failed=1
	fi
}
# The members of the last result, from $out/result.
result() { jq -r "$1" "$out/result"; }
exec_json() { sbx exec --json "$S" "$@" >"$out/result"; }

mounts_before=$(wc -l </proc/self/mountinfo)

title '1. A session, with a copy of the package database of this machine'
S=$(sbx create --runtime python:3 --name demo -q) || exit 1
echo "\$ sbx create --runtime python:3 --name demo"
echo "$S"
run sbx cp /var/lib/dpkg/status demo:/workspace/status || failed=1

title '2. Parse it once; the variable stays in the interpreter'
cat >"$out/parse.py" <<'PY'
packages = []
for block in open('status', encoding='utf-8').read().strip().split('\n\n'):
    fields = dict(line.split(': ', 1) for line in block.split('\n')
                  if ': ' in line and not line.startswith(' '))
    packages.append(fields)
len(packages)
PY
run sbx exec demo -f "$out/parse.py" || failed=1

title '3. Use it in a second execution'
cat >"$out/count.py" <<'PY'
from collections import Counter
sections = Counter(p.get('Section', 'none') for p in packages)
sizes = Counter()
for p in packages:
    sizes[p.get('Maintainer', 'nobody').split(' <')[0]] += int(p.get('Installed-Size', 0))
for name, n in sections.most_common(5):
    print(f'{n:6} packages in {name}')
for name, n in sizes.most_common(3):
    print(f'{n / 1024:8.1f} MiB by {name}')
PY
run sbx exec demo -f "$out/count.py" || failed=1

title '4. Write a table and a chart in a third'
cat >"$out/chart.py" <<'PY'
import csv
with open('sections.csv', 'w', newline='') as f:
    csv.writer(f).writerows(sections.most_common())
top = sections.most_common(12)
bars = ''.join(
    f'<rect x="150" y="{20 * i + 5}" width="{300 * n / top[0][1]:.0f}" height="15" fill="#4a7"/>'
    f'<text x="145" y="{20 * i + 17}" text-anchor="end" font-size="12">{s}</text>'
    for i, (s, n) in enumerate(top))
with open('sections.svg', 'w') as f:
    f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="460" height="250">{bars}</svg>')
PY
exec_json -f "$out/chart.py" || failed=1
result '.files[] | "  \(.change) \(.path) \(.bytes) bytes"'
run sbx cp demo:/workspace/sections.svg "$out/" || failed=1
must 'the chart is out' grep -q '<rect' "$out/sections.svg"

title '5. A cell that never ends is interrupted, and keeps the variables'
echo "\$ sbx exec demo --timeout 1 -c 'while True: pass'"
exec_json --timeout 1 -c 'while True: pass'
result '"  \(.status) after \(.duration_ms) ms, interpreter \(.state.interpreter), epoch \(.state.epoch)"'
must 'it timed out' test "$(result .status)" = timeout
exec_json -c 'len(packages)'
must "$(result '.result["text/plain"]') packages are still there" test "$(result .status)" = success

title '6. What it must not do, it cannot'
exec_json -c 'open("/etc/shadow").read()'
result '"  /etc/shadow: \(.error.name): \(.error.value)"'
must 'refused' test "$(result .status)" = error
exec_json -c 'import socket; socket.create_connection(("1.1.1.1", 80), 3)'
result '"  network: \(.error.name): \(.error.value)"'
must 'unreachable' test "$(result .status)" = error
exec_json --timeout 5 -- bash -c 'f() { f | f & }; f; sleep 2; echo over'
result '"  fork bomb: \(.status), \(.leftovers_killed) left over and killed; \(.warnings[0].message // "")"'
exec_json -- echo 'the session lives'
must 'the session answers' test "$(result .stdout)" = 'the session lives'

title '7. Node and a shell, in the same session, on the same files'
run sbx exec demo --lang node -c "require('fs').readFileSync('sections.csv', 'utf8').split('\n')[0].trim()" || failed=1
# shellcheck disable=SC2016 # for the shell inside
run sbx exec demo --lang shell -c 'cut -d, -f2 sections.csv | head -3; n=$(wc -l <sections.csv); echo $n sections' || failed=1

title '8. What the session says of itself'
exec_json -c 'None'
result '"  disk \(.usage.disk_bytes) of \(.usage.disk_limit_bytes) bytes, memory peak \(.usage.memory_peak_bytes)"'
run sbx list
echo '$ sbx events demo | tail -4'
sbx events demo | tail -4

title '9. Nothing is left'
run sbx rm demo || failed=1
S=
must 'no session' test -z "$(sbx list -q)"
must 'no file of it' test -z "$(find "$SBX_HOME/sessions" "$SBX_HOME/trash" -mindepth 1)"
must 'no mount more than before' test "$(wc -l </proc/self/mountinfo)" -le "$mounts_before"
echo
[ "$failed" = 0 ] && echo 'All of it worked.'
exit "$failed"
