/*
 * What the kernel defines and the C libraries do not, or not without clashes: musl has no
 * linux/ headers and linux/mount.h of glibc 2.36 collides with sys/mount.h. Numbers from
 * 424 on are the same on every architecture. Source: include/uapi of Linux 6.18.
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#define SYS_io_uring_setup    425
#define SYS_io_uring_enter    426
#define SYS_io_uring_register 427
#define SYS_open_tree         428
#define SYS_move_mount        429
#define SYS_fsopen            430
#define SYS_fsconfig          431
#define SYS_fsmount           432
#define SYS_fspick            433
#define SYS_pidfd_open        434
#define SYS_clone3            435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#define SYS_openat2     437
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_statmount
#define SYS_statmount 457
#define SYS_listmount 458
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#define SYS_file_setattr 469
#endif

/* The highest number that this program knows. A later call may do anything. */
#define KERNEL_NR_MAX 469

/* The new mount interface: mount(2) cannot say AT_RECURSIVE, nor show a mount only when
 * it is finished. Source: fsopen(2), open_tree(2), mount_setattr(2). */
#define KERNEL_OPEN_TREE_CLONE   1u
#define KERNEL_OPEN_TREE_CLOEXEC 02000000u
#define KERNEL_AT_RECURSIVE      0x8000u
#define KERNEL_FSOPEN_CLOEXEC    1u
#define KERNEL_FSMOUNT_CLOEXEC   1u
#define KERNEL_FSCONFIG_FLAG     0u
#define KERNEL_FSCONFIG_STRING   1u
#define KERNEL_FSCONFIG_CREATE   6u
#define KERNEL_MOVE_F_EMPTY      0x04u
#define KERNEL_MOVE_T_EMPTY      0x40u

#define KERNEL_MOUNT_RDONLY 0x01u
#define KERNEL_MOUNT_NOSUID 0x02u
#define KERNEL_MOUNT_NODEV  0x04u
#define KERNEL_MOUNT_NOEXEC 0x08u
#define KERNEL_MOUNT_IDMAP  0x00100000u

struct kernel_mount_attr {
	uint64_t set, clear, propagation, userns_fd;
};

/* Source: renameat2(2). */
#define KERNEL_RENAME_NOREPLACE 1u

/* Source: openat2(2). */
#define KERNEL_RESOLVE_NO_MAGICLINKS 0x02u
#define KERNEL_RESOLVE_NO_SYMLINKS   0x04u
#define KERNEL_RESOLVE_BENEATH       0x08u
#define KERNEL_RESOLVE_IN_ROOT       0x10u

struct kernel_open_how {
	uint64_t flags, mode, resolve;
};

/* Source: landlock(7). */
struct kernel_landlock_ruleset {
	uint64_t fs, net, scoped;
};

struct kernel_landlock_beneath {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

/* Source: seccomp(2), Documentation/networking/filter.rst. */
struct kernel_filter {
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};

struct kernel_program {
	uint16_t n;
	const struct kernel_filter *filter;
};

struct kernel_seccomp_data {
	int32_t nr;
	uint32_t arch;
	uint64_t ip;
	uint64_t args[6];
};

/* Source: capset(2), version 3. */
struct kernel_cap_header {
	uint32_t version;
	int pid;
};

struct kernel_cap_data {
	uint32_t effective, permitted, inheritable;
};
