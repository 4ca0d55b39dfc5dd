# shellcheck shell=bash
# The kept shell of a context: cells come in on descriptor 3, answers go out on 4 (DESIGN.md, 5).
#
# A cell runs in a forked subshell. At its EXIT the subshell writes its variables, functions,
# aliases, options, umask and directory as a script; the next cell begins with that script. The
# driver itself never reads it, so nothing that a cell defines can disturb the driver. What does
# not carry over: readonly variables (said with `lost`), traps, descriptors and jobs.
#
# The script lies in files without a name, made by large here-documents and opened again through
# /proc; two of them take turns, so that a cell that dies leaves the state before it.
#
# Each cell is a job with a process group of its own: SIGINT is passed on to it, SIGTERM kills
# it, and neither hurts the driver or what earlier cells left running. Bash 4.4 and later.

# Messages of bash carry the name and the line of what runs. With -c and the loop on its first
# line they read "bash: line 3: …", with the line of the cell.
if [[ ${1-} != define ]]; then
	# shellcheck disable=SC2016
	{
		loop='. "$1" define || exit 70; set --; while __sbx_read; do ( __sbx_enter; '
		loop+='. "$__sbx_old" >/dev/null 2>&1; __sbx_arm; builtin eval "$__sbx_trace$__sbx_code"; '
		loop+='{ __sbx_status=$?; } 2>/dev/null ) & __sbx_finish; done'
	}
	exec "$BASH" -c "$loop" bash "$0"
fi

# ---- Driver ------------------------------------------------------------------------------------

# Reads the next cell; the end of descriptor 3 is the end of the driver.
__sbx_read() {
	local id n_code n_cwd n_env verb pair IFS=' '
	read -r verb id n_code n_cwd n_env <&3 || exit 0
	[[ $verb == cell ]] || exit 70
	__sbx_id=$id __sbx_code='' __sbx_cwd='' __sbx_env=() __sbx_hit='' __sbx_child=''
	local LC_ALL=C # lengths are in bytes
	IFS=
	((n_code == 0)) || read -r -N "$n_code" __sbx_code <&3 || exit 0
	read -r -d '' pair <&3 || exit 0
	((n_cwd == 0)) || read -r -N "$n_cwd" __sbx_cwd <&3 || exit 0
	read -r -d '' pair <&3 || exit 0
	while ((n_env-- > 0)); do
		read -r -d '' pair <&3 || exit 0
		__sbx_env+=("$pair")
	done
	: >|"$__sbx_report"
}

# Waits for the subshell that was just started, and answers.
__sbx_finish() {
	local status said=() line lost=()
	__sbx_child=$!
	[[ -z $__sbx_hit ]] || kill -INT -- "-$__sbx_child"
	# wait also returns after a trap, and when the job stops, which nobody could continue. (wait -f
	# would ignore that, but bash 5.2 spins in it when a trap has reaped the job.)
	while :; do
		wait "$__sbx_child"
		status=$?
		((status > 128)) || break
		kill -0 "$__sbx_child" || break
		((status < 147 || status > 150)) || kill -CONT -- "-$__sbx_child"
	done
	__sbx_child=''
	while IFS= read -r line; do
		if [[ $line == 'lost '* ]]; then lost+=("${line#lost }"); else said+=("$line"); fi
	done <"$__sbx_report"
	__sbx_answer "$status" "${said[*]}" "${lost[@]}"
}

# Says how a cell ended. $1 status, $2 words of the report, then the names of what is lost.
__sbx_answer() {
	local status=$1 words=" $2 " word=error name n=0
	shift 2
	if [[ $words == *' cwd '* ]]; then
		__sbx_say error_name CwdError
		__sbx_say error_value "$__sbx_cwd: cannot go there"
	elif [[ $words == *' state '* ]]; then
		name=$__sbx_old __sbx_old=$__sbx_new __sbx_new=$name
		for name; do ((n++ < 1000)) && __sbx_say lost "$name"; done
	else
		__sbx_warn 'the shell of the cell was replaced or killed: variables, functions and directory' \
			'are as before it'
	fi
	[[ $words != *' broken '* ]] || __sbx_warn 'not all of the state of earlier cells could be read'
	[[ $words != *' name '* ]] || __sbx_warn 'a variable was left out: bash cannot have its name'
	if [[ $__sbx_hit == killed* ]] || { [[ -n $__sbx_hit ]] && ((status == 130)); }; then
		word=interrupted
	elif [[ $words == *' exit '* ]]; then
		word='exit'
	elif ((status == 0)); then
		word=ok
	fi
	printf 'done %s %s %d 0\n' "$__sbx_id" "$word" "$status" >&4
}

