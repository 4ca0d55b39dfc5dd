/* The embedded drivers as files for the jail. */
#include "session/start.h"

extern const char driver_python[], driver_python_end[], driver_node[], driver_node_end[],
	driver_shell[], driver_shell_end[];

const struct jail_file *driver_files(void)
{
	static struct jail_file files[DRIVERS];

	/* The byte behind each is a NUL that is not part of it. */
	files[0] = (struct jail_file){ "python.py", driver_python,
		(size_t)(driver_python_end - driver_python - 1) };
	files[1] = (struct jail_file){ "node.js", driver_node,
		(size_t)(driver_node_end - driver_node - 1) };
	files[2] = (struct jail_file){ "shell.sh", driver_shell,
		(size_t)(driver_shell_end - driver_shell - 1) };
	return files;
}
