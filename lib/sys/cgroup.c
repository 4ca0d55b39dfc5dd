#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sys/cgroup-inner.h"

/* [bytes] Source: a host with 50,000 mounts has about 8 MiB of mountinfo. */
#define FILE_BYTES_MAX (32 * MIB)
enum { REMOVE_MS = 500, LEFTOVER_MS = 500 };

static int make_dir(const char *path)
{
	return mkdir(path, 0755) < 0 ? -errno : 0;
}

const struct cgroup_host cgroup_host_real = { "/proc", make_dir };

int cgroup_write(int dir, const char *name, const char *value)
{
	/* O_TRUNC means nothing to the kernel's files; it is for the tests' ones. */
	auto_fd int fd = openat(dir, name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	/* One write: the kernel takes each as a value of its own. */
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

int cgroup_read_text(int dir, const char *name, struct text *t)
{
	auto_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct fault f;

	if (fd < 0)
		return -errno;
	if (fd_read_to_end(fd, FILE_BYTES_MAX, name, t, &f) < 0)
		return f.sysno ? -f.sysno : -E2BIG;
	return 0;
}

/* Small files of numbers: read on the stack, this is near the hot path. */
static int read_small(int dir, const char *name, char *buf, size_t room)
{
	auto_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, room - 1);

	if (n < 0)
		return -errno;
	buf[n] = 0;
	return 0;
}

static int parse_u64(const char *s, uint64_t *ret)
{
	char *end;

	if (!strncmp(s, "max", 3)) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (*s < '0' || *s > '9')
		return -EBADMSG;
	errno = 0;
	uint64_t v = strtoull(s, &end, 10);
	if (errno || (*end && *end != '\n'))
		return -EBADMSG;
	*ret = v;
	return 0;
}

int cgroup_read_u64(int dir, const char *name, uint64_t *ret)
{
	char buf[64];
	int r = read_small(dir, name, buf, sizeof buf);

	return r ? r : parse_u64(buf, ret);
}

static int parse_key(const char *text, const char *key, uint64_t *ret)
{
	size_t n_key = strlen(key);

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, key, n_key) && p[n_key] == ' ')
			return parse_u64(p + n_key + 1, ret);
	return -ENOENT;
}

int cgroup_read_key(int dir, const char *name, const char *key, uint64_t *ret)
{
	char buf[4096];
	int r = read_small(dir, name, buf, sizeof buf);

	return r ? r : parse_key(buf, key, ret);
}

