#!/bin/sh
# Under another name (-Dprogram_name) everything is called by it: renamed.sh SOURCE
#   - program, pages and completions are installed under it, and nothing under the usual one;
#   - what the program, its pages and completions say names it, and no program that is not there.
set -eu
source=$1
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
failed=0
bad() { echo "$*"; failed=1; }

# Without optimisation: what it says is looked at, and not how fast.
meson setup "$temp/build" "$source" -Dprogram_name=abc -Dbuildtype=plain -Dprefix=/usr >"$temp/log" 2>&1 ||
	{ cat "$temp/log"; exit 1; }
targets=$(ninja -C "$temp/build" -t targets all | sed -n -E 's/^((man|completions)\/[^:]*): CUSTOM_COMMAND.*/\1/p')
programs=$(ninja -C "$temp/build" -t targets all | sed -n -E 's/^(cmd\/abc(-full)?): .*/\1/p')
# shellcheck disable=SC2086 # lists of words
ninja -C "$temp/build" -j2 $programs $targets >"$temp/log" 2>&1 || { tail -30 "$temp/log"; exit 1; }
meson install -C "$temp/build" --no-rebuild --destdir "$temp/dest" >"$temp/log" 2>&1 || { tail -30 "$temp/log"; exit 1; }
usr=$temp/dest/usr

for page in "$source"/man/*.scd; do
	name=$(basename "$page" .scd)
	[ -s "$usr/share/man/man${name##*.}/abc${name#sbx}" ] || bad "abc${name#sbx} is not installed"
done
for file in bin/abc share/bash-completion/completions/abc share/zsh/site-functions/_abc \
	share/fish/vendor_completions.d/abc.fish; do
	[ -s "$usr/$file" ] || bad "$file is not installed"
done
[ -z "$(find "$temp/dest" -name '*sbx*')" ] || bad "installed under the usual name: $(find "$temp/dest" -name '*sbx*')"

# Formats, paths and variables keep their names: sbx.result/1, ~/.local/state/sbx, SBX_HOME.
names_usual() { grep -nE "(^|[^/.[:alnum:]_-])sbx([^./[:alnum:]_]|\$)|sbx-[a-z]+\([0-9]\)"; }
PATH=$usr/bin:$PATH
SBX_HOME=$temp/home
export PATH SBX_HOME
unset SBX_TRACE
look() { # WHAT COMMAND...
	what=$1
	shift
	timeout 60 "$@" >"$temp/out" 2>&1 </dev/null || :
	[ -s "$temp/out" ] || bad "$what: nothing is said"
	if names_usual <"$temp/out" >"$temp/found"; then bad "$what names another program: $(cat "$temp/found")"; fi
}
look usage abc --help
look version abc --version
look 'no command' abc
look 'unknown command' abc crate
look 'unknown option' abc --jsn
for command in $(abc __gen json | tr '{' '\n' | sed -n 's/^"name":"\([a-z]*\)","summary".*/\1/p'); do
	look "help of $command" abc "$command" --help
	look "an error of $command" abc "$command" --no-such-option
done
for shell in bash zsh fish; do
	look "completion for $shell" abc __gen $shell
done
abc __gen bash | cmp -s - "$usr/share/bash-completion/completions/abc" || bad "the completion for bash is another one"
abc __gen zsh | cmp -s - "$usr/share/zsh/site-functions/_abc" || bad "the completion for zsh is another one"
abc __gen fish | cmp -s - "$usr/share/fish/vendor_completions.d/abc.fish" || bad "the completion for fish is another one"
for page in "$usr"/share/man/man?/abc*; do
	look "$(basename "$page")" sed 's/\\-/-/g; s/\\f[BIR]//g; s/\\&//g' "$page"
done

# What is run for an unknown command.
mkdir "$temp/bin"
printf '#!/bin/sh\necho own program\n' >"$temp/bin/abc-own"
cp "$temp/bin/abc-own" "$temp/bin/sbx-usual"
chmod +x "$temp/bin"/*
PATH=$temp/bin:$PATH
[ "$(abc own)" = 'own program' ] || bad "abc-own is not run"
if abc usual >/dev/null 2>&1; then bad "sbx-usual is run"; fi
exit $failed
