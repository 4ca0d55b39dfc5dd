#!/bin/sh
# Lines of files and functions, parameters, width, open ends: the hard limits. Known debts are listed in
# tests/lint/debts, one "RULE PLACE" a line, sorted; a debt that was paid must be taken out.
set -eu
root=${1:-.}
cd "$root"
find lib cmd tests -name '*.[ch]' | LC_ALL=C sort | LC_ALL=C xargs awk '
function debt(rule, place, text) {
	if ((rule " " place) in known) { used[rule " " place] = 1; return }
	print text; bad = 1
}
function width(s,   i, n, c) {
	n = 0
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c >= "\200" && c <= "\277") continue
		n = c == "\t" ? n + 8 - n % 8 : n + 1
	}
	return n
}
# The parameters of a definition: commas that are in no inner brackets.
function parameters(s,   i, depth, n, c) {
	sub(/^[^(]*\(/, "", s)
	depth = 0; n = 1
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "(" || c == "[") depth++
		if ((c == ")" || c == "]") && --depth < 0) return n
		if (c == "," && !depth) n++
	}
	return n
}
function end_file() {
	if (!file) return
	max = file ~ /\.h$/ ? 150 : 500
	if (file !~ /^tests\// && lines > max)
		debt("file", file, file ": " lines " lines, more than " max)
}
BEGIN {
	while ((getline line < "tests/lint/debts") > 0) {
		if (line == "" || line ~ /^#/) continue
		if (line <= last) { print "tests/lint/debts: not sorted at " line; bad = 1 }
		last = line
		if (line !~ /^(analyse|docs) /) known[line] = 1
	}
}
FNR == 1 { end_file(); file = FILENAME; lines = 0; head = ""; inside = 0 }
{ lines = FNR }
length($0) > 80 && width($0) > 120 { debt("width", file ":" FNR, file ":" FNR ": wider than 120") }
/TO[D]O|FIX[M]E/ { debt("todo", file ":" FNR, file ":" FNR ": an open end; write an issue instead") }
/[ \t]+$/ { debt("space", file ":" FNR, file ":" FNR ": space at the end of the line") }
!inside && /^[A-Za-z_]/ && !/;$/ && !/^(typedef|struct [a-z_]+ \{|enum|static const .*=)/ { head = $0; start = FNR; next }
!inside && head && /^[\t ]/ { head = head $0; next }
!inside && head && /^\{$/ {
	inside = 1
	name = head; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
	n = parameters(head)
	if (n > 6) debt("parameters", file ":" name, file ":" start ": " name " has " n " parameters")
	next
}
inside && /^\}/ {
	n = FNR - start + 1
	if (n > 80) debt("function", file ":" name, file ":" start ": " name " has " n " lines")
	inside = 0; head = ""
	next
}
!inside { head = "" }
END {
	end_file()
	for (d in known) if (!(d in used)) { print "tests/lint/debts: paid, take it out: " d; bad = 1 }
	exit bad
}'
