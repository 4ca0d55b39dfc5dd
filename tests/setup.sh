#!/bin/sh
# Installs what a job needs through apt, or names exactly what is missing.
#   setup.sh build|demo|check|vm|bench
set -eu
job=${1:?usage: setup.sh build|demo|check|vm|bench}

build='gcc libc6-dev meson ninja-build pkg-config libyaml-dev libjson-c-dev libarchive-dev libcmocka-dev musl-tools scdoc'
demo='python3 nodejs bash'
check="$demo jq python3-pip python3-setuptools python3-wheel python3-matplotlib util-linux clang libclang-rt-14-dev clang-tidy cppcheck mandoc zsh fish shellcheck bubblewrap strace procps busybox-static e2fsprogs"
check="$check tmux vim-tiny less"
check="$check iproute2 stress-ng"
vm="$demo qemu-system-x86 e2fsprogs strace uidmap"
bench="$demo bubblewrap crun jq python3-ipykernel"

case $job in
build) wanted=$build ;;
demo) wanted="$build $demo" ;;
check) wanted="$build $check" ;;
vm) wanted="$build $vm" ;;
bench) wanted="$build $bench" ;;
*) echo "setup.sh: no such job: $job" >&2; exit 2 ;;
esac

# A program that is there from elsewhere is as good as its package.
has() {
	case $1 in
	nodejs) command -v node >/dev/null && return 0 ;;
	gcc | meson | clang | clang-tidy | cppcheck | mandoc | zsh | fish | shellcheck | jq | crun | strace | scdoc | tmux | less)
		command -v "$1" >/dev/null && return 0 ;;
	esac
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

if ! command -v dpkg-query >/dev/null; then
	echo "setup.sh: this is no Debian; these packages (or what they are called here) are needed: $wanted" >&2
	exit 0
fi
missing=
for package in $wanted; do
	has "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root='sudo -n'
else
	echo "setup.sh: missing packages:$missing" >&2
	echo "setup.sh: run as root: apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
install() {
	# shellcheck disable=SC2086 # a list of words
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install; then
	$as_root apt-get update -qq
	install || { tail -20 "$log" >&2; exit 1; }
fi
