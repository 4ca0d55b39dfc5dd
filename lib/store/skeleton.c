/* The lower directory of a session's root: made once for a host as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "store/inner.h"

/* Raised when the tables below change: they are part of what a skeleton is made from. */
static const char version[] = SBX_VERSION " skeleton 1";

enum owner { SYSTEM, PAYLOAD };

/* Which skeletons have it: the one below the host's /usr, the bare one above a root file system. */
enum which { FULL = 1, BARE = 2, BOTH = 3 };

static const struct {
	const char *path;
	mode_t mode;
	enum owner owner;
	enum which in;
} dirs[] = {
	{ "usr", 0755, SYSTEM, FULL },
	{ "proc", 0555, SYSTEM, BOTH },
	{ "dev", 0755, SYSTEM, BOTH },
	{ "sys", 0555, SYSTEM, BOTH },
	{ "run", 0755, SYSTEM, BOTH },
	{ "run/sbx", 0755, SYSTEM, BOTH },
	{ "tmp", 01777, SYSTEM, BOTH },
	{ "var", 0755, SYSTEM, BOTH },
	{ "var/tmp", 01777, SYSTEM, BOTH },
	{ "var/lib", 0755, SYSTEM, FULL },
	{ "var/log", 0755, SYSTEM, FULL },
	{ "var/cache", 0755, SYSTEM, FULL },
	{ "workspace", 0755, PAYLOAD, BOTH },
	{ "home", 0755, SYSTEM, BOTH },
	{ "home/sandbox", 0755, PAYLOAD, BOTH },
	{ "root", 0700, SYSTEM, FULL },
	{ "mnt", 0755, SYSTEM, FULL },
	{ "media", 0755, SYSTEM, FULL },
	{ "srv", 0755, SYSTEM, FULL },
	{ "opt", 0755, SYSTEM, FULL },
	{ "etc", 0755, SYSTEM, BOTH },
};

static const struct {
	const char *path, *text;
	enum owner owner;
	enum which in;
} files[] = {
	{ "etc/passwd",
		"root:x:0:0:root:/root:/bin/bash\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
		"sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n", SYSTEM, FULL },
	{ "etc/passwd",
		"root:x:0:0:root:/root:/bin/sh\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
		"sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/sh\n", SYSTEM, BARE },
	{ "etc/group", "root:x:0:\ntty:x:5:\nsandbox:x:1000:\nnogroup:x:65534:\n", SYSTEM, BOTH },
	{ "etc/nsswitch.conf",
		"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
		"protocols: files\nservices: files\nethers: files\nrpc: files\n", SYSTEM, FULL },
	{ "etc/hosts", "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost\n", SYSTEM, BOTH },
	{ "etc/hostname", "sandbox\n", SYSTEM, BOTH },
	{ "etc/resolv.conf", "# a session has no name server\n", SYSTEM, BOTH },
	{ "home/sandbox/.bashrc", "PS1='sandbox:\\w\\$ '\n", PAYLOAD, FULL },
};

static const struct {
	const char *path, *to;
	enum which in;
} links[] = {
	{ "etc/mtab", "/proc/self/mounts", BOTH },
	{ "etc/os-release", "../usr/lib/os-release", FULL },
	{ "var/run", "/run", FULL },
};

/* As the host has them: a link into /usr, or a directory that init binds. */
static const char *const host_links[] = { "bin", "sbin", "lib", "lib64", "lib32", "libx32" };

/* The text of /NAME when it is a link; "" for a directory; NULL when there is none. */
static const char *read_host_link(const char *name, char buf[256])
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof path, "/%s", name);
	ssize_t n = readlink(path, buf, 255);
	if (n > 0) {
		buf[n] = 0;
		return buf;
	}
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "" : NULL;
}

static int make_host_links(int dir, struct fault *f)
{
	char buf[256];

	for (size_t i = 0; i < array_size(host_links); i++) {
		const char *to = read_host_link(host_links[i], buf);
		int r = 0;
		if (to && *to && symlinkat(to, dir, host_links[i]) < 0)
			r = fault_set(f, store_kind(errno), errno, "make the link %s", host_links[i]);
		if (to && !*to)
			r = store_make_owned_dir(dir, host_links[i], 0755, (uid_t)-1, f);
		if (r < 0)
			return r;
	}
	return 0;
}

static int give(int dir, const char *path, enum owner owner, uid_t payload, struct fault *f)
{
	if (owner == SYSTEM || payload == (uid_t)-1 ||
		fchownat(dir, path, payload, payload, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return fault_set(f, FAULT_SYSTEM, errno, "give %s to the payload", path);
}

static int make_files(int dir, enum which which, uid_t payload, struct fault *f)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < array_size(files); i++) {
		if (!(files[i].in & which))
			continue;
		r = store_put_file(dir, files[i].path, files[i].text, strlen(files[i].text), 0644, f);
		if (r >= 0)
			r = give(dir, files[i].path, files[i].owner, payload, f);
	}
	for (size_t i = 0; r >= 0 && i < array_size(links); i++)
		if ((links[i].in & which) && symlinkat(links[i].to, dir, links[i].path) < 0)
			r = fault_set(f, store_kind(errno), errno, "make the link %s", links[i].path);
	return r;
}

