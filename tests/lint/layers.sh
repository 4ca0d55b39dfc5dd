#!/bin/sh
# Checks lib/LAYERS: every #include of a C file goes to a folder that its own folder may use,
# and from another folder only to the public header FOLDER/FOLDER.h, unless a * in LAYERS
# opens all headers of that folder, or +NAME this one. cmd/ may use base and what is public.
set -eu
root=${1:-.}; map=$root/lib/LAYERS
find "$root/lib" "$root/cmd" -name '*.[ch]' | LC_ALL=C sort |
	xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]*/' /dev/null |
awk -v map="$map" -v root="$root/" '
BEGIN {
	while ((getline line < map) > 0) {
		if (line ~ /^#/ || line !~ /:/) continue
		split(line, part, ":")
		name = part[1]
		n = split(name, also, "+")
		name = also[1]
		if (sub(/\*$/, "", name)) open[name] = 1
		for (i = 2; i <= n; i++) public[name "/" also[i] ".h"] = 1
		layer[name] = 1
		n = split(part[2], use, " ")
		for (i = 1; i <= n; i++) {
			if (!(use[i] in layer)) { print map ": " name " uses " use[i] ", which is not above it"; bad = 1 }
			ok[name, use[i]] = 1
		}
	}
	open_to_cmd["base"] = 1
}
{
	file = $0; sub(/:.*/, "", file)
	where = $0; sub(/:[^:]*$/, "", where)
	from = substr(file, length(root) + 1)
	in_cmd = sub(/^cmd\/.*/, "cmd", from)
	sub(/^lib\//, "", from); sub(/\/.*/, "", from)
	inc = $0; sub(/^[^"]*"/, "", inc); sub(/".*/, "", inc)
	to = inc; sub(/\/.*/, "", to)
	if (!(to in layer) || to == from) next
	if (in_cmd) {
		if (to == "sys") { print where ": cmd/ may not use " inc; bad = 1 }
		if (to in open_to_cmd) next
	} else if (!((from, to) in ok)) {
		print where ": " from "/ may not use " inc; bad = 1
	}
	if (!(to in open) && !(inc in public) && inc != to "/" to ".h") { print where ": " inc " is private to " to "/"; bad = 1 }
}
END { exit bad }'
