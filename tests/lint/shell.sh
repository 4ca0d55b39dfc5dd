#!/bin/sh
# Each completion is read by its own shell, and asked once: shell.sh SHELL FILE PROGRAM
set -eu
shell=$1 file=$2
command -v "$shell" >/dev/null || { echo "skipped: no $shell here"; exit 77; }
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME="$home" SBX_HOME="$home/sbx"
mkdir "$home/bin"
ln -s "$(readlink -f "$3")" "$home/bin/sbx"
PATH=$home/bin:$PATH

# has LIST WORD…: every word is a line of the list
has() {
	list=$1; shift
	for word; do
		printf '%s\n' "$list" | cut -f 1 | grep -qx -- "$word" ||
			{ echo "$word is not offered, only:"; printf '%s\n' "$list"; exit 1; }
	done
}

case $shell in
bash)
	bash --norc -n "$file"
	# ask WORD…: the last one is being typed
	cat > "$home/ask" <<'END'
. "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sbx
printf '%s\n' "${COMPREPLY[@]}"
END
	ask() { bash --norc "$home/ask" "$file" "$@"; }
	has "$(ask sbx cr)" create
	has "$(ask sbx create --s)" --size
	has "$(ask sbx create --size = m)" medium
	has "$(ask sbx create --size '')" small medium large
	has "$(ask sbx create --runtime '')" shell
	has "$(ask sbx exec -e A=1 s en)" env
	;;
zsh)
	zsh -f -n "$file"
	# Driven through a terminal of its own: completion runs nowhere else.
	cat > "$home/ask" <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= ; fpath=($2 \$fpath); autoload -Uz compinit; compinit -u -D; . $1; LISTMAX=0"
zpty -w shell 'compadd() { if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi; local -a hits; builtin compadd -O hits "$@"; print -rl -- "" "offer:"${^hits}; builtin compadd "$@" }'
zpty -w shell 'sleep 0.5; echo rea''dy'
zpty -r -m shell line '*ready*'
zpty -w -n shell "$3"$'\t\t'
typeset all=
for i in {1..30}; do
	sleep 0.1
	while zpty -r -t shell line; do all+=$line; done
	[[ $all == *offer:* ]] && break
done
zpty -d shell
print -r -- "$all" | tr -d '\r' | sed -n 's/^.*offer://p'
END
	has "$(zsh -f "$home/ask" "$file" "$home" 'sbx create --size=')" small medium large
	;;
fish)
	fish --no-execute "$file"
	ask() { fish --no-config -c "source '$file'; complete -C '$1'"; }
	has "$(ask 'sbx cr')" create
	has "$(ask 'sbx create --si')" --size
	has "$(ask 'sbx create --size ')" small medium large
	has "$(ask 'sbx create --runtime ')" shell
	;;
esac
