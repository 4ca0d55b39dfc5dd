/*
 * Where a session's files lie, when that has a size of its own.
 *
 *	disk_open(session, is_new, &mount, &f);    DISK_LOOP: before its jail
 *	disk_use(s, &use);                         what is used of what there is, any kind
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

struct super;

struct disk_use {
	uint64_t used_bytes, limit_bytes;     /* [bytes] */
	uint64_t used_entries, limit_entries; /* limit 0: counted elsewhere */
};

enum { DISK_REPAIRED = 1 };

/*
 * disk_open - mounts the file system of a session on a loop device, detached
 * @s:          its lock is held and nothing of it runs
 * @is_new:     it is made; else it must be there
 * @ret_mount:  the mount; up and a fresh wk are in it, given to the home's ids
 *
 * The image is disk.img in the session's directory. It is released by the kernel with the last
 * user of the mount, whatever killed that.
 *
 * Returns: 0; DISK_REPAIRED: it was not unmounted in order, and what could be saved is there; or
 *          negative.
 * Faults:  DENIED     no loop device can be had here.
 *          NOT_FOUND  the image, or a program to make it, is not there.
 *          FORMAT     the image is damaged and could not be repaired.
 *          BUSY       what ran before still holds it.
 *          LIMIT      no room for the image.
 *          SYSTEM     anything else.
 */
int disk_open(struct store_session *s, bool is_new, int *ret_mount, struct fault *f);

/* With a file system of its own, what that says; else what the last scan found. */
void disk_use(const struct super *s, struct disk_use *ret);