__sbx_say() {
	local LC_ALL=C
	printf '%s %d\n%s' "$1" "${#2}" "$2" >&4
}

__sbx_warn() {
	__sbx_say 'log warning' "$*"
}

__sbx_on_int() {
	__sbx_hit+=1
	[[ -z $__sbx_child ]] || kill -INT -- "-$__sbx_child"
}

__sbx_on_term() {
	[[ -n $__sbx_child ]] || exit 143
	__sbx_hit=killed
	kill -KILL -- "-$__sbx_child"
}

# ---- Cell: all of it runs in the subshell --------------------------------------------------------

__sbx_enter() {
	set +m
	exec 3<&- 4>&- 1>&"$__sbx_out" 2>&"$__sbx_err"
	exec {__sbx_out}>&- {__sbx_err}>&- {__sbx_fd_a}>&- {__sbx_fd_b}>&- {__sbx_fd_r}>&-
	trap - INT TERM
	__sbx_level=$BASH_SUBSHELL
}

# The last step before the code: overrides, then the traps and the options of earlier cells. The
# trap on INT is there because bash forgets a SIGINT when the command it waits for ends normally.
__sbx_arm() {
	builtin local __sbx_pair __sbx_name
	[[ ! -s $__sbx_old || -n ${__sbx_loaded-} ]] || builtin printf 'broken\n' >>"$__sbx_report"
	__sbx_home=$PWD
	if [[ -n $__sbx_cwd ]]; then
		builtin cd -- "$__sbx_cwd" 2>/dev/null || {
			builtin printf 'cwd\n' >>"$__sbx_report"
			builtin exit 126
		}
		__sbx_inside=$PWD
	fi
	__sbx_saved=()
	for __sbx_pair in "${__sbx_env[@]}"; do
		__sbx_name=${__sbx_pair%%=*}
		if [[ ! $__sbx_name =~ ^[A-Za-z_][A-Za-z0-9_]*$ || $__sbx_name == __sbx_* ]]; then
			builtin printf 'name\n' >>"$__sbx_report"
			continue
		fi
		__sbx_saved+=("$__sbx_name" "${__sbx_pair#*=}" "${!__sbx_name+set}" "${!__sbx_name-}")
		builtin declare -gx "$__sbx_name=${__sbx_pair#*=}"
	done
	trap() { __sbx_trap "$@"; }
	__sbx_set_traps
	builtin trap 'builtin exit 130 # __sbx_' INT
	builtin eval "${__sbx_options-}"
}

# The trap that hands the state back; an EXIT inside a function sees the locals of that function,
# which are no part of the state.
__sbx_set_traps() {
	builtin trap '{
		__sbx_code=$?
		[[ -z ${FUNCNAME-} ]] || builtin local -p >|"$__sbx_new"
		__sbx_leave "$__sbx_code"
	} {__sbx_err}>&2 2>/dev/null # __sbx_' EXIT
}

