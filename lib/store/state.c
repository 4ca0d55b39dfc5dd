#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/state.h"

int state_damaged(struct fault *f, const char *name, const char *key)
{
	return fault_set(f, FAULT_FORMAT, 0, "%s: '%s' is missing or wrong", name, key);
}

int state_open(int dir, const char *name, const char *schema, struct fmt_doc **ret, struct fault *f)
{
	auto_text struct text t = { 0 };
	auto_doc struct fmt_doc *doc = NULL;
	int r = file_read(dir, name, LIMIT_STATE_BYTES, &t, f);

	if (r >= 0)
		r = fmt_parse_json(name, text_string(&t), t.n, &doc, f);
	if (r < 0)
		return r;
	const char *is = fmt_string(fmt_get(fmt_root(doc), "schema"), "");
	if (strcmp(is, schema) != 0)
		return fault_set(f, FAULT_FORMAT, 0, "%s: its schema is '%.40s', not %s", name, is, schema);
	*ret = take_ptr(&doc);
	return 0;
}

bool state_text(const struct fmt_value *v, char *buf, size_t room)
{
	const char *s = fmt_string(v, NULL);

	if (!s || strlen(s) >= room)
		return false;
	memcpy(buf, s, strlen(s) + 1);
	return true;
}

bool state_time(const struct fmt_value *v, int64_t *ret_us)
{
	int64_t us = v && v->kind == FMT_NULL ? 0 : clock_parse(fmt_string(v, ""));

	if (us < 0)
		return false;
	*ret_us = us;
	return true;
}

bool state_choice(const struct fmt_value *v, const char *const *choices, unsigned *ret)
{
	const char *s = fmt_string(v, "");

	for (unsigned i = 0; choices[i]; i++)
		if (strcmp(choices[i], s) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

bool state_uint(const struct fmt_value *v, uint64_t *ret)
{
	int64_t i = fmt_int(v, -1);

	if (i < 0)
		return false;
	*ret = (uint64_t)i;
	return true;
}

void state_put_time(struct text *t, const char *key, int64_t us)
{
	char buf[CLOCK_TEXT_MAX];

	json_put_string(t, key, us > 0 ? clock_format(us, buf) : NULL);
}

void state_put_uint(struct text *t, const char *key, uint64_t v)
{
	json_put_int(t, key, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}
