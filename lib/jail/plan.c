#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/auto.h"
#include "base/id.h"
#include "base/mem.h"
#include "jail/jail.h"
#include "jail/plan-inner.h"
#include "jail/policy.h"
#include "jail/walls.h"
#include "sys/landlock.h"

#define SAFE (KERNEL_MOUNT_NOSUID | KERNEL_MOUNT_NODEV)
#define DEAD (SAFE | KERNEL_MOUNT_NOEXEC)

/* Group 5 is that of terminals everywhere; it exists inside only with a block of ids. All
 * mounts share kernel.pty.max (4096). */
#define PTS_OPTIONS "ptmxmode=0666,mode=0620,max=256"

static bool is_off(enum plan_kind kind, const char *path)
{
	static const char *const names[] = {
#define X(name, json) [PLAN_##name] = json,
#include "jail/plan.def"
#undef X
	};

	return wall_is_off_of(names[kind], path ? path : "");
}

static void add(struct plan *p, struct plan_op op)
{
	if (is_off(op.kind, op.path))
		return;
	if (wall_is_off("nosuid"))
		op.attr &= ~SAFE;
	if (wall_is_off("readonly"))
		op.attr &= ~KERNEL_MOUNT_RDONLY;
	op.path = op.path ? op.path : "";
	op.source = op.source ? op.source : "";
	op.options = op.options ? op.options : "";
	p->ops[p->n_ops++] = op;
}

void plan_add(struct plan *p, struct plan_op op)
{
	add(p, op);
}

static void add_exec(struct plan *p, enum plan_kind kind, const char *path)
{
	if (is_off(kind, path))
		return;
	p->exec_ops[p->n_exec_ops++] = (struct plan_op){ .kind = kind, .path = path,
		.flags = kind == PLAN_PROC ? 0 : PLAN_OPTIONAL, .attr = DEAD, .source = "",
		.options = "" };
}

static void add_bind(struct plan *p, const char *path, const char *source, uint32_t flags)
{
	add(p, (struct plan_op){ .kind = PLAN_BIND, .path = path, .source = source,
		.flags = flags | PLAN_RECURSIVE, .attr = SAFE | KERNEL_MOUNT_RDONLY });
}

static void add_mount(struct plan *p, const char *path, const char *type, const char *options,
	uint32_t attr)
{
	add(p, (struct plan_op){ .kind = PLAN_MOUNT, .path = path, .source = type,
		.options = options, .attr = attr });
}

/* The host's programs, over the skeleton. */
static void add_usr(struct plan *p)
{
	add_bind(p, "usr", "/usr", 0);
	/* Where they are links on the host, the skeleton has the same links. */
	static const char *const merged[] = { "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32" };
	for (size_t i = 0; i < array_size(merged); i++)
		add_bind(p, merged[i] + 1, merged[i], PLAN_OPTIONAL);
}

/* The words that make_strings put together, in this order. */
struct words {
	const char *overlay, *shm, *disk, *files;
};

static void add_root(struct plan *p, const struct jail_spec *s, const struct words *w)
{
	add(p, (struct plan_op){ .kind = PLAN_SKELETON, .attr = SAFE });
	if (s->has_base)
		add(p, (struct plan_op){ .kind = PLAN_BASE, .attr = SAFE | KERNEL_MOUNT_RDONLY });
	if (s->disk != JAIL_DISK_PLAIN)
		add(p, (struct plan_op){ .kind = PLAN_DISK, .attr = SAFE, .options = w->disk,
			.source = s->disk == JAIL_DISK_TMPFS ? "tmpfs" : "" });
	add(p, (struct plan_op){ .kind = PLAN_OVERLAY, .attr = SAFE, .options = w->overlay });
	/* A root of its own has its own, whatever it has in the place of the links. */
	if (!s->has_base)
		add_usr(p);
	/* Of init alone: each exec-init puts its own in its place. The kernel gives no new one
	 * where none is to be seen, so it has to be there before the old root goes. */
	add_mount(p, "proc", "proc", "", DEAD);
	add_mount(p, "sys", "tmpfs", "size=4k,nr_inodes=2,mode=0555", DEAD | KERNEL_MOUNT_RDONLY);
}

/* What every program takes for granted must be there; a small container has no more. */
static void add_device(struct plan *p, const char *path, uint32_t minor_number, uint32_t flags)
{
	uint32_t major_number = minor_number ? 1 : 5;

	add(p, (struct plan_op){ .kind = PLAN_DEVICE, .path = path + 1, .source = path,
		.flags = flags, .attr = KERNEL_MOUNT_NOSUID | KERNEL_MOUNT_NOEXEC,
		.number = (uint32_t)makedev(major_number, minor_number) });
}

