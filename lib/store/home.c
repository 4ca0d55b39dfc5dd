/* The home directory: where it is, whose it is, and for which kind of id map. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/inner.h"

/* DESIGN.md section 2. */
enum { ID_BASE = 1879048192, ID_COUNT = 65536 };

static const char *get_set_env(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

static int find_user_home(char *buf, size_t room, struct fault *f)
{
	const char *home = get_set_env("HOME");
	struct passwd *pw = home ? NULL : getpwuid(geteuid());

	if (!home)
		home = pw ? pw->pw_dir : NULL;
	if (!home || home[0] != '/')
		return fault_set(f, FAULT_USAGE, 0, "no home directory: set HOME or SBX_HOME");
	if (snprintf(buf, room, "%s/.local/state/sbx", home) >= (int)room)
		return fault_set(f, FAULT_USAGE, 0, "the path of the home directory is too long");
	return 0;
}

static int find_path(char *buf, size_t room, struct fault *f)
{
	const char *set = get_set_env("SBX_HOME");
	const char *state = get_set_env("XDG_STATE_HOME");
	int n;

	if (set)
		n = snprintf(buf, room, "%s", set);
	else if (geteuid() == 0)
		n = snprintf(buf, room, "/var/lib/sbx");
	else if (state && state[0] == '/') /* a relative one is to be ignored (XDG base dirs) */
		n = snprintf(buf, room, "%s/sbx", state);
	else
		return find_user_home(buf, room, f);
	if (n >= (int)room)
		return fault_set(f, FAULT_USAGE, 0, "the path of the home directory is too long");
	return 0;
}

/* Opens the path, making what is missing of it. A link on the way is the caller's own. */
static int open_path(const char *path, int *ret_fd, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		auto_free char *part = mem_string(path);
		for (char *at = part + 1; *at; at++) {
			if (*at != '/')
				continue;
			*at = 0;
			int r = mkdir(part, 0700);
			if (r < 0 && errno != EEXIST && errno != EISDIR && access(part, F_OK) < 0)
				return fault_set(f, store_kind(errno), errno,
					"make directory %s for the home directory (SBX_HOME names another)",
					part);
			*at = '/';
		}
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return fault_set(f, store_kind(errno), errno, "make the home directory %s", path);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "open the home directory %s", path);
	*ret_fd = fd;
	return 0;
}

static int check_owner(const char *path, int fd, struct fault *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_set(f, FAULT_SYSTEM, errno, "look at the home directory %s", path);
	if (st.st_uid != geteuid())
		return fault_set(f, FAULT_DENIED, 0,
			"the home directory %s belongs to uid %u, not to you; set SBX_HOME to one of your own",
			path, st.st_uid);
	if (st.st_mode & 022)
		return fault_set(f, FAULT_DENIED, 0,
			"others can write to the home directory %s; run: chmod 700 %s", path, path);
	return 0;
}

static bool has_caps(uint64_t wanted)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	return (((uint64_t)data[1].effective << 32 | data[0].effective) & wanted) == wanted;
}

/* The block must have ids in our own user namespace, or no file could belong to it. */
static bool has_block(void)
{
	auto_text struct text t = { 0 };
	auto_fd int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	struct fault ignored;
	uint64_t inside, outside, n;
	int used;

	if (fd < 0 || fd_read_to_end(fd, 65536, "uid_map", &t, &ignored) < 0)
		return false;
	for (const char *s = text_string(&t);
		sscanf(s, "%" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &inside, &outside, &n, &used) == 3;
		s += used)
		if (inside <= ID_BASE && inside + n >= (uint64_t)ID_BASE + ID_COUNT)
			return true;
	return false;
}

/* Which map the jails of this caller can have: it takes the capabilities to write a map of
 * a block and to give files away; uid 0 alone takes none of them along. */
static uint32_t find_id_base(void)
{
	uint64_t wanted = 1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_CHOWN |
		1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER;

	return geteuid() == 0 && has_caps(wanted) && has_block() ? ID_BASE : 0;
}

static int read_id_base(struct store *st, uint32_t *ret, struct fault *f)
{
	auto_text struct text t = { 0 };
	int r = file_read(st->dir, "id_base", 64, &t, f);

	if (r < 0)
		return r;
	if (strcmp(text_string(&t), "0\n") == 0)
		*ret = 0;
	else if (strcmp(text_string(&t), "1879048192\n") == 0)
		*ret = ID_BASE;
	else
		return fault_set(f, FAULT_FORMAT, 0, "%s/id_base is damaged: it holds neither 0 nor %d",
			st->path, ID_BASE);
	return 0;
}

/* id_base comes last: where it is, everything is. Two at once write the same. */
static int make_home(struct store *st, struct fault *f)
{
	static const char *const parts[] = { "layers", "names", "sessions", "trash" };
	char text[16];
	int n = snprintf(text, sizeof text, "%u\n", find_id_base());

	for (size_t i = 0; i < array_size(parts); i++)
		if (mkdirat(st->dir, parts[i], 0700) < 0 && errno != EEXIST)
			return fault_set(f, store_kind(errno), errno,
				"make %s/%s (SBX_HOME names another directory)", st->path, parts[i]);
	return file_replace(st->dir, "id_base", text, (size_t)n, f);
}

static int check_mode(struct store *st, struct fault *f)
{
	if (st->id_base == find_id_base())
		return 0;
	if (st->id_base)
		return fault_set(f, FAULT_DENIED, 0,
			"the home directory %s was made by root with all capabilities, which are missing "
			"now; set SBX_HOME to another directory", st->path);
	return fault_set(f, FAULT_DENIED, 0,
		"the home directory %s was made without capabilities, its files have other owners; "
		"set SBX_HOME to another directory", st->path);
}

static int open_home(struct store *st, struct fault *f)
{
	int r = open_path(st->path, &st->dir, f);

	if (r >= 0)
		r = check_owner(st->path, st->dir, f);
	if (r < 0)
		return r;
	r = read_id_base(st, &st->id_base, f);
	if (r == -FAULT_NOT_FOUND) {
		r = make_home(st, f);
		if (r >= 0)
			r = read_id_base(st, &st->id_base, f);
	}
	return r < 0 ? r : check_mode(st, f);
}

int store_open(struct store *st, struct fault *f)
{
	struct store made = { .dir = -1 };
	int r = find_path(made.path, sizeof made.path, f);

	if (r >= 0)
		r = open_home(&made, f);
	if (r < 0) {
		store_close(&made);
		return r;
	}
	*st = made;
	return 0;
}

void store_close(struct store *st)
{
	drop_fd(&st->dir);
}

const char *store_boot_id(char ret[40])
{
	auto_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, 36);

	ret[n == 36 ? 36 : 0] = 0;
	return ret;
}
