#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/title.h"

/* The kernel shows what lies between the first argument and the end of the environment,
 * which the loader laid out in one piece. Source: proc(5), /proc/PID/cmdline. */
static char *area;
static size_t area_bytes;

void title_init(int argc, char **argv)
{
	char *end = argv[0];

	for (int i = 0; i < argc; i++)
		if (argv[i] == end)
			end += strlen(end) + 1;
	for (char **e = environ; e && *e; e++)
		if (*e == end)
			end += strlen(end) + 1;
	area = argv[0];
	area_bytes = (size_t)(end - argv[0]);
}

void title_set(const char *format, ...)
{
	char name[128];
	va_list ap;

	va_start(ap, format);
	vsnprintf(name, sizeof name, format, ap);
	va_end(ap);
	prctl(PR_SET_NAME, name);
	if (!area_bytes)
		return;
	for (char **e = environ; e && *e; e++)
		if (*e >= area && *e < area + area_bytes)
			*e = mem_string(*e);
	memset(area, 0, area_bytes);
	snprintf(area, area_bytes, "%s", name);
}
