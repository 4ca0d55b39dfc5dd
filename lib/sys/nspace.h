/* Namespaces: a program started in new ones, and the maps of a user namespace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A program to be started; the descriptors must be 3 or more. */
struct nspace_program {
	int image;         /* executable, by descriptor */
	int stdio[2];      /* become its descriptors 0 and 1; it has no others */
	char *argv[4];
	bool is_plain;     /* in the namespaces of the caller, with its capabilities */
	uint64_t caps;     /* bit n: capability n stays over the exec (ambient) */
	const char *stage; /* where it failed, after a failure */
	int sysno;
};

/*
 * nspace_start - runs a program as the first process of new user and pid namespaces
 * @p:         what to run; stage and sysno are set on failure
 * @ret_pidfd: its pidfd; set on success only
 *
 * The caller sleeps until the exec is done, sharing its memory with the child: no page
 * table is copied. Other threads and the caller's directory are not touched.
 *
 * Returns: its pid, or -errno.
 * Source:  clone(2) CLONE_VM | CLONE_VFORK | CLONE_PIDFD.
 */
pid_t nspace_start(struct nspace_program *p, int *ret_pidfd);

/* A copy of the calling process in more namespaces (CLONE_NEW…): returns as fork(2) does,
 * or -errno. ret_pidfd may be NULL. */
pid_t nspace_fork(uint64_t flags, int *ret_pidfd);

/* inside outside count, for users and for groups alike. */
struct nspace_map {
	uint32_t inside, outside_uid, outside_gid, count;
};

/*
 * nspace_set_map - writes the maps of a process's user namespace
 * @proc:  descriptor of its /proc/PID
 * @map:   with a count of 1, groups are given up first (setgroups deny), which lets an
 *         ordinary user do it
 *
 * Returns: 0, or -errno. Source: user_namespaces(7).
 */
int nspace_set_map(int proc, const struct nspace_map *map);
