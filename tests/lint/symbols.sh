#!/bin/sh
# Names that a layer's library defines: the word in front of the first _ is the name of a
# file of its folder (or its singular), the folder itself, or in tests/lint/prefixes; none is that of a
# library; no two libraries define the same. symbols.sh ROOT LIBRARY…
set -eu
root=$1; shift
for library; do
	folder=$(basename "$(dirname "$library")")
	nm -g --defined-only "$library" | awk -v f="$folder" 'NF == 3 { print f, $3 }'
done | LC_ALL=C sort -u | awk -v root="$root" '
function words(folder,   cmd, line, n, part) {
	seen[folder] = 1
	ok[folder, folder] = 1
	cmd = "ls " root "/lib/" folder " " root "/lib/" folder "/drivers " root "/" folder " 2>/dev/null"
	while ((cmd | getline line) > 0) {
		sub(/\..*/, "", line); n = split(line, part, "-")
		ok[folder, part[1]] = 1
		if (sub(/s$/, "", part[1])) ok[folder, part[1]] = 1
	}
	close(cmd)
}
BEGIN {
	while ((getline line < (root "/tests/lint/prefixes")) > 0) {
		if (line ~ /^#/) continue
		n = split(line, part, /[: ]+/)
		for (i = 2; i <= n; i++) ok[part[1], part[i]] = 1
	}
	split("archive lh array printbuf mc yaml ns err warn error fail mock", taken, " ")
	for (i in taken) bad_word[taken[i]] = 1
}
$2 ~ /^__(odr_asan|asan|ubsan|sanitizer|gcov|llvm|start|stop)/ || $2 ~ /^(_binary_|__)/ { next }
{
	if (!($1 in seen)) words($1)
	word = $2; sub(/_.*/, "", word)
	if (word in bad_word) { print $1 ": " $2 ": the word " word " is that of a library"; bad = 1 }
	if (!(($1, word) in ok)) { print $1 ": " $2 ": no file of the folder is called " word; bad = 1 }
	if ($2 in owner) { print $2 ": defined by " owner[$2] " and " $1; bad = 1 }
	owner[$2] = $1
}
END { exit bad }'
