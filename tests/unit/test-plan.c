#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "jail/jail.h"
#include "jail/plan.h"
#include "sys/landlock.h"

static struct jail_spec usual(void)
{
	static const struct jail_file files[] = { { "python.py", "print()\n", 8 }, { "node.js", "", 0 } };

	return (struct jail_spec){ .id = "sess_a", .hostname = "box", .fs_fd = -1, .skel_fd = -1,
		.shm_bytes = 1 << 20, .files = files, .n_files = 2 };
}

static const struct plan_op *find(const struct plan *p, enum plan_kind kind, const char *path)
{
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (p->ops[i].kind == kind && !strcmp(p->ops[i].path, path))
			return &p->ops[i];
	return NULL;
}

static void every_mount(struct jail_spec s)
{
	struct plan p;
	struct fault f;

	assert_int_equal(plan_make(&s, &p, &f), 0);
	for (uint32_t i = 0; i < p.n_ops; i++) {
		const struct plan_op *op = &p.ops[i];
		bool mounts = op->kind == PLAN_BIND || op->kind == PLAN_MOUNT ||
			op->kind == PLAN_OVERLAY || op->kind == PLAN_DEVICE ||
			op->kind == PLAN_BASE || op->kind == PLAN_DISK;
		bool devices = op->kind == PLAN_DEVICE || !strcmp(op->source, "devpts");
		if (mounts)
			assert_true(op->attr & KERNEL_MOUNT_NOSUID);
		if (mounts && !devices)
			assert_true(op->attr & KERNEL_MOUNT_NODEV);
		if (op->kind == PLAN_BIND)
			assert_true(op->attr & KERNEL_MOUNT_RDONLY && op->flags & PLAN_RECURSIVE);
		assert_true(op->path[0] != '/');
	}
	plan_done(&p);
}

static void test_every_mount_is_nosuid_and_nodev(void **state)
{
	struct jail_spec s = usual();

	(void)state;
	every_mount(s);
	s.has_base = true;
	s.disk = JAIL_DISK_TMPFS;
	every_mount(s);
	s.disk = JAIL_DISK_MOUNT;
	every_mount(s);
}

static void test_a_root_of_its_own_has_nothing_of_the_host(void **state)
{
	struct jail_spec s = usual();
	struct plan p;
	struct fault f;

	(void)state;
	s.has_base = true;
	s.disk = JAIL_DISK_TMPFS;
	s.disk_bytes = 1 << 20;
	assert_int_equal(plan_make(&s, &p, &f), 0);
	for (uint32_t i = 0; i < p.n_ops; i++)
		assert_int_not_equal(p.ops[i].kind, PLAN_BIND);
	const struct plan_op *base = find(&p, PLAN_BASE, ""), *disk = find(&p, PLAN_DISK, ""),
		*overlay = find(&p, PLAN_OVERLAY, "");
	assert_true(base && disk && base < overlay && disk < overlay);
	assert_true(base->attr & KERNEL_MOUNT_RDONLY);
	assert_non_null(strstr(overlay->options, "lowerdir=low:img,upperdir=disk/up,workdir=disk/wk,"));
	assert_non_null(strstr(disk->options, "size=1048576,nr_inodes=1280,"));
	/* Whatever lies there: covered. */
	static const char *const covered[] = { "proc", "sys", "dev", "run/sbx" };
	for (size_t i = 0; i < array_size(covered); i++)
		assert_non_null(find(&p, PLAN_MOUNT, covered[i]));
	plan_done(&p);
}

static void test_order(void **state)
{
	struct jail_spec s = usual();
	struct plan p;
	struct fault f;

	(void)state;
	assert_int_equal(plan_make(&s, &p, &f), 0);
	const struct plan_op *overlay = find(&p, PLAN_OVERLAY, ""), *usr = find(&p, PLAN_BIND, "usr"),
		*dev = find(&p, PLAN_MOUNT, "dev"), *null = find(&p, PLAN_DEVICE, "dev/null"),
		*ro = find(&p, PLAN_READ_ONLY, "dev"), *pivot = find(&p, PLAN_PIVOT, ""),
		*sweep = find(&p, PLAN_SWEEP, "");
	assert_true(overlay && overlay < usr && usr < dev && dev < null && null < ro && ro < pivot &&
		pivot < sweep);
	assert_ptr_equal(sweep, &p.ops[p.n_ops - 1]);
	assert_int_equal(p.exec_ops[0].kind, PLAN_PROC);
	assert_int_equal(p.exec_ops[0].flags & PLAN_OPTIONAL, 0);
	plan_done(&p);
}

