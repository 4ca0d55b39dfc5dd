# bash completion for sbx; written by 'sbx __gen bash'
_sbx() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]}
	local valued='' ended='' n=0 i
	COMPREPLY=()
	# bash takes --a=b for three words.
	if [[ $cur == = ]]; then
		cur=''
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	if [[ $COMP_CWORD -eq 1 ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'help create exec run shell stop start touch rm cp clean list show events context doctor' -- "$cur")
		return
	fi
	case $cmd in
	create) valued=' --file -f --preload --name --on-threshold --class --lifetime --idle-timeout --dormant-after --exec-timeout --runtime --size --cpu --memory -m --disk --pids --nofile --require --isolation --output-keep --env -e --env-file ' ;;
	exec) valued=' --code -c --file -f --lang --workdir -w --timeout --cpu-time --secret-env --status-fd --context --env -e --env-file --output-keep --request-id --detach-keys --request ' ;;
	run) valued=' --code -c --file -f --lang --workdir -w --timeout --cpu-time --secret-env --status-fd --runtime --size --cpu --memory -m --disk --pids --nofile --require --isolation --output-keep --env -e --env-file ' ;;
	shell) valued=' --workdir -w --env -e --env-file --timeout --detach-keys --secret-env ' ;;
	stop) valued=' ' ;;
	start) valued=' ' ;;
	touch) valued=' --lifetime ' ;;
	rm) valued=' ' ;;
	cp) valued=' ' ;;
	clean) valued=' ' ;;
	list) valued=' --status --class --columns ' ;;
	show) valued=' ' ;;
	events) valued=' --since --format --types ' ;;
	context) valued=' --columns --lang ' ;;
	doctor) valued=' ' ;;
	esac
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) ended=1 ;;
		-?*)
			[[ $valued == *" ${COMP_WORDS[i]} "* ]] && i=$((i + 1))
			[[ ${COMP_WORDS[i]} == = ]] && i=$((i + 1))
			;;
		*) n=$((n + 1)) ;;
		esac
	done
	case $cmd,$prev in
	create,--file|create,-f) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	create,--on-threshold) mapfile -t COMPREPLY < <(compgen -W 'warn clean stop' -- "$cur"); return ;;
	create,--class) mapfile -t COMPREPLY < <(compgen -W 'task workspace' -- "$cur"); return ;;
	create,--runtime) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete runtime 2>/dev/null)" -- "$cur"); return ;;
	create,--size) mapfile -t COMPREPLY < <(compgen -W 'small medium large' -- "$cur"); return ;;
	create,--isolation) mapfile -t COMPREPLY < <(compgen -W 'strong weak' -- "$cur"); return ;;
	create,--env-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	create,--preload|create,--name|create,--lifetime|create,--idle-timeout|create,--dormant-after|create,--exec-timeout|create,--cpu|create,--memory|create,-m|create,--disk|create,--pids|create,--nofile|create,--require|create,--output-keep|create,--env|create,-e) return ;;
	exec,--file|exec,-f) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	exec,--env-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	exec,--request) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	exec,--code|exec,-c|exec,--lang|exec,--workdir|exec,-w|exec,--timeout|exec,--cpu-time|exec,--secret-env|exec,--status-fd|exec,--context|exec,--env|exec,-e|exec,--output-keep|exec,--request-id|exec,--detach-keys) return ;;
	run,--file|run,-f) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	run,--runtime) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete runtime 2>/dev/null)" -- "$cur"); return ;;
	run,--size) mapfile -t COMPREPLY < <(compgen -W 'small medium large' -- "$cur"); return ;;
	run,--isolation) mapfile -t COMPREPLY < <(compgen -W 'strong weak' -- "$cur"); return ;;
	run,--env-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	run,--code|run,-c|run,--lang|run,--workdir|run,-w|run,--timeout|run,--cpu-time|run,--secret-env|run,--status-fd|run,--cpu|run,--memory|run,-m|run,--disk|run,--pids|run,--nofile|run,--require|run,--output-keep|run,--env|run,-e) return ;;
	shell,--env-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	shell,--workdir|shell,-w|shell,--env|shell,-e|shell,--timeout|shell,--detach-keys|shell,--secret-env) return ;;
	touch,--lifetime) return ;;
	list,--status) mapfile -t COMPREPLY < <(compgen -W 'live dormant stopped expired damaged' -- "$cur"); return ;;
	list,--class) mapfile -t COMPREPLY < <(compgen -W 'ephemeral task workspace' -- "$cur"); return ;;
	list,--columns) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete columns list)" -- "$cur"); return ;;
	events,--format) mapfile -t COMPREPLY < <(compgen -W 'text json sse' -- "$cur"); return ;;
	events,--since|events,--types) return ;;
	context,--columns) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete columns context)" -- "$cur"); return ;;
	context,--lang) return ;;
	esac
	if [[ $cur == -* && ! $ended ]]; then
		case $cmd in
		create) mapfile -t COMPREPLY < <(compgen -W '--file --preload --name --on-threshold --class --lifetime --idle-timeout --dormant-after --exec-timeout --runtime --size --cpu --memory --disk --pids --nofile --require --isolation --output-keep --env --env-file --json --quiet --dry-run --help' -- "$cur") ;;
		exec) mapfile -t COMPREPLY < <(compgen -W '--code --file --lang --workdir --timeout --cpu-time --interactive --tty --secret-env --json --stream --status-fd --no-result --context --fresh --env --env-file --output-keep --request-id --detach-keys --request --help' -- "$cur") ;;
		run) mapfile -t COMPREPLY < <(compgen -W '--code --file --lang --workdir --timeout --cpu-time --interactive --tty --secret-env --json --stream --status-fd --no-result --runtime --size --cpu --memory --disk --pids --nofile --require --isolation --output-keep --env --env-file --help' -- "$cur") ;;
		shell) mapfile -t COMPREPLY < <(compgen -W '--workdir --env --env-file --timeout --detach-keys --secret-env --help' -- "$cur") ;;
		stop) mapfile -t COMPREPLY < <(compgen -W '--help' -- "$cur") ;;
		start) mapfile -t COMPREPLY < <(compgen -W '--help' -- "$cur") ;;
		touch) mapfile -t COMPREPLY < <(compgen -W '--lifetime --help' -- "$cur") ;;
		rm) mapfile -t COMPREPLY < <(compgen -W '--force --help' -- "$cur") ;;
		cp) mapfile -t COMPREPLY < <(compgen -W '--follow-link --help' -- "$cur") ;;
		clean) mapfile -t COMPREPLY < <(compgen -W '--json --quiet --help' -- "$cur") ;;
		list) mapfile -t COMPREPLY < <(compgen -W '--all --status --class --columns --quiet --json --help' -- "$cur") ;;
		show) mapfile -t COMPREPLY < <(compgen -W '--json --instructions --help' -- "$cur") ;;
		events) mapfile -t COMPREPLY < <(compgen -W '--follow --until-idle --since --format --types --help' -- "$cur") ;;
		context) mapfile -t COMPREPLY < <(compgen -W '--columns --json --lang --help' -- "$cur") ;;
		doctor) mapfile -t COMPREPLY < <(compgen -W '--json --help' -- "$cur") ;;
		esac
		return
	fi
	case $cmd,$n in
	exec,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	exec,1) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	exec,*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	run,0) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	run,*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	shell,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	shell,1) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	shell,*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	stop,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	start,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	touch,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	rm,*) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	cp,0) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	cp,1) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	clean,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	show,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	events,0) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	context,0) mapfile -t COMPREPLY < <(compgen -W 'list rm' -- "$cur") ;;
	context,1) mapfile -t COMPREPLY < <(compgen -W "$(sbx __complete session 2>/dev/null)" -- "$cur") ;;
	esac
}
complete -F _sbx sbx
