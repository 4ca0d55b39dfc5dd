/*
 * Mounts by descriptor: made or cloned detached, finished while nobody sees them, then
 * attached below a directory that was opened without following a link.
 *
 *	int m = mnt_clone(AT_FDCWD, "/usr", true);
 *	mnt_change(m, KERNEL_MOUNT_RDONLY, 0, true);
 *	mnt_attach(m, root, "usr");
 *
 * All give 0 or a descriptor, or -errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Options as a text "key=value,flag,…" without quoting; attr: KERNEL_MOUNT_…. */
int mnt_make(const char *type, const char *options, uint32_t attr);

/* The same of a block device. */
int mnt_make_on(const char *type, const char *source, const char *options, uint32_t attr);

/* A detached copy of what is at path; the last component may not be a link. */
int mnt_clone(int dir, const char *path, bool recursive);

/* Sets and clears KERNEL_MOUNT_… on the mount at fd, all below it too when recursive. */
int mnt_change(int fd, uint32_t set, uint32_t clear, bool recursive);

/* Shows the detached mount with the ids of a user namespace. Source: mount_setattr(2). */
int mnt_idmap(int fd, int userns);

/* Opens a path below root: no links, not even by magic, and never above root. */
int mnt_open(int root, const char *path, int flags);

/* Attaches a detached mount at a path below root (as mnt_open). */
int mnt_attach(int fd, int root, const char *path);

/* The mount at fd becomes /, the old root is gone, and so is the way to it. */
int mnt_pivot(int fd);

/* Nothing that happens to mounts elsewhere shows here, nor the other way round. */
int mnt_make_private(void);
