#include "fmt/doc.h"

bool doc_is_number(const char *s, size_t n)
{
	const char *end = s + n;

	s += n && *s == '-';
	if (s == end || *s < '0' || *s > '9')
		return false;
	if (*s == '0' && s + 1 < end && s[1] >= '0' && s[1] <= '9')
		return false;
	while (s < end && *s >= '0' && *s <= '9')
		s++;
	if (s < end && *s == '.') {
		const char *from = ++s;
		while (s < end && *s >= '0' && *s <= '9')
			s++;
		if (s == from)
			return false;
	}
	if (s < end && (*s == 'e' || *s == 'E')) {
		s++;
		s += s < end && (*s == '+' || *s == '-');
		const char *from = s;
		while (s < end && *s >= '0' && *s <= '9')
			s++;
		if (s == from)
			return false;
	}
	return s == end;
}
