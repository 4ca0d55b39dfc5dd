/*
 * What a skeleton takes from the host's /etc: configuration of programs in /usr that says
 * nothing about the host's users, network or secrets. Files that not everybody may read
 * are left out, also where root copies.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "store/inner.h"

static const char *const sources[] = {
	/* loader, users' shells, names of things */
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "inputrc", "bash.bashrc",
	"profile", "shells", "terminfo", "localtime", "timezone", "locale.alias", "mime.types",
	"services", "protocols", "networks", "rpc", "ethertypes", "host.conf", "gai.conf",
	"xattr.conf", "magic", "magic.mime", "debian_version", "lsb-release", "system-release",
	/* certificates: Debian, Fedora */
	"ca-certificates.conf", "ca-certificates", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs",
	"pki/tls/openssl.cnf", "pki/ca-trust/extracted", "crypto-policies",
	/* languages and their libraries */
	"perl", "groff", "fonts", "matplotlibrc", "fpc.cfg", "gnucobol", "vim", "python3",
};

/* Versions are part of these names. */
static const struct {
	const char *format;
	int from, to;
} numbered[] = {
	{ "python3.%d", 6, 20 },
	{ "java-%d-openjdk", 8, 30 },
};

enum { FILE_MAX_BYTES = 8 * MIB, ENTRIES_MAX = 20000, DEPTH_MAX = 8 };

struct copy {
	char path[PATH_MAX]; /* of the source */
	size_t n_entries;
};

static int copy_entry(struct copy *c, int dir, const char *name, unsigned depth, struct fault *f);

static int write_file(int from, int dir, const char *name, struct fault *f)
{
	auto_text struct text t = { 0 };
	struct fault ignored;

	if (fd_read_to_end(from, FILE_MAX_BYTES, name, &t, &ignored) < 0)
		return 0;
	return store_put_file(dir, name, text_string(&t), t.n, 0644, f);
}

/* Content of a regular file that everybody may read; anything else is passed over. */
static int copy_file(const char *path, int dir, const char *name, struct fault *f)
{
	auto_fd int from = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
		return 0;
	return write_file(from, dir, name, f);
}

/* A link into /usr stays one, for /usr is there inside; one within /etc becomes what it
 * points to; any other would lead nowhere. */
static int copy_link(const char *path, int dir, const char *name, struct fault *f)
{
	char to[PATH_MAX];

	if (!realpath(path, to))
		return 0;
	if (strncmp(to, "/etc/", 5) == 0)
		return copy_file(to, dir, name, f);
	if (strncmp(to, "/usr/", 5) == 0 && symlinkat(to, dir, name) < 0)
		return fault_set(f, store_kind(errno), errno, "make the link %s", name);
	return 0;
}

static int copy_entries(struct copy *c, DIR *d, int dir, unsigned depth, struct fault *f)
{
	size_t n = strlen(c->path);
	struct dirent *e;
	int r = 0;

	while (r >= 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (n + strlen(e->d_name) + 2 > sizeof c->path)
			continue;
		c->path[n] = '/';
		memcpy(c->path + n + 1, e->d_name, strlen(e->d_name) + 1);
		r = copy_entry(c, dir, e->d_name, depth, f);
		c->path[n] = 0;
	}
	return r;
}

static int copy_dir(struct copy *c, int dir, const char *name, unsigned depth, struct fault *f)
{
	auto_fd int made = -1;
	DIR *d = depth < DEPTH_MAX ? opendir(c->path) : NULL;
	int r;

	if (!d)
		return 0;
	r = store_make_dir(dir, name, 0755, &made, f);
	if (r >= 0)
		r = copy_entries(c, d, made, depth + 1, f);
	closedir(d);
	return r;
}

static int copy_entry(struct copy *c, int dir, const char *name, unsigned depth, struct fault *f)
{
	struct stat st;

	if (lstat(c->path, &st) < 0)
		return 0;
	if (++c->n_entries > ENTRIES_MAX)
		return fault_set(f, FAULT_LIMIT, 0, "more than %d files in /etc to copy", ENTRIES_MAX);
	if (S_ISLNK(st.st_mode))
		return copy_link(c->path, dir, name, f);
	if (S_ISREG(st.st_mode))
		return copy_file(c->path, dir, name, f);
	return S_ISDIR(st.st_mode) && st.st_mode & S_IXOTH ? copy_dir(c, dir, name, depth, f) : 0;
}

/* Makes the directories in front of the last part; where they lead. */
static int open_parent(int etc, const char *source, int *ret_fd, const char **ret_name,
	struct fault *f)
{
	auto_fd int dir = openat(etc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char part[64];
	const char *slash;

	while (dir >= 0 && (slash = strchr(source, '/'))) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - source), source);
		if (mkdirat(dir, part, 0755) == 0)
			fchmodat(dir, part, 0755, 0);
		int next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		drop_fd(&dir);
		dir = next;
		source = slash + 1;
	}
	if (dir < 0)
		return fault_set(f, store_kind(errno), errno, "make directories for %s", source);
	*ret_fd = take_fd(&dir);
	*ret_name = source;
	return 0;
}

static int copy_source(struct copy *c, int etc, const char *source, struct fault *f)
{
	const char *name = source;
	auto_fd int dir = -1;

	snprintf(c->path, sizeof c->path, "/etc/%s", source);
	if (faccessat(AT_FDCWD, c->path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	int r = open_parent(etc, source, &dir, &name, f);
	return r < 0 ? r : copy_entry(c, dir, name, 0, f);
}

/* The i-th source, or NULL behind the last. */
static const char *source_at(size_t i, char buf[64])
{
	if (i < array_size(sources))
		return sources[i];
	i -= array_size(sources);
	for (size_t k = 0; k < array_size(numbered); k++) {
		size_t n = (size_t)numbered[k].to + 1 - (size_t)numbered[k].from;
		if (i < n) {
			/* Both formats hold one %d. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(buf, 64, numbered[k].format, numbered[k].from + (int)i);
#pragma GCC diagnostic pop
			return buf;
		}
		i -= n;
	}
	return NULL;
}

int store_etc_copy(int etc, struct fault *f)
{
	struct copy c = { .n_entries = 0 };
	const char *source;
	char buf[64];

	for (size_t i = 0; (source = source_at(i, buf)); i++) {
		int r = copy_source(&c, etc, source, f);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The mode of what is there, 0 where nothing is. */
static mode_t identify(struct digest *d, int etc, const char *source, int flags)
{
	struct stat st;

	if (fstatat(etc, source, &st, flags) < 0)
		return 0;
	int64_t what[] = { st.st_mode, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec };
	digest_add(d, source, strlen(source) + 1);
	digest_add(d, what, sizeof what);
	return st.st_mode;
}

void store_etc_identify(struct digest *d)
{
	auto_fd int etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *source;
	char buf[64];

	for (size_t i = 0; etc >= 0 && (source = source_at(i, buf)); i++)
		if (S_ISLNK(identify(d, etc, source, AT_SYMLINK_NOFOLLOW)))
			identify(d, etc, source, 0);
	/* A directory's time does not tell that a file in it was written over. */
	identify(d, etc, "ssl/certs/ca-certificates.crt", 0);
}
