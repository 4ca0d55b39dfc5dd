#!/bin/sh
# Every header compiles alone: headers.sh ROOT COMPILER…
set -eu
root=$1; shift
bad=0
for header in $(cd "$root" && find lib cmd -name '*.h' | LC_ALL=C sort); do
	case $header in
	lib/*) name=${header#lib/} ;;
	*) name=../$header ;;
	esac
	printf '#include "%s"\n' "$name" |
		"$@" -x c -std=gnu11 -fsyntax-only -Wall -Werror -D_GNU_SOURCE -DSBX_VERSION='"0"' \
			-DSBX_PROGRAM='"sbx"' -I "$root/lib" -I "$root/cmd" - || { echo "$header"; bad=1; }
done
exit $bad