static void test_ids_only_with_a_block(void **state)
{
	struct jail_spec s = usual();
	struct plan p;
	struct fault f;

	(void)state;
	assert_int_equal(plan_make(&s, &p, &f), 0);
	assert_null(find(&p, PLAN_IDS, ""));
	assert_null(strstr(find(&p, PLAN_MOUNT, "dev/pts")->options, "gid="));
	plan_done(&p);
	s.id_base = 0x70000000;
	assert_int_equal(plan_make(&s, &p, &f), 0);
	assert_ptr_equal(find(&p, PLAN_IDS, ""), &p.ops[0]);
	assert_non_null(strstr(find(&p, PLAN_MOUNT, "dev/pts")->options, "gid=5"));
	plan_done(&p);
}

static void test_what_may_be_written(void **state)
{
	struct jail_spec s = usual();
	struct plan p;
	struct fault f;
	uint32_t make = 1u << 7 | 1u << 8; /* directories, regular files */

	(void)state;
	assert_int_equal(plan_make(&s, &p, &f), 0);
	for (uint32_t i = 0; i < p.n_rules; i++) {
		const char *path = p.rules[i].path;
		bool writable = !strcmp(path, "/workspace") || !strcmp(path, "/home/sandbox") ||
			!strcmp(path, "/tmp") || !strcmp(path, "/var/tmp") || !strcmp(path, "/dev/shm");
		assert_int_equal((p.rules[i].access & make) != 0, writable);
		assert_int_equal(p.rules[i].access & (LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK), 0);
		if (!strcmp(path, "/"))
			assert_int_equal(p.rules[i].access & (LANDLOCK_WRITE | LANDLOCK_TRUNCATE), 0);
	}
	plan_done(&p);
}

static void test_the_message_keeps_everything(void **state)
{
	struct jail_spec s = usual();
	struct plan p, q;
	struct fault f;
	auto_text struct text a = { 0 }, b = { 0 };

	(void)state;
	assert_int_equal(plan_make(&s, &p, &f), 0);
	plan_put(&p, &a);
	struct frame r = { (unsigned char *)a.data, a.n };
	assert_true(plan_get(&r, &q));
	assert_true(frame_is_done(&r));
	plan_put(&q, &b);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.data, b.data, a.n);
	const struct plan_op *file = find(&q, PLAN_FILE, "run/sbx/python.py");
	assert_memory_equal(file->data, "print()\n", 8);
	free(q.filter);
	plan_done(&p);
}

static void test_a_cut_message_is_refused(void **state)
{
	struct jail_spec s = usual();
	struct plan p, q;
	struct fault f;
	auto_text struct text t = { 0 };

	(void)state;
	assert_int_equal(plan_make(&s, &p, &f), 0);
	plan_put(&p, &t);
	for (size_t n = 0; n < t.n; n += 7) {
		struct frame r = { (unsigned char *)t.data, n };
		assert_false(plan_get(&r, &q));
	}
	plan_done(&p);
}

static void test_wrong_specs(void **state)
{
	static const struct jail_file up[] = { { "../x", "", 0 } };
	struct jail_spec s;
	struct plan p;
	struct fault f;

	(void)state;
	s = usual();
	s.id = "../a";
	assert_int_equal(plan_make(&s, &p, &f), -FAULT_USAGE);
	s = usual();
	s.hostname = "";
	assert_int_equal(plan_make(&s, &p, &f), -FAULT_USAGE);
	s = usual();
	s.files = up;
	s.n_files = 1;
	assert_int_equal(plan_make(&s, &p, &f), -FAULT_USAGE);
	s = usual();
	s.n_files = PLAN_FILES_MAX + 1;
	assert_int_equal(plan_make(&s, &p, &f), -FAULT_USAGE);
}

static void test_print(void **state)
{
	struct jail_spec s = usual();
	auto_text struct text t = { 0 };

	(void)state;
	s.deny_fallocate = true;
	jail_plan_print(&s, &t);
	assert_memory_equal(t.data, "{\"schema\":\"sbx.plan/1\",", 23);
	assert_non_null(strstr(t.data, "{\"operation\":\"overlay\",\"phase\":\"init\""));
	assert_non_null(strstr(t.data, "\"path\":\"kcore\""));
	assert_non_null(strstr(t.data, "{\"syscall\":\"fallocate\""));
	assert_non_null(strstr(t.data, "\"map\":\"single\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_mount_is_nosuid_and_nodev),
		cmocka_unit_test(test_a_root_of_its_own_has_nothing_of_the_host),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_ids_only_with_a_block),
		cmocka_unit_test(test_what_may_be_written),
		cmocka_unit_test(test_the_message_keeps_everything),
		cmocka_unit_test(test_a_cut_message_is_refused),
		cmocka_unit_test(test_wrong_specs),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
