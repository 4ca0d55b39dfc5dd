#!/bin/sh
# Renders one manual page: fills in what comes from the option tables, then runs scdoc.
#   render.sh SCDOC SBX PROGRAM_NAME PAGE.scd >PAGE
# The lines @SYNOPSIS@ and @GENERATED@ stand for "sbx __gen synopsis" and "sbx __gen man" of
# the command that the page's name says; in sbx.1 for the lists of all commands.
set -eu
scdoc=$1 sbx=$2 program=$3 page=$4
base=$(basename "$page")
base=${base%.[0-9].scd}
case $base in
sbx) command= ;;
*) command=${base#sbx-} ;;
esac

fill() {
	while IFS= read -r line; do
		case $line in
		@SYNOPSIS@) "$sbx" __gen synopsis "$command" && echo ;;
		@GENERATED@) "$sbx" __gen man ${command:+"$command"} ;;
		*) printf '%s\n' "$line" ;;
		esac || exit 1
	done <"$page"
}

# Installed under another name, the program is called by it; names of formats and paths stay.
rename() {
	sed -E -e ':again' -e "s#(^|[^/[:alnum:]_.-])sbx(\$|[^./[:alnum:]_]|\\.\$|\\. )#\\1$program\\2#" -e 't again' \
		-e "s/sbx\\.yaml/$program.yaml/g"
}

# The date of a page is that of its last change, so that two builds are the same.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -r "$page" +%s)}
export SOURCE_DATE_EPOCH
text=$(fill)
if [ "$program" = sbx ]; then
	printf '%s\n' "$text" | "$scdoc"
else
	printf '%s\n' "$text" | rename | "$scdoc"
fi
