#compdef sbx
# written by 'sbx __gen zsh'
_sbx_words() {
	local -a words
	words=(${(f)"$(sbx __complete $1 ${2-} 2>/dev/null)"})
	compadd -a words
}
_sbx() {
	local -a commands
	commands=(
		'create:Make a session and print its id'
		'exec:Run a command, or code with kept state, in a session'
		'run:Run one command or code in a session of its own'
		'shell:Open an interactive terminal in a session'
		'stop:End a session'\''s processes and sync its files'
		'start:Let a stopped session run again'
		'touch:Put off the end of a session that is not in use'
		'rm:Remove sessions with everything in them'
		'cp:Copy files into and out of a session'
		'clean:Empty the temporary directories of a session'
		'list:List sessions, oldest first'
		'show:Show one session, without waking it'
		'events:Print the journal of a session, or follow it'
		'context:List or end a session'\''s kept interpreters'
		'doctor:Try what holds here, and say how to mend what does not'
		'help:Show the help of a command'
	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	local cmd=$words[2]
	shift words
	(( CURRENT-- ))
	case $cmd in
	create) _arguments -s -S \
		{-f+,--file=}'[read it from YAML or JSON; - is stdin]:FILE:_files' \
		'*'--preload='[keep a python ready that has imported these]:MODULE,...: ' \
		--name='[a name besides the id]:NAME: ' \
		--on-threshold='[what passing 80 % of memory or disk does]:ACTION:(warn clean stop)' \
		--class='[what idling ends it]:CLASS:(task workspace)' \
		--lifetime='[end it after this time; 0\: never]:TIME: ' \
		--idle-timeout='[end or stop it when unused for; 0\: never]:TIME: ' \
		--dormant-after='[let processes go when unused for; 0\: never]:TIME: ' \
		--exec-timeout='[time limit of an execution; 0\: none]:TIME: ' \
		--runtime='[python\:3.11, node\:20, shell, or dir\:PATH]:NAME:_sbx_words runtime' \
		--size='[limits by name]:SIZE:(small medium large)' \
		--cpu='[how many CPUs it may use]:N: ' \
		{-m+,--memory=}'[most memory, as in 2Gi]:SIZE: ' \
		--disk='[most bytes in its files; KIND\: loop, tmpfs]:[KIND:]SIZE: ' \
		--pids='[most processes and threads at once]:N: ' \
		--nofile='[most open files of a process]:N: ' \
		'*'--require='[fail where these limits cannot be enforced]:LIMIT,...: ' \
		--isolation='[weak\: without namespaces, where there are none]:KIND:(strong weak)' \
		--output-keep='[output kept of an execution]:SIZE: ' \
		'*'{-e+,--env=}'[environment variable; NAME\: as it is here]:NAME=VALUE: ' \
		--env-file='[read NAME=VALUE lines, taken as they are]:FILE:_files' \
		--json'[write one JSON object]' \
		{-q,--quiet}'[write the id and nothing else]' \
		--dry-run'[print the plan of the jail and make nothing]' \
		{-h,--help}'[show this text]' ;;
	exec) _arguments -s -S \
		{-c+,--code=}'[run code in the kept interpreter]:CODE: ' \
		{-f+,--file=}'[run the code in a file; - is stdin]:FILE:_files' \
		--lang='[python, node or shell; else by the ending of FILE]:NAME: ' \
		{-w+,--workdir=}'[working directory inside]:DIR: ' \
		--timeout='[end it after this time; 0\: never]:TIME: ' \
		--cpu-time='[end a process after so much CPU time]:TIME: ' \
		{-i,--interactive}'[pass standard input on to the command]' \
		{-t,--tty}'[give it a terminal, and no time limit by default]' \
		'*'--secret-env='[keep the value of a variable out of the record]:NAME: ' \
		--json'[write the result as one JSON object]' \
		--stream'[write events as they happen, then the result]' \
		--status-fd='[write the result'\''s status to descriptor N]:N: ' \
		--no-result'[do not print the value of a last expression]' \
		--context='[which interpreter; main if not given]:NAME: ' \
		--fresh'[start the interpreter anew first]' \
		'*'{-e+,--env=}'[environment variable; NAME\: as it is here]:NAME=VALUE: ' \
		--env-file='[read NAME=VALUE lines, taken as they are]:FILE:_files' \
		--output-keep='[output kept of it]:SIZE: ' \
		--request-id='[give the first result of this id again]:ID: ' \
		--detach-keys='[keys that leave it running, as in ctrl-p,ctrl-q]:KEYS: ' \
		--request='[read the request from JSON; - is stdin]:FILE:_files' \
		{-h,--help}'[show this text]' \
		'1::SESSION:_sbx_words session' \
		'(-)2:COMMAND:_command_names -e' \
		'(-)*::COMMAND:_normal' ;;
	run) _arguments -s -S \
		{-c+,--code=}'[run code in the kept interpreter]:CODE: ' \
		{-f+,--file=}'[run the code in a file; - is stdin]:FILE:_files' \
		--lang='[python, node or shell; else by the ending of FILE]:NAME: ' \
		{-w+,--workdir=}'[working directory inside]:DIR: ' \
		--timeout='[end it after this time; 0\: never]:TIME: ' \
		--cpu-time='[end a process after so much CPU time]:TIME: ' \
		{-i,--interactive}'[pass standard input on to the command]' \
		{-t,--tty}'[give it a terminal, and no time limit by default]' \
		'*'--secret-env='[keep the value of a variable out of the record]:NAME: ' \
		--json'[write the result as one JSON object]' \
		--stream'[write events as they happen, then the result]' \
		--status-fd='[write the result'\''s status to descriptor N]:N: ' \
		--no-result'[do not print the value of a last expression]' \
		--runtime='[python\:3.11, node\:20, shell, or dir\:PATH]:NAME:_sbx_words runtime' \
		--size='[limits by name]:SIZE:(small medium large)' \
		--cpu='[how many CPUs it may use]:N: ' \
		{-m+,--memory=}'[most memory, as in 2Gi]:SIZE: ' \
		--disk='[most bytes in its files; KIND\: loop, tmpfs]:[KIND:]SIZE: ' \
		--pids='[most processes and threads at once]:N: ' \
		--nofile='[most open files of a process]:N: ' \
		'*'--require='[fail where these limits cannot be enforced]:LIMIT,...: ' \
		--isolation='[weak\: without namespaces, where there are none]:KIND:(strong weak)' \
		--output-keep='[output kept of an execution]:SIZE: ' \
		'*'{-e+,--env=}'[environment variable; NAME\: as it is here]:NAME=VALUE: ' \
		--env-file='[read NAME=VALUE lines, taken as they are]:FILE:_files' \
		{-h,--help}'[show this text]' \
		'(-)1:COMMAND:_command_names -e' \
		'(-)*::COMMAND:_normal' ;;
	shell) _arguments -s -S \
		{-w+,--workdir=}'[working directory inside]:DIR: ' \
		'*'{-e+,--env=}'[environment variable; NAME\: as it is here]:NAME=VALUE: ' \
		--env-file='[read NAME=VALUE lines, taken as they are]:FILE:_files' \
		--timeout='[end it after this time; 0\: never]:TIME: ' \
		--detach-keys='[keys that leave it running, as in ctrl-p,ctrl-q]:KEYS: ' \
		'*'--secret-env='[keep the value of a variable out of the record]:NAME: ' \
		{-h,--help}'[show this text]' \
		'1:SESSION:_sbx_words session' \
		'(-)2:COMMAND:_command_names -e' \
		'(-)*::COMMAND:_normal' ;;
	stop) _arguments -s -S \
		{-h,--help}'[show this text]' \
		'1:SESSION:_sbx_words session' ;;
	start) _arguments -s -S \
		{-h,--help}'[show this text]' \
		'1:SESSION:_sbx_words session' ;;
	touch) _arguments -s -S \
		--lifetime='[end it this long from now; 0\: never]:TIME: ' \
		{-h,--help}'[show this text]' \
		'1:SESSION:_sbx_words session' ;;
	rm) _arguments -s -S \
		{-f,--force}'[a session that does not exist is no failure]' \
		{-h,--help}'[show this text]' \
		'*:SESSION:_sbx_words session' ;;
	cp) _arguments -s -S \
		{-L,--follow-link}'[follow SRC when it is a link]' \
		{-h,--help}'[show this text]' \
		'1:SRC:_files' \
		'2:DST:_files' ;;
	clean) _arguments -s -S \
		--json'[write one JSON object]' \
		{-q,--quiet}'[do not say what was freed]' \
		{-h,--help}'[show this text]' \
		'1:SESSION:_sbx_words session' ;;
	list) _arguments -s -S \
		--all'[also those that a run has made for itself]' \
		--status='[only with this status]:STATUS:(live dormant stopped expired damaged)' \
		--class='[only of this class]:CLASS:(ephemeral task workspace)' \
		--columns='[show these columns]:NAME,...:_sbx_words columns list' \
		{-q,--quiet}'[write only the ids]' \
		--json'[write one JSON object a session]' \
		{-h,--help}'[show this text]' ;;
	show) _arguments -s -S \
		--json'[write one JSON object]' \
		--instructions'[write only the text for a model]' \
		{-h,--help}'[show this text]' \
		'1:SESSION:_sbx_words session' ;;
	events) _arguments -s -S \
		--follow'[wait for more until the session is destroyed]' \
		--until-idle'[wait for more until nothing runs any more]' \
		--since='[begin behind this event]:SEQ: ' \
		--format='[how events are written]:FORMAT:(text json sse)' \
		--types='[only events of these types]:TYPE,...: ' \
		{-h,--help}'[show this text]' \
		'1:SESSION:_sbx_words session' ;;
	context) _arguments -s -S \
		--columns='[show these columns]:NAME,...:_sbx_words columns context' \
		--json'[write one JSON object a context]' \
		--lang='[of this language, for rm]:NAME: ' \
		{-h,--help}'[show this text]' \
		'1:list|rm:(list rm)' \
		'2:SESSION:_sbx_words session' \
		'3::CONTEXT: ' ;;
	doctor) _arguments -s -S \
		--json'[write one JSON object]' \
		{-h,--help}'[show this text]' ;;
	esac
}
if [ "$funcstack[1]" = _sbx ]; then
	_sbx "$@"
else
	compdef _sbx sbx
fi
