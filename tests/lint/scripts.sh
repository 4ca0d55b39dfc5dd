#!/bin/sh
# Every script is read by shellcheck: scripts.sh ROOT
set -eu
cd "$1"
command -v shellcheck >/dev/null || { echo "skipped: no shellcheck here"; exit 77; }
# Named by suffix, or by their first line.
{
	find . -path './build*' -prune -o -path ./.git -prune -o -name '*.sh' -print
	find .ci tests -type f -perm -u+x ! -name '*.sh' -exec grep -lE '^#!.*(ba)?sh' {} + 2>/dev/null || :
} | LC_ALL=C sort -u | xargs shellcheck -S warning
shellcheck -S warning -s bash completions/sbx.bash
