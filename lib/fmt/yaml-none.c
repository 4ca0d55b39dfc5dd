/* YAML in a program without libyaml. */
#include "fmt/doc.h"

const bool fmt_has_yaml = false;

int doc_parse_yaml(struct fmt_doc *doc, const unsigned char *p, size_t n, struct fault *f)
{
	(void)p;
	(void)n;
	return doc_fail(doc, 1, 1, f, "this program reads JSON only");
}
