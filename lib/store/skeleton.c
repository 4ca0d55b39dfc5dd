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

static const struct {
	const char *path;
	mode_t mode;
	enum owner owner;
} dirs[] = {
	{ "usr", 0755, SYSTEM },
	{ "proc", 0555, SYSTEM },
	{ "dev", 0755, SYSTEM },
	{ "sys", 0555, SYSTEM },
	{ "run", 0755, SYSTEM },
	{ "run/sbx", 0755, SYSTEM },
	{ "tmp", 01777, SYSTEM },
	{ "var", 0755, SYSTEM },
	{ "var/tmp", 01777, SYSTEM },
	{ "var/lib", 0755, SYSTEM },
	{ "var/log", 0755, SYSTEM },
	{ "var/cache", 0755, SYSTEM },
	{ "workspace", 0755, PAYLOAD },
	{ "home", 0755, SYSTEM },
	{ "home/sandbox", 0755, PAYLOAD },
	{ "root", 0700, SYSTEM },
	{ "mnt", 0755, SYSTEM },
	{ "media", 0755, SYSTEM },
	{ "srv", 0755, SYSTEM },
	{ "opt", 0755, SYSTEM },
	{ "etc", 0755, SYSTEM },
};

static const struct {
	const char *path, *text;
	enum owner owner;
} files[] = {
	{ "etc/passwd",
		"root:x:0:0:root:/root:/bin/bash\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
		"sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n", SYSTEM },
	{ "etc/group", "root:x:0:\ntty:x:5:\nsandbox:x:1000:\nnogroup:x:65534:\n", SYSTEM },
	{ "etc/nsswitch.conf",
		"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
		"protocols: files\nservices: files\nethers: files\nrpc: files\n", SYSTEM },
	{ "etc/hosts", "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost\n", SYSTEM },
	{ "etc/hostname", "sandbox\n", SYSTEM },
	{ "etc/resolv.conf", "# a session has no name server\n", SYSTEM },
	{ "home/sandbox/.bashrc", "PS1='sandbox:\\w\\$ '\n", PAYLOAD },
};

static const struct {
	const char *path, *to;
} links[] = {
	{ "etc/mtab", "/proc/self/mounts" },
	{ "etc/os-release", "../usr/lib/os-release" },
	{ "var/run", "/run" },
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

static int make_files(int dir, uid_t payload, struct fault *f)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < array_size(files); i++) {
		r = store_put_file(dir, files[i].path, files[i].text, strlen(files[i].text), 0644, f);
		if (r >= 0)
			r = give(dir, files[i].path, files[i].owner, payload, f);
	}
	for (size_t i = 0; r >= 0 && i < array_size(links); i++)
		if (symlinkat(links[i].to, dir, links[i].path) < 0)
			r = fault_set(f, store_kind(errno), errno, "make the link %s", links[i].path);
	return r;
}

int store_skeleton_fill(int dir, uid_t payload, struct fault *f)
{
	auto_fd int etc = -1;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < array_size(dirs); i++) {
		/* Without a file system's own ids for the block, chown by path is ours alone. */
		if (mkdirat(dir, dirs[i].path, dirs[i].mode) < 0 ||
			fchmodat(dir, dirs[i].path, dirs[i].mode, 0) < 0)
			r = fault_set(f, store_kind(errno), errno, "make directory %s", dirs[i].path);
		if (r >= 0)
			r = give(dir, dirs[i].path, dirs[i].owner, payload, f);
	}
	if (r >= 0)
		r = make_host_links(dir, f);
	if (r >= 0)
		r = make_files(dir, payload, f);
	if (r >= 0)
		r = file_open_dir(dir, "etc", &etc, f);
	return r < 0 ? r : store_etc_copy(etc, f);
}

/* skel- and half of a digest; 128 bits are not met twice. */
static void name_skeleton(char ret[ID_TEXT])
{
	struct digest *d = digest_new();
	char sum[DIGEST_TEXT], buf[256];

	digest_add(d, version, sizeof version);
	for (size_t i = 0; i < array_size(host_links); i++) {
		const char *to = read_host_link(host_links[i], buf);
		if (!to)
			to = "-";
		digest_add(d, to, strlen(to) + 1);
	}
	store_etc_identify(d);
	digest_end(d, sum);
	snprintf(ret, ID_TEXT, "skel-%.32s", sum);
}

static int build(struct store *st, int layers, const char *name, struct fault *f)
{
	char temp[ID_TEXT + 1] = ".";
	auto_fd int dir = -1;

	id_make("skel-", temp + 1);
	int r = store_make_dir(layers, temp, 0755, &dir, f);
	if (r < 0)
		return r;
	r = store_skeleton_fill(dir, st->id_base ? STORE_PAYLOAD_ID : (uid_t)-1, f);
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

int store_skeleton(struct store *st, char ret[ID_TEXT], struct fault *f)
{
	auto_fd int layers = -1;
	char name[ID_TEXT];
	int r = file_open_dir(st->dir, "layers", &layers, f);

	if (r < 0)
		return r;
	name_skeleton(name);
	if (faccessat(layers, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		r = build(st, layers, name, f);
		if (r < 0)
			return fault_wrap(f, "make a skeleton");
	}
	memcpy(ret, name, sizeof name);
	return 0;
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
