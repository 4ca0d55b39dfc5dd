/*
 * Loop devices: a file as a block device.
 *
 *	flock(file, LOCK_EX | LOCK_NB);     goes when the device lets go of the file
 *	fd = loopdev_attach(file, path);
 *	… mount path …
 *	close(fd);                          the mount holds it now
 */
#pragma once

enum { LOOPDEV_PATH = 32 };

/*
 * loopdev_attach - attaches an open file to a free loop device
 * @file:      opened for reading and writing; the device keeps this open file, and its locks
 * @ret_path:  /dev/loopN
 *
 * The device lets go of the file by itself when its last user has closed it.
 *
 * Returns: the opened device, or -errno; -ENOENT where there are no loop devices.
 * Source:  loop(4); LOOP_CONFIGURE, Linux 5.8.
 */
int loopdev_attach(int file, char ret_path[LOOPDEV_PATH]);
