/*
 * libarchive, loaded when it is needed: linked, it and what it pulls in would add 1.5 ms to
 * the start of every command.
 *
 *	const struct libarchive *la = libarchive_load(&f);
 *	la->write_new() …
 */
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "base/fault.h"

/* Name behind "archive_", in the order of use. */
#define LIBARCHIVE_EACH(X) \
	X(error_string) \
	X(write_new) X(write_set_format_pax_restricted) X(write_add_filter_none) \
	X(write_open) X(write_header) X(write_data) X(write_close) X(write_free) X(set_error) \
	X(read_new) X(read_support_format_tar) X(read_support_filter_gzip) \
	X(read_support_filter_zstd) X(read_open_fd) X(read_next_header) X(read_data) X(read_free) \
	X(entry_new) X(entry_clear) X(entry_free) X(entry_set_pathname) X(entry_set_size) \
	X(entry_set_filetype) X(entry_set_perm) X(entry_set_mtime) X(entry_set_symlink) \
	X(entry_set_uid) X(entry_set_gid) X(entry_pathname) X(entry_size) X(entry_filetype) \
	X(entry_perm) X(entry_mtime) X(entry_mtime_nsec) X(entry_symlink) X(entry_hardlink)

struct libarchive {
#define X(name) __typeof__(archive_##name) *name;
	LIBARCHIVE_EACH(X)
#undef X
};

/* Faults: NOT_FOUND it is not installed. */
const struct libarchive *libarchive_load(struct fault *f);