static void add_dev(struct plan *p, bool has_ids, const char *shm_options)
{
	static const struct {
		const char *name, *target;
	} links[] = { { "dev/ptmx", "pts/ptmx" }, { "dev/fd", "/proc/self/fd" },
		{ "dev/stdin", "/proc/self/fd/0" }, { "dev/stdout", "/proc/self/fd/1" },
		{ "dev/stderr", "/proc/self/fd/2" } };

	add_mount(p, "dev", "tmpfs", "size=64k,nr_inodes=64,mode=0755",
		KERNEL_MOUNT_NOSUID | KERNEL_MOUNT_NODEV | KERNEL_MOUNT_NOEXEC);
	add_device(p, "/dev/null", 3, 0);
	add_device(p, "/dev/zero", 5, 0);
	add_device(p, "/dev/full", 7, PLAN_OPTIONAL);
	add_device(p, "/dev/random", 8, PLAN_OPTIONAL);
	add_device(p, "/dev/urandom", 9, 0);
	add_device(p, "/dev/tty", 0, PLAN_OPTIONAL);
	add(p, (struct plan_op){ .kind = PLAN_DIRECTORY, .path = "dev/pts", .number = 0755 });
	add(p, (struct plan_op){ .kind = PLAN_DIRECTORY, .path = "dev/shm", .number = 0755 });
	add_mount(p, "dev/pts", "devpts", has_ids ? PTS_OPTIONS ",gid=5" : PTS_OPTIONS,
		KERNEL_MOUNT_NOSUID | KERNEL_MOUNT_NOEXEC);
	add_mount(p, "dev/shm", "tmpfs", shm_options, DEAD);
	for (size_t i = 0; i < array_size(links); i++)
		add(p, (struct plan_op){ .kind = PLAN_LINK, .path = links[i].name,
			.source = links[i].target });
	add(p, (struct plan_op){ .kind = PLAN_READ_ONLY, .path = "dev",
		.attr = KERNEL_MOUNT_RDONLY });
	if (wall_is_off("dev"))
		add(p, (struct plan_op){ .kind = PLAN_BIND, .path = "dev", .source = "/dev",
			.flags = PLAN_RECURSIVE, .attr = KERNEL_MOUNT_NOSUID | KERNEL_MOUNT_RDONLY });
}

static void add_files(struct plan *p, const struct jail_spec *s, const char *names)
{
	if (!s->n_files)
		return;
	add_mount(p, "run/sbx", "tmpfs", "size=16m,nr_inodes=64,mode=0755", SAFE);
	for (size_t i = 0; i < s->n_files; i++) {
		add(p, (struct plan_op){ .kind = PLAN_FILE, .path = names, .number = 0444,
			.data = s->files[i].data, .n = s->files[i].n });
		names += strlen(names) + 1;
	}
	add(p, (struct plan_op){ .kind = PLAN_READ_ONLY, .path = "run/sbx",
		.attr = KERNEL_MOUNT_RDONLY });
}

/* Of what the kernel shows about itself and about others. Source: 3-jail.md A.2.9. */
static void add_proc(struct plan *p)
{
	static const char *const masks[] = { "acpi", "asound", "kcore", "keys", "key-users",
		"cmdline", "kallsyms", "kmsg", "latency_stats", "timer_list", "timer_stats", "sched_debug", "scsi",
		"sysrq-trigger", "config.gz", "kpagecount", "kpageflags", "kpagecgroup" };
	static const char *const locks[] = { "sys", "bus", "fs", "irq" };

	add_exec(p, PLAN_PROC, "proc");
	for (size_t i = 0; i < array_size(masks); i++)
		add_exec(p, PLAN_MASK, masks[i]);
	for (size_t i = 0; i < array_size(locks); i++)
		add_exec(p, PLAN_LOCK, locks[i]);
}

static void add_rules(struct plan *p)
{
	static const char *const writable[] = { "/workspace", "/home/sandbox", "/tmp", "/var/tmp",
		"/dev/shm" };
	uint32_t read = LANDLOCK_READ | LANDLOCK_READ_DIR | LANDLOCK_EXECUTE;
	uint32_t write = LANDLOCK_ALL &
		~(LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK | LANDLOCK_IOCTL_DEV);

	p->rules[p->n_rules++] = (struct plan_rule){ "/", read };
	for (size_t i = 0; i < array_size(writable); i++)
		p->rules[p->n_rules++] = (struct plan_rule){ writable[i], write };
	/* Terminals and the six devices: nothing else can be there. */
	p->rules[p->n_rules++] = (struct plan_rule){ "/dev",
		LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV };
	/* Nothing below /proc: with its oom_score_adj a command could have an interpreter die for
	 * it. The price is that no thread names another. */
}

