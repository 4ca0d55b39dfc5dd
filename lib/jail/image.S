/* The program sbx-init, built for this library; see image.h. */
	.section .rodata
	.globl jail_image
	.hidden jail_image
	.globl jail_image_end
	.hidden jail_image_end
	.balign 16
jail_image:
	.incbin INIT_FILE
jail_image_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits
