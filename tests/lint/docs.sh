#!/bin/sh
# Comments of the headers that other folders use (lib/LAYERS): a function that can fail has
# one in front of it (which may speak for several) that names its Faults, with kinds that
# exist; a block "name - what" names only parameters that exist, with their units, and says
# what is returned.
set -eu
root=${1:-.}
cd "$root"
awk -F: '/^[^#]/ {
	n = split($1, also, "+"); name = also[1]
	if (sub(/\*$/, "", name)) print "lib/" name "/*.h"; else print "lib/" name "/" name ".h"
	for (i = 2; i <= n; i++) print "lib/" name "/" also[i] ".h"
}' lib/LAYERS | while read -r pattern; do
	# shellcheck disable=SC2086 # a pattern is meant
	ls $pattern 2>/dev/null || :
done | grep -vx lib/base/fault.h | LC_ALL=C xargs awk '
function complain(text) {
	if (("docs " FILENAME ":" name) in known) { used["docs " FILENAME ":" name] = 1; return }
	print FILENAME ":" start ": " name ": " text; bad = 1
}
function check(head,   args, block, n, part, i, word, kinds) {
	name = head; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
	args = head; sub(/^[^(]*\(/, "", args)
	fails = args ~ /struct fault \*f\)/ && args !~ /const struct fault \*f\)/
	if (comment == "") { if (fails) complain("it can fail, and no comment says how"); return }
	if (fails && comment !~ /Faults?:|[Ff]aults? |SYSTEM|Always negative/)
		complain("it can fail, and no Faults are named")
	block = comment ~ ("\\* " name " - ")
	if (!block) return
	if (comment !~ /Returns:/ && head !~ /^void /) complain("no Returns:")
	if (fails && comment !~ /Faults:/) complain("no Faults:")
	if (!fails && comment ~ /Faults:/) complain("Faults: and no struct fault")
	n = split(comment, part, "\n")
	for (i = 1; i <= n; i++) {
		if (part[i] !~ /^ \* @[a-z_]+:/) continue
		word = part[i]; sub(/^ \* @/, "", word); sub(/:.*/, "", word)
		if (args !~ ("[ *]" word "[,)[]")) complain("@" word " is no parameter")
		if (word ~ /_(ms|bytes|pct)$/ && part[i] !~ /\[(ms|bytes|pct)\]/) complain("@" word ": no unit")
	}
	if (match(comment, /Faults:.*/)) {
		kinds = substr(comment, RSTART)
		n = split(kinds, part, /[^A-Z_]+/)
		for (i = 1; i <= n; i++)
			if (length(part[i]) > 4 && !(part[i] in kind) && part[i] ~ /^(SYS|USA|NOT_|BUS|DEN|LIM|FOR|BUG)/ && part[i] !~ /LIMIT_/)
				complain("no kind of fault is called " part[i])
	}
}
BEGIN {
	while ((getline line < "lib/base/fault.def") > 0)
		if (line ~ /^X\(/) { sub(/^X\(/, "", line); sub(/,.*/, "", line); kind[line] = 1 }
	while ((getline line < "tests/lint/debts") > 0) if (line ~ /^docs /) known[line] = 1
}
FNR == 1 { comment = ""; in_comment = 0; head = ""; depth = 0 }
/^\/\*/ { comment = ""; in_comment = 1 }
in_comment { comment = comment $0 "\n"; if (/\*\//) in_comment = 0; head = ""; next }
/^$/ { head = ""; next }
/^(static inline|#|\t|\}|\{)/ && head == "" { if (/^#define/) comment = ""; next }
{
	if (head == "") start = FNR
	head = head $0
	if (head ~ /^(struct|enum|union) [a-z_]* ?(\{|;)/ || head ~ /^extern/ || head ~ /^(enum|struct) \{/ || head ~ /^typedef/) {
		if (head ~ /;$|\{$|,$/) { head = ""; comment = "" }
		next
	}
	if (head ~ /;$/) {
		if (head ~ /\(/) check(head)
		head = ""
	}
}
END {
	for (d in known) if (!(d in used)) { print "tests/lint/debts: paid, take it out: " d; bad = 1 }
	exit bad
}'
