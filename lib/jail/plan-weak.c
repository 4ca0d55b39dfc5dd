/* The plan of a weak jail: directories, files, Landlock rules. */
#include <stddef.h>
#include <string.h>

#include "base/auto.h"
#include "jail/jail.h"
#include "jail/plan-inner.h"
#include "sys/landlock.h"

#define READ  (LANDLOCK_READ | LANDLOCK_READ_DIR)
#define RUN   (READ | LANDLOCK_EXECUTE)
#define WRITE (LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_TRUNCATE)

/* Relative paths are below the session's fs, which is the directory of its processes. */
static const struct plan_rule rules[] = {
	{ "up", LANDLOCK_ALL & ~(LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK | LANDLOCK_IOCTL_DEV) },
	{ "run", READ },
	{ "/usr", RUN }, { "/bin", RUN }, { "/sbin", RUN }, { "/lib", RUN }, { "/lib64", RUN },
	{ "/lib32", RUN }, { "/libx32", RUN },
	/* Of /etc what the skeleton of a strong session has, from the host. */
	{ "/etc/passwd", READ }, { "/etc/group", READ }, { "/etc/nsswitch.conf", READ },
	{ "/etc/hosts", READ }, { "/etc/ld.so.cache", READ }, { "/etc/ld.so.conf", READ },
	{ "/etc/ld.so.conf.d", READ }, { "/etc/ssl/certs", READ }, { "/etc/ssl/openssl.cnf", READ },
	{ "/etc/ca-certificates", READ }, { "/etc/alternatives", READ }, { "/etc/localtime", READ },
	{ "/etc/timezone", READ }, { "/etc/mime.types", READ }, { "/etc/services", READ },
	{ "/etc/protocols", READ }, { "/etc/profile", READ }, { "/etc/bash.bashrc", READ },
	{ "/etc/inputrc", READ }, { "/etc/os-release", READ }, { "/etc/debian_version", READ },
	{ "/etc/python3", READ }, { "/etc/python3.11", READ }, { "/etc/gitconfig", READ },
	{ "/dev/null", WRITE | LANDLOCK_IOCTL_DEV }, { "/dev/zero", WRITE }, { "/dev/full", WRITE },
	{ "/dev/random", LANDLOCK_READ }, { "/dev/urandom", LANDLOCK_READ },
	{ "/dev/tty", WRITE | LANDLOCK_IOCTL_DEV },
	/* Nothing of a process, not even of its own: that would be everybody's. */
	{ "/proc/cpuinfo", READ }, { "/proc/meminfo", READ }, { "/proc/stat", READ },
	{ "/proc/loadavg", READ }, { "/proc/uptime", READ }, { "/proc/version", READ },
	{ "/proc/filesystems", READ }, { "/sys/devices/system/cpu", READ },
};

static void add_directory(struct plan *p, const char *path, uint32_t mode, uint32_t flags)
{
	plan_add(p, (struct plan_op){ .kind = PLAN_DIRECTORY, .path = path, .number = mode,
		.flags = flags });
}

void plan_add_weak(struct plan *p, const struct jail_spec *s, const char *names)
{
	plan_add(p, (struct plan_op){ .kind = PLAN_KEYRING });
	add_directory(p, "run", 0755, 0);
	for (size_t i = 0; i < s->n_files; i++) {
		plan_add(p, (struct plan_op){ .kind = PLAN_FILE, .path = names, .number = 0444,
			.data = s->files[i].data, .n = s->files[i].n });
		names += strlen(names) + 1;
	}
	add_directory(p, "up/workspace", 0755, PLAN_PAYLOAD);
	add_directory(p, "up/home", 0755, PLAN_PAYLOAD);
	add_directory(p, "up/home/sandbox", 0755, PLAN_PAYLOAD);
	add_directory(p, "up/tmp", 0755, PLAN_PAYLOAD);
	add_directory(p, "up/var", 0755, PLAN_PAYLOAD);
	add_directory(p, "up/var/tmp", 0755, PLAN_PAYLOAD);
	for (size_t i = 0; i < array_size(rules); i++)
		p->rules[p->n_rules++] = rules[i];
}
