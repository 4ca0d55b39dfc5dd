/* Tar in a program without libarchive. */
#include "pack/pack.h"

const bool pack_has_tar = false;

static int refuse(struct fault *f)
{
	return fault_set(f, FAULT_NOT_FOUND, 0, "this program is built without tar");
}

int pack_sink_tar(int fd, const char *prefix, struct pack_sink **ret, struct fault *f)
{
	(void)fd;
	(void)prefix;
	(void)ret;
	return refuse(f);
}

int pack_source_tar(int fd, struct pack_source **ret, struct fault *f)
{
	(void)fd;
	(void)ret;
	return refuse(f);
}
