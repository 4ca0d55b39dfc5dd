/* The drivers of the kept interpreters, as they are in drivers/, inside the program. */
	.section .rodata
	.macro driver name, path
	.global \name
	.hidden \name
	.balign 16
\name:
	.incbin "\path"
	.byte 0
	.global \name\()_end
	.hidden \name\()_end
\name\()_end:
	.endm

	driver driver_python, "lib/session/drivers/python.py"
	driver driver_node, "lib/session/drivers/node.js"
	driver driver_shell, "lib/session/drivers/shell.sh"
	.section .note.GNU-stack, "", %progbits
