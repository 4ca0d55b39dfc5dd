#include <dlfcn.h>

#include "pack/libarchive.h"
#include "pack/pack.h"

const bool pack_has_tar = true;

const struct libarchive *libarchive_load(struct fault *f)
{
	static struct libarchive la;
	static const char *const names[] = {
#define X(name) "archive_" #name,
		LIBARCHIVE_EACH(X)
#undef X
	};
	/* The struct is an array of pointers, in the order of the names. */
	void **at = (void **)&la;

	if (la.error_string)
		return &la;
	void *lib = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		at[i] = lib ? dlsym(lib, names[i]) : NULL;
		if (at[i])
			continue;
		la.error_string = NULL;
		fault_set(f, FAULT_NOT_FOUND, 0, "tar needs libarchive (libarchive.so.13)");
		return NULL;
	}
	return &la;
}