static int add_filter(struct plan *p, bool deny_fallocate, struct fault *f)
{
	struct policy policy = { .deny_fallocate = deny_fallocate, .is_weak = p->is_weak,
		.is_owner = !p->id_base };
	auto_free struct seccomp_program *program = mem_new(struct seccomp_program);

	p->calls = policy_rules(&policy, &p->n_calls);
	uint32_t nr_max = wall_is_off("call.unknown") ? ~1u : KERNEL_NR_MAX;
	if (seccomp_build(p->calls, p->n_calls, nr_max, program) < 0)
		return fault_set(f, FAULT_BUG, 0, "the system call filter is too long");
	if (wall_is_off("call.foreign"))
		program->insn[SECCOMP_FOREIGN_INSN].k = SECCOMP_ALLOW;
	p->n_filter = program->n;
	p->filter = mem_new_array(struct kernel_filter, program->n);
	memcpy(p->filter, program->insn, program->n * sizeof *program->insn);
	return 0;
}

static int check(const struct jail_spec *s, struct fault *f)
{
	if (!s->id || !id_is_valid(s->id))
		return fault_set(f, FAULT_USAGE, 0, "the id of a jail is not valid");
	size_t n = s->hostname ? strlen(s->hostname) : 0;
	if (!n || n > 64)
		return fault_set(f, FAULT_USAGE, 0, "a host name has 1 to 64 bytes");
	if (s->n_files > PLAN_FILES_MAX)
		return fault_set(f, FAULT_USAGE, 0, "more than %d files for /run/sbx", PLAN_FILES_MAX);
	for (size_t i = 0; i < s->n_files; i++)
		if (!id_is_valid(s->files[i].name))
			return fault_set(f, FAULT_USAGE, 0, "'%s' is no name for a file in /run/sbx",
				s->files[i].name);
	return 0;
}

/* [bytes] A tmpfs has a file of one page for each; a few empty ones besides. */
enum { TMPFS_BYTES_PER_FILE = 4096, TMPFS_FILES_MORE = 1024 };

/* The strings that have to be put together, each with its NUL, as in struct words. */
static void make_strings(const struct jail_spec *s, struct text *t)
{
	const char *in = s->disk == JAIL_DISK_PLAIN ? "" : "disk/";

	text_format(t, "lowerdir=low%s,upperdir=%sup,workdir=%swk,userxattr,index=off,metacopy=off",
		s->has_base ? ":img" : "", in, in);
	text_put_char(t, 0);
	text_format(t, "size=%llu,nr_inodes=65536,mode=1777", (unsigned long long)s->shm_bytes);
	text_put_char(t, 0);
	if (s->disk == JAIL_DISK_TMPFS)
		text_format(t, "size=%llu,nr_inodes=%llu,mode=0755", (unsigned long long)s->disk_bytes,
			(unsigned long long)s->disk_bytes / TMPFS_BYTES_PER_FILE + TMPFS_FILES_MORE);
	text_put_char(t, 0);
	for (size_t i = 0; i < s->n_files; i++) {
		text_format(t, s->is_weak ? "run/%s" : "run/sbx/%s", s->files[i].name);
		text_put_char(t, 0);
	}
}

static struct words find_words(const char *s)
{
	struct words w = { .overlay = s };

	w.shm = s + strlen(s) + 1;
	w.disk = w.shm + strlen(w.shm) + 1;
	w.files = w.disk + strlen(w.disk) + 1;
	return w;
}

static void add_all(struct plan *p, const struct jail_spec *s, const struct words *w)
{
	if (s->id_base)
		add(p, (struct plan_op){ .kind = PLAN_IDS });
	add(p, (struct plan_op){ .kind = PLAN_KEYRING });
	add(p, (struct plan_op){ .kind = PLAN_HOSTNAME, .source = s->hostname });
	add(p, (struct plan_op){ .kind = PLAN_LOOPBACK });
	add_root(p, s, w);
	add_dev(p, s->id_base, w->shm);
	add_files(p, s, w->files);
	add(p, (struct plan_op){ .kind = PLAN_PIVOT });
	add(p, (struct plan_op){ .kind = PLAN_NO_USERNS });
	add(p, (struct plan_op){ .kind = PLAN_INOTIFY });
	add(p, (struct plan_op){ .kind = PLAN_SWEEP, .flags = PLAN_LATE });
	add_proc(p);
	add_rules(p);
}

int plan_make(const struct jail_spec *s, struct plan *p, struct fault *f)
{
	int r = check(s, f);

	if (r < 0)
		return r;
	*p = (struct plan){ .id = s->id, .id_base = s->id_base, .is_weak = s->is_weak,
		.skeleton.path = "", .base.path = "" };
	make_strings(s, &p->strings);
	struct words w = find_words(p->strings.data);
	if (s->is_weak)
		plan_add_weak(p, s, w.files);
	else
		add_all(p, s, &w);
	r = add_filter(p, s->deny_fallocate, f);
	if (r < 0)
		plan_done(p);
	return r;
}

void plan_done(struct plan *p)
{
	free(p->calls);
	free(p->filter);
	text_done(&p->strings);
	*p = (struct plan){ 0 };
}