int cgroup_reread(int fd, const char *key, uint64_t *ret)
{
	char buf[4096];
	ssize_t n = pread(fd, buf, sizeof buf - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = 0;
	return key ? parse_key(buf, key, ret) : parse_u64(buf, ret);
}

int cgroup_put(int dir, const char *name, uint64_t value, uint64_t slack)
{
	char text[32];
	uint64_t got;
	int r;

	snprintf(text, sizeof text, "%" PRIu64, value);
	r = cgroup_write(dir, name, text);
	if (!r)
		r = cgroup_read_u64(dir, name, &got);
	if (r)
		return r;
	return got > value || value - got > slack ? CGROUP_OTHER_VALUE : 0;
}

/* The kernel keeps whole pages, rounded down. Source: page_counter_memparse. */
uint64_t cgroup_page_slack(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

int cgroup_dir_make(struct cgroup *cg, const char *parent, const char *name, struct cgroup_dir *ret)
{
	auto_free char *path = mem_format("%s/%s", parent, name);
	int r = cg->host->make_dir(path);

	/* The caller holds the session's lock: it is a leftover of its dead supervisor. */
	if (r == -EEXIST) {
		cgroup_remove_tree(cg->host, path, LEFTOVER_MS);
		r = cg->host->make_dir(path);
	}
	if (r)
		return r;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		r = -errno;
		rmdir(path);
		return r;
	}
	*ret = (struct cgroup_dir){ fd, take_ptr(&path) };
	return 0;
}

void cgroup_dir_close(struct cgroup_dir *d)
{
	drop_fd(&d->fd);
	free(take_ptr(&d->path));
}

void cgroup_dir_drop(struct cgroup_dir *d)
{
	if (d->path)
		rmdir(d->path);
	cgroup_dir_close(d);
}

static struct cgroup *cgroup_new(const struct cgroup_host *h, const char *id,
	const struct cgroup_limits *l)
{
	struct cgroup *cg = mem_new(struct cgroup);

	cg->host = h;
	cg->limits = *l;
	snprintf(cg->name, sizeof cg->name, CGROUP_PREFIX "%s", id);
	for (size_t i = 0; i < PLACES; i++)
		cg->at[i].fd = -1;
	cg->leaf.fd = -1;
	return cg;
}

/* Each controller where the host has it: in a v1 hierarchy of its own, else in v2. */
static int make_all(struct cgroup *cg, const char *self, const char *mountinfo)
{
	static const char *const v1_names[] = { [CGROUP_CPU] = "cpu", [CGROUP_MEMORY] = "memory",
		[CGROUP_PIDS] = "pids" };
	uint32_t rest = 0;
	int r = 0;

	for (uint32_t c = 0; c < CGROUP_CONTROLLERS && !r; c++) {
		int at = cgroup_where(self, mountinfo, v1_names[c], &cg->own_v1[c], NULL);
		if (!at)
			r = cgroup_v1_make(cg, c, cg->own_v1[c]);
		else if (at == -EXDEV)
			cgroup_none(cg, c, EXDEV, "find the own group");
		else
			rest |= 1u << c;
	}
	if (r || !rest)
		return r;
	int at = cgroup_where(self, mountinfo, NULL, &cg->own, &cg->top);
	if (!at)
		return cgroup_v2_make(cg, rest, cg->own, cg->top);
	for (uint32_t c = 0; c < CGROUP_CONTROLLERS; c++)
		if (rest & 1u << c)
			cgroup_none(cg, c, -at, "find the own group");
	return 0;
}

int cgroup_make_on(const struct cgroup_host *h, const char *id, const struct cgroup_limits *l,
	struct cgroup **ret, struct fault *f)
{
	auto_text struct text self = { 0 }, mountinfo = { 0 };
	auto_fd int proc = open(h->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!id_is_valid(id))
		return fault_set(f, FAULT_BUG, 0, "control group of '%.80s'", id);
	struct cgroup *cg = cgroup_new(h, id, l);
	/* A kernel without control groups has no self/cgroup: both stay empty then. */
	if (proc >= 0 && (cgroup_read_text(proc, "self/cgroup", &self) ||
				 cgroup_read_text(proc, "self/mountinfo", &mountinfo)))
		text_clear(&self);
	if (make_all(cg, text_string(&self), text_string(&mountinfo))) {
		cgroup_remove(cg);
		return fault_set(f, FAULT_LIMIT, 0,
			"a control group limit was written and another value read back");
	}
	*ret = cg;
	return 0;
}

int cgroup_make(const char *id, const struct cgroup_limits *l, struct cgroup **ret, struct fault *f)
{
	return cgroup_make_on(&cgroup_host_real, id, l, ret, f);
}

static bool is_asked(const struct cgroup *cg, enum cgroup_controller c)
{
	switch (c) {
	case CGROUP_CPU:
		return cg->limits.cpu_milli;
	case CGROUP_MEMORY:
		return cg->limits.memory_bytes;
	default:
		return cg->limits.pids;
	}
}

const char *cgroup_enforced(const struct cgroup *cg, enum cgroup_controller c)
{
	static const char *const names[] = { "none", "cgroup-v1", "cgroup-v2" };

	return is_asked(cg, c) ? names[cg->version[c]] : "none";
}

const char *cgroup_why(const struct cgroup *cg, enum cgroup_controller c)
{
	return is_asked(cg, c) ? cg->why[c] : "no limit was asked for";
}

/* The file that takes a "0" from whoever enters; the opener's rights count, not the writer's. */
static int open_door(const struct cgroup_dir *d, bool is_v1)
{
	int fd = openat(d->fd, is_v1 ? "tasks" : "cgroup.procs", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

_Static_assert((int)CGROUP_DOORS == (int)PLACES, "a door in each place");

int cgroup_open_doors(const struct cgroup *cg, int ret[CGROUP_DOORS], size_t *ret_n, struct fault *f)
{
	size_t n = 0;

	for (size_t i = 0; i < PLACES; i++) {
		const struct cgroup_dir *d = i == PLACE_V2 ? &cg->leaf : &cg->at[i];
		int fd = d->fd < 0 ? -ENOENT : open_door(d, i != PLACE_V2);
		if (fd >= 0)
			ret[n++] = fd;
		else if (d->fd >= 0) {
			while (n)
				close(ret[--n]);
			return fault_set(f, FAULT_SYSTEM, -fd, "open control group %s", d->path);
		}
	}
	*ret_n = n;
	return 0;
}

/* The directory in which child memory groups are made; -1: none. */
static const struct cgroup_dir *children_dir(const struct cgroup *cg)
{
	if (!cg->has_children)
		return NULL;
	return cg->at[PLACE_MEMORY].fd >= 0 ? &cg->at[PLACE_MEMORY] : &cg->at[PLACE_V2];
}

static int open_evidence(int dir, const char *name, const char *otherwise)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 && otherwise ? open_evidence(dir, otherwise, NULL) : fd;
}

static void open_child(const struct cgroup *cg, struct cgroup_child *c)
{
	const struct cgroup_dir *d = children_dir(cg);
	char name[16];

	snprintf(name, sizeof name, "e%u", c->number);
	auto_fd int dir = d ? openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (dir < 0)
		return;
	if (cg->version[CGROUP_MEMORY] == CGROUP_V1) {
		c->peak = open_evidence(dir, "memory.max_usage_in_bytes", NULL);
		c->kills = open_evidence(dir, "memory.oom_control", NULL);
	} else {
		/* The first since Linux 5.19; before it the best that is known is what is used now. */
		c->peak = open_evidence(dir, "memory.peak", "memory.current");
		c->kills = open_evidence(dir, "memory.events", NULL);
	}
}

static void close_child(struct cgroup_child *c)
{
	drop_fd(&c->peak);
	drop_fd(&c->kills);
}

static struct cgroup_child *find_child(struct cgroup *cg, uint32_t n)
{
	for (size_t i = 0; i < cg->n_children; i++)
		if (cg->children[i].number == n)
			return &cg->children[i];
	return NULL;
}

static void read_child(const struct cgroup *cg, struct cgroup_child *c, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){ 0 };
	if (c->peak < 0 || c->kills < 0) {
		close_child(c);
		open_child(cg, c);
	}
	ret->has_memory = !cgroup_reread(c->peak, NULL, &ret->memory_peak_bytes) &&
		!cgroup_reread(c->kills, "oom_kill", &ret->oom_kills);
}

int cgroup_child_make(struct cgroup *cg, uint32_t n)
{
	const struct cgroup_dir *d = children_dir(cg);
	struct cgroup_dir child = { .fd = -1 };
	char name[16];
	int r;

	if (!d)
		return -ENOENT;
	if (cg->n_children == CGROUP_CHILDREN_MAX)
		return -ENOSPC;
	snprintf(name, sizeof name, "e%u", n);
	r = cgroup_dir_make(cg, d->path, name, &child);
	if (r)
		return r;
	r = open_door(&child, d == &cg->at[PLACE_MEMORY]);
	if (r < 0) {
		cgroup_dir_drop(&child);
		return r;
	}
	cgroup_dir_close(&child);
	struct cgroup_child *c = &cg->children[cg->n_children++];
	*c = (struct cgroup_child){ n, -1, -1 };
	open_child(cg, c);
	return r;
}

void cgroup_child_read(struct cgroup *cg, uint32_t n, struct cgroup_usage *ret)
{
	struct cgroup_child *c = find_child(cg, n);

	*ret = (struct cgroup_usage){ 0 };
	if (c)
		read_child(cg, c, ret);
}

void cgroup_child_remove(struct cgroup *cg, uint32_t n)
{
	struct cgroup_child *c = find_child(cg, n);
	struct cgroup_usage u;

	if (c) {
		read_child(cg, c, &u);
		cg->oom_kills_gone += u.oom_kills;
		close_child(c);
		*c = cg->children[--cg->n_children];
	}
	const struct cgroup_dir *d = children_dir(cg);
	char name[16];
	snprintf(name, sizeof name, "e%u", n);
	/* A zombie still counts as busy; the whole tree is removed with the session anyway. */
	if (d)
		unlinkat(d->fd, name, AT_REMOVEDIR);
}

void cgroup_read(struct cgroup *cg, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){ 0 };
	cgroup_v1_read(cg, ret);
	cgroup_v2_read(cg, ret);
	if (cg->version[CGROUP_MEMORY] != CGROUP_V1)
		return;
	/* v1 counts a kill in the victim's own group only, v2 in all above it. */
	ret->oom_kills += cg->oom_kills_gone;
	for (size_t i = 0; i < cg->n_children; i++) {
		struct cgroup_usage u;
		read_child(cg, &cg->children[i], &u);
		ret->oom_kills += u.oom_kills;
	}
}

void cgroup_paths(const struct cgroup *cg, char *buf, size_t room)
{
	size_t n = 0;

	*buf = 0;
	for (size_t i = 0; i < PLACES; i++) {
		if (cg->at[i].fd < 0)
			continue;
		size_t more = strlen(cg->at[i].path);
		/* Whole lines or nothing: half a path names another group. */
		if (n + more + 2 > room)
			continue;
		memcpy(buf + n, cg->at[i].path, more);
		n += more;
		buf[n++] = '\n';
		buf[n] = 0;
	}
}

struct cgroup *cgroup_remove(struct cgroup *cg)
{
	if (!cg)
		return NULL;
	for (size_t i = 0; i < PLACES; i++) {
		if (cg->at[i].path)
			cgroup_remove_tree(cg->host, cg->at[i].path, REMOVE_MS);
		cgroup_dir_close(&cg->at[i]);
	}
	cgroup_dir_close(&cg->leaf);
	while (cg->n_children)
		close_child(&cg->children[--cg->n_children]);
	for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
		free(cg->own_v1[i]);
	free(cg->own);
	free(cg->top);
	free(cg);
	return NULL;
}
