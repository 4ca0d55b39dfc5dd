#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/number.h"
#include "session/gate.h"
#include "session/config.h"
#include "session/session.h"
#include "session/super.h"

/* [ms] Making a session under the lock takes milliseconds. */
enum { LOCK_MS = 10 * 1000, LOCK_STEP_MS = 5 };

static const char lock_name[] = "create.lock", slots_name[] = "execs.lock";

static int open_lock(struct store *st, const char *name, struct fault *f)
{
	int fd = openat(st->dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? fault_set(f, FAULT_SYSTEM, errno, "open %s", name) : fd;
}

/* One byte of a file. 1: taken; 0: somebody else has it; -errno. The lock is that of the open file,
 * so that a kill of any kind gives it back. Source: fcntl(2) F_OFD_SETLK. */
static int lock_byte(int fd, int64_t at, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 1;
	return errno == EAGAIN || errno == EACCES ? 0 : -errno;
}

/* --- sessions and disk ------------------------------------------------------------------------- */

static int take_lock(struct store *st, int *ret_fd, struct fault *f)
{
	int64_t end = clock_now_ms() + LOCK_MS;
	auto_fd int fd = open_lock(st, lock_name, f);
	int r;

	if (fd < 0)
		return fd;
	while ((r = lock_byte(fd, 0, F_WRLCK)) == 0 && clock_now_ms() < end)
		poll(NULL, 0, LOCK_STEP_MS);
	if (r < 0)
		return fault_set(f, FAULT_SYSTEM, -r, "lock %s", lock_name);
	if (!r)
		return fault_set(f, FAULT_BUSY, 0, "another command makes a session and does not come to its "
			"end");
	*ret_fd = take_fd(&fd);
	return 0;
}

struct count {
	uint64_t n, disk_bytes;
};

static int count_one(struct store_session *s, void *arg)
{
	struct count *c = arg;

	c->n++;
	c->disk_bytes += s->spec.limits[LIMIT_DISK];
	return 0;
}

/* Whether one more goes in; what killed commands left does not count. */
static int check(struct store *st, const struct config *c, const struct session_spec *spec,
	struct fault *f)
{
	uint64_t most = c->caps[CONFIG_SESSIONS].n, disk_bytes = c->caps[CONFIG_DISK].n;
	struct count all = { 0 };
	char there[NUMBER_TEXT_MAX], wanted[NUMBER_TEXT_MAX];
	int r = disk_bytes ? store_each(st, count_one, &all, f) : store_count(st, &all.n, f);

	if (r < 0)
		return r;
	if (most && all.n >= most)
		return config_refuse(c, CONFIG_SESSIONS, f, "%llu %s there already ('" SBX_PROGRAM " list --all' "
			"shows them); remove some", (unsigned long long)all.n,
			all.n == 1 ? "session is" : "sessions are");
	if (!disk_bytes || all.disk_bytes + spec->limits[LIMIT_DISK] <= disk_bytes)
		return 0;
	return config_refuse(c, CONFIG_DISK, f, "the sessions have disk limits of %s together, and this one "
		"would have %s; remove some or ask for less with --disk",
		number_format_size(all.disk_bytes, there),
		number_format_size(spec->limits[LIMIT_DISK], wanted));
}

int gate_hold(struct store *st, const struct session_spec *spec, int *ret_lock, struct fault *f)
{
	auto_fd int lock = -1;
	struct config c;
	int r = config_read(&c, f);

	*ret_lock = -1;
	if (r < 0 || (!c.caps[CONFIG_SESSIONS].n && !c.caps[CONFIG_DISK].n))
		return r;
	r = take_lock(st, &lock, f);
	if (!r)
		r = check(st, &c, spec, f);
	if (r == -FAULT_LIMIT) {
		session_sweep(st);
		r = check(st, &c, spec, f);
	}
	if (!r)
		*ret_lock = take_fd(&lock);
	return r;
}

/* --- executions -------------------------------------------------------------------------------- */

int gate_open(struct super *s, struct fault *f)
{
	int r = config_read(&s->config, f);

	if (r < 0 || !s->config.caps[CONFIG_EXECS].n)
		return r;
	s->slots_fd = open_lock(s->store, slots_name, f);
	return s->slots_fd < 0 ? s->slots_fd : 0;
}

/* Locks of one's own do not stand in one's own way. */
static bool is_own(const struct super *s, int slot)
{
	for (const struct exec *e = s->execs; e; e = e->next)
		if (e->slot == slot)
			return true;
	return false;
}

/* Each place is one byte of a file, whose lock says that it is taken. Nobody counts, so nobody can
 * count wrongly; what is full costs a system call for each place (0.5 µs). */
int gate_take(struct super *s, struct fault *f)
{
	int most = (int)s->config.caps[CONFIG_EXECS].n;

	if (s->slots_fd < 0)
		return 0;
	for (int i = 0; i < most; i++) {
		int slot = 1 + (s->slots_from + i) % most;
		if (is_own(s, slot))
			continue;
		int r = lock_byte(s->slots_fd, slot, F_WRLCK);
		if (r < 0)
			return fault_set(f, FAULT_SYSTEM, -r, "lock %s", slots_name);
		if (r) {
			s->slots_from = slot - 1;
			return slot;
		}
	}
	return config_refuse(&s->config, CONFIG_EXECS, f, "as many executions as may run at once in all "
		"sessions do; wait until one has ended");
}

void gate_give(struct super *s, int slot)
{
	if (slot)
		lock_byte(s->slots_fd, slot, F_UNLCK);
}
