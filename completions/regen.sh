#!/bin/sh
# Writes the completions anew: regen.sh PROGRAM DIRECTORY
set -eu
for shell in bash zsh fish; do
	"$1" __gen "$shell" > "$2/sbx.$shell.new"
	mv "$2/sbx.$shell.new" "$2/sbx.$shell"
done
