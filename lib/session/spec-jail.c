#include "base/limits.h"
#include "jail/jail.h"
#include "session/spec.h"
#include "session/start.h"

/* Without a memory limit /dev/shm must have one of its own: it is memory. */
#define SHM_BYTES (64 * MIB)

void spec_jail(const struct session_spec *s, uint32_t id_base, struct jail_spec *ret)
{
	uint64_t memory_bytes = s->limits[LIMIT_MEMORY];

	*ret = (struct jail_spec){
		.id = s->id,
		.hostname = s->name[0] ? s->name : "sandbox",
		.fs_fd = -1,
		.skel_fd = -1,
		.base_fd = -1,
		.disk_fd = -1,
		.has_base = s->runtime_dir,
		.id_base = id_base,
		.is_weak = s->isolation == ISOLATION_WEAK,
		.shm_bytes = memory_bytes ? memory_bytes / 2 : SHM_BYTES,
		.disk = s->disk == DISK_LOOP ? JAIL_DISK_MOUNT :
			s->disk == DISK_TMPFS ? JAIL_DISK_TMPFS : JAIL_DISK_PLAIN,
		.disk_bytes = s->limits[LIMIT_DISK],
		.deny_fallocate = s->limits[LIMIT_DISK] && s->disk == DISK_PLAIN,
		.files = driver_files(),
		.n_files = s->one_command ? 0 : DRIVERS,
	};
}

void spec_temp_dirs(const struct session_spec *s, char **ret)
{
	static char tmp[] = "/tmp", var_tmp[] = "/var/tmp", shm[] = "/dev/shm";

	ret[0] = tmp;
	ret[1] = var_tmp;
	ret[2] = s->isolation == ISOLATION_WEAK ? NULL : shm;
	ret[3] = NULL;
}