# The cell's own trap on EXIT is kept apart from ours; it runs after the state is written, so that
# an exit in it does no harm.
__sbx_trap() {
	# shellcheck disable=SC2064 # the words are the user's own
	if ((BASH_SUBSHELL != __sbx_level)) || [[ ${1-} == -l ]]; then
		builtin trap "$@"
		return
	fi
	if (($# == 0)) || [[ $1 == -[pP]* ]]; then
		[[ -z ${__sbx_exit-} ]] || builtin printf 'trap -- %s EXIT\n' "${__sbx_exit@Q}"
		builtin trap - EXIT # not to be shown
		__sbx_signal=$(builtin trap -p INT)
		[[ $__sbx_signal != *__sbx_* ]] || builtin trap - INT
		# shellcheck disable=SC2064
		builtin trap "$@"
		[[ $__sbx_signal != *__sbx_* ]] || builtin trap 'builtin exit 130 # __sbx_' INT
		__sbx_set_traps
		return
	fi
	(($# > 1)) || builtin set -- - "$1"
	[[ $1 != -- ]] || builtin shift
	__sbx_action=$1 __sbx_others=()
	builtin shift
	for __sbx_signal; do
		case $__sbx_signal in
		0 | [Ee][Xx][Ii][Tt] | SIGEXIT) __sbx_exit=${__sbx_action#-} ;;
		*) __sbx_others+=("$__sbx_signal") ;;
		esac
	done
	((${#__sbx_others[@]} == 0)) || builtin trap -- "$__sbx_action" "${__sbx_others[@]}"
}

# Runs at EXIT, with whatever functions and options the cell has left: POSIX mode finds unset
# before a function of that name, and without a function of its name builtin finds the rest.
__sbx_leave() {
	__sbx_set=$SHELLOPTS __sbx_shopt=$BASHOPTS
	POSIXLY_CORRECT=1
	unset -f builtin
	builtin unset -v POSIXLY_CORRECT
	builtin set +euxvfC +o posix
	builtin trap - DEBUG ERR RETURN
	[[ -n ${__sbx_status-} ]] || builtin printf 'exit\n' >>"$__sbx_report"
	__sbx_status=${__sbx_status:-$1}
	builtin unset -f trap
	[[ -z ${FUNCNAME[1]-} ]] || __sbx_drop_locals
	__sbx_restore
	__sbx_find_names
	{ __sbx_dump; } >|"$__sbx_new" && builtin printf 'state\n' >>"$__sbx_report"
	if [[ -n ${__sbx_exit-} ]]; then
		(builtin exit "$__sbx_status")
		builtin eval "$__sbx_exit" 2>&"$__sbx_err"
	fi
	builtin exit "$__sbx_status"
}

# unset in a function that was called takes away a local of the caller's.
__sbx_drop_locals() {
	while IFS=' ' builtin read -r _ _ __sbx_rest; do
		__sbx_rest=${__sbx_rest%%=*}
		[[ $__sbx_rest == *[!A-Za-z0-9_]* || $__sbx_rest == __sbx_* ]] || builtin unset -v "$__sbx_rest"
	done <"$__sbx_new"
}

# Ends the overrides; what the cell itself has changed stays.
__sbx_restore() {
	builtin set -- "${__sbx_saved[@]}"
	while (($# > 0)); do
		if [[ ${!1-} == "$2" ]]; then
			builtin unset -v "$1"
			[[ -z $3 ]] || builtin declare -gx "$1=$4"
		fi
		builtin shift 4
	done
	[[ -n ${__sbx_inside-} && $PWD == "$__sbx_inside" ]] || __sbx_home=$PWD
}

# What a list of names is needed of beforehand. No pipe, no substitution: forks may be denied.
__sbx_find_names() {
	__sbx_readonly=() __sbx_exported=()
	builtin readonly -p >|"$__sbx_new"
	builtin mapfile -t __sbx_lines <"$__sbx_new"
	for __sbx_rest in "${__sbx_lines[@]}"; do
		__sbx_rest=${__sbx_rest#declare -* }
		__sbx_readonly[${__sbx_rest%%=*}]=1
	done
	builtin declare -Fx >|"$__sbx_new"
	builtin mapfile -t __sbx_lines <"$__sbx_new"
	for __sbx_rest in "${__sbx_lines[@]}"; do
		__sbx_exported+=("${__sbx_rest##* }")
	done
}

# Writes the script that makes this state again.
__sbx_dump() {
	__sbx_seen=() __sbx_kept=()
	__sbx_dump_shopts
	__sbx_list
	# shellcheck disable=SC2154 # set by __sbx_list
	for __sbx_name in "${__sbx_names[@]}"; do
		[[ $__sbx_name != __sbx_* && -z ${__sbx_skipped[$__sbx_name]-} ]] || continue
		__sbx_seen[$__sbx_name]=1
		if [[ -z ${__sbx_readonly[$__sbx_name]-} ]]; then
			__sbx_kept+=("$__sbx_name")
		else
			builtin printf 'lost %s\n' "$__sbx_name" >>"$__sbx_report"
			builtin printf 'unset -v %s\n' "$__sbx_name"
		fi
	done
	builtin declare -p "${__sbx_kept[@]}"
	for __sbx_name in "${__sbx_base[@]}"; do
		[[ -z ${__sbx_skipped[$__sbx_name]-}${__sbx_seen[$__sbx_name]-} ]] || continue
		builtin printf 'unset -v %s\n' "$__sbx_name"
	done
	builtin umask -p
	builtin printf 'cd -- %q\n' "$__sbx_home"
	builtin alias -p
	__sbx_dump_options
	builtin unset -f "${__sbx_functions[@]}"
	builtin declare -f
	for __sbx_name in "${__sbx_exported[@]}"; do
		builtin printf 'builtin export -f %s\n' "$__sbx_name"
	done
	[[ :$__sbx_shopt: != *:expand_aliases:* ]] || builtin printf 'builtin shopt -s expand_aliases\n'
	builtin printf '__sbx_loaded=1\n'
}

# First, because extglob changes what a function may contain; but aliases would change a function.
__sbx_dump_shopts() {
	builtin local IFS=:
	for __sbx_name in $__sbx_shopt; do
		[[ :$__sbx_base_shopt:expand_aliases: != *:$__sbx_name:* ]] || continue
		builtin printf 'shopt -s %s\n' "$__sbx_name"
	done
	for __sbx_name in $__sbx_base_shopt; do
		[[ :$__sbx_shopt: == *:$__sbx_name:* ]] || builtin printf 'shopt -u %s\n' "$__sbx_name"
	done
}

# Last, because of errexit and its like; xtrace only with the code, or it would show this file.
__sbx_dump_options() {
	builtin local IFS=: __sbx_on='' __sbx_off=''
	for __sbx_name in $__sbx_set; do
		case $__sbx_name in
		braceexpand | hashall | interactive-comments | monitor | noexec | xtrace | verbose) ;;
		*) __sbx_on+="set -o $__sbx_name;" ;;
		esac
	done
	for __sbx_name in braceexpand hashall interactive-comments; do
		[[ :$__sbx_set: == *:$__sbx_name:* ]] || __sbx_off+="set +o $__sbx_name;"
	done
	builtin printf '__sbx_options=%q\n' "$__sbx_off$__sbx_on"
	__sbx_on=''
	[[ :$__sbx_set: != *:xtrace:* ]] || __sbx_on='set -x;'
	[[ :$__sbx_set: != *:verbose:* ]] || __sbx_on+='set -v;'
	builtin printf '__sbx_trace=%q\n' "$__sbx_on"
}

# ---- Start -------------------------------------------------------------------------------------

# Opens a file without a name. In memory, where it may be: to write and truncate on a disk costs
# a cell 3 ms. (The file of a here-document would do without mktemp, but only root can write to it.)
__sbx_open() {
	local file=
	# Landlock may forbid what the mode allows.
	[[ ! -w /dev/shm ]] || file=$(mktemp -p /dev/shm 2>/dev/null)
	[[ -n $file ]] || file=$(mktemp -p "${TMPDIR:-/tmp}") || { printf 'no temporary file\n' >&2; exit 70; }
	exec {__sbx_fd}<>"$file"
	rm -f "$file"
}

__sbx_start() {
	local pad letters
	declare -gA __sbx_readonly __sbx_seen __sbx_skipped
	__sbx_open; __sbx_fd_a=$__sbx_fd __sbx_old=/proc/$$/fd/$__sbx_fd
	__sbx_open; __sbx_fd_b=$__sbx_fd __sbx_new=/proc/$$/fd/$__sbx_fd
	__sbx_open; __sbx_fd_r=$__sbx_fd __sbx_report=/proc/$$/fd/$__sbx_fd
	exec {__sbx_out}>&1 {__sbx_err}>&2 >/dev/null 2>&1
	# shellcheck disable=SC2016 # expanded by eval
	printf -v letters ' "${!%s@}"' _ {a..z} {A..Z}
	eval "__sbx_list() { __sbx_names=($letters); }"
	__sbx_list
	__sbx_base_shopt=$BASHOPTS __sbx_trace=''
	for pad in "${__sbx_names[@]}"; do
		[[ $pad == __sbx_* ]] || __sbx_base+=("$pad")
		[[ $pad != BASH* || $pad == BASH_ENV ]] || __sbx_skipped[$pad]=1
	done
	# What bash makes itself, or keeps for one shell only.
	for pad in _ BASH_REMATCH COMP_WORDBREAKS COPROC DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID \
		FUNCNAME GROUPS HISTCMD LINENO PIPESTATUS PPID PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID; do
		__sbx_skipped[$pad]=1
	done
	while read -r _ _ letters; do
		__sbx_functions+=("$letters")
	done < <(declare -F)
	trap __sbx_on_int INT
	trap __sbx_on_term TERM
	set -m
}

__sbx_start
printf 'ready 1 0\n' >&4