static int make_dirs(int dir, enum which which, uid_t payload, struct fault *f)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < array_size(dirs); i++) {
		if (!(dirs[i].in & which))
			continue;
		/* Without a file system's own ids for the block, chown by path is ours alone. */
		if (mkdirat(dir, dirs[i].path, dirs[i].mode) < 0 ||
			fchmodat(dir, dirs[i].path, dirs[i].mode, 0) < 0)
			r = fault_set(f, store_kind(errno), errno, "make directory %s", dirs[i].path);
		if (r >= 0)
			r = give(dir, dirs[i].path, dirs[i].owner, payload, f);
	}
	return r;
}

/* payload: who owns the home inside; (uid_t)-1: the caller, as of everything. */
static int fill(int dir, enum which which, uid_t payload, struct fault *f)
{
	auto_fd int etc = -1;
	int r = make_dirs(dir, which, payload, f);

	if (r >= 0 && which == FULL)
		r = make_host_links(dir, f);
	if (r >= 0)
		r = make_files(dir, which, payload, f);
	if (r < 0 || which == BARE)
		return r;
	r = file_open_dir(dir, "etc", &etc, f);
	return r < 0 ? r : store_etc_copy(etc, f);
}

/* skel- and half of a digest; 128 bits are not met twice. */
static void name_skeleton(enum which which, char ret[ID_TEXT])
{
	struct digest *d = digest_new();
	char sum[DIGEST_TEXT], buf[256];

	digest_add(d, version, sizeof version);
	if (which == BARE)
		digest_add(d, "bare", sizeof "bare");
	for (size_t i = 0; which == FULL && i < array_size(host_links); i++) {
		const char *to = read_host_link(host_links[i], buf);
		if (!to)
			to = "-";
		digest_add(d, to, strlen(to) + 1);
	}
	if (which == FULL)
		store_etc_identify(d);
	digest_end(d, sum);
	snprintf(ret, ID_TEXT, "skel-%.32s", sum);
}

static int build(struct store *st, int layers, const char *name, enum which which, struct fault *f)
{
	char temp[ID_TEXT + 1] = ".";
	auto_fd int dir = -1;

	id_make("skel-", temp + 1);
	int r = store_make_dir(layers, temp, 0755, &dir, f);
	if (r < 0)
		return r;
	r = fill(dir, which, st->id_base ? STORE_PAYLOAD_ID : (uid_t)-1, f);
	/* Its name stays valid for ever, so it must be whole also after a power loss. Once. */
	if (r >= 0 && syncfs(dir) < 0)
		r = fault_set(f, FAULT_SYSTEM, errno, "sync the skeleton");
	if (r >= 0 && renameat(layers, temp, layers, name) == 0)
		return 0;
	/* Another process may have been faster: its result is the same. */
	if (r >= 0 && errno != ENOTEMPTY && errno != EEXIST)
		r = fault_set(f, FAULT_SYSTEM, errno, "put the skeleton in place");
	struct fault ignored;
	store_trash(st, layers, temp, temp, &ignored);
	store_empty_trash(st, &ignored);
	return r;
}

static int make(struct store *st, enum which which, char ret[ID_TEXT], struct fault *f)
{
	auto_fd int layers = -1;
	char name[ID_TEXT];
	int r = file_open_dir(st->dir, "layers", &layers, f);

	if (r < 0)
		return r;
	name_skeleton(which, name);
	if (faccessat(layers, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		r = build(st, layers, name, which, f);
		if (r < 0)
			return fault_wrap(f, "make a skeleton");
	}
	memcpy(ret, name, sizeof name);
	return 0;
}

int store_skeleton(struct store *st, char ret[ID_TEXT], struct fault *f)
{
	return make(st, FULL, ret, f);
}

int store_skeleton_bare(struct store *st, char ret[ID_TEXT], struct fault *f)
{
	return make(st, BARE, ret, f);
}

int store_skeleton_open(struct store *st, const char *name, int *ret_fd, struct fault *f)
{
	auto_fd int layers = -1;
	int r;

	if (!id_is_valid(name))
		return fault_set(f, FAULT_NOT_FOUND, 0, "no such skeleton: '%.80s'", name);
	r = file_open_dir(st->dir, "layers", &layers, f);
	return r < 0 ? r : file_open_dir(layers, name, ret_fd, f);
}
