/* Directories of executions, and what makes a request repeatable. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "store/inner.h"

static int open_part(struct store_session *s, const char *part, const char *id, int *ret_fd,
	struct fault *f)
{
	if (id && !id_is_valid(id))
		return fault_set(f, FAULT_USAGE, 0, "'%.80s' is not the id of an execution", id);
	return file_open_dir(s->dir, part, ret_fd, f);
}

int store_exec_make(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f)
{
	auto_fd int execs = -1;
	int r = open_part(s, "exec", exec_id, &execs, f);

	return r < 0 ? r : store_make_dir(execs, exec_id, 0700, ret_dir, f);
}

int store_exec_open(struct store_session *s, const char *exec_id, int *ret_dir, struct fault *f)
{
	auto_fd int execs = -1;
	int r = open_part(s, "exec", exec_id, &execs, f);

	if (r >= 0)
		r = file_open_dir(execs, exec_id, ret_dir, f);
	if (r == -FAULT_NOT_FOUND)
		return fault_set(f, FAULT_NOT_FOUND, 0, "no such execution: '%s'", exec_id);
	return r;
}

/* A request id is any text: its digest is a name that needs no checks. */
static void request_name(const char *request_id, char ret[DIGEST_TEXT])
{
	struct digest *d = digest_new();

	digest_add(d, request_id, strlen(request_id));
	digest_end(d, ret);
}

static bool is_digest(const char *s)
{
	return strspn(s, "0123456789abcdef") == DIGEST_TEXT - 1 && !s[DIGEST_TEXT - 1];
}

/* "EXEC BODY\n" */
static bool parse_request(char *text, char ret_exec[ID_TEXT], char ret_body[DIGEST_TEXT])
{
	char *space = strchr(text, ' ');
	char *end = space ? strchr(space, '\n') : NULL;

	if (!end || end[1])
		return false;
	*space = *end = 0;
	if (!id_is_valid(text) || !is_digest(space + 1))
		return false;
	memcpy(ret_exec, text, strlen(text) + 1);
	memcpy(ret_body, space + 1, DIGEST_TEXT);
	return true;
}

int store_request_find(struct store_session *s, const char *request_id, char ret_exec[ID_TEXT],
	char ret_body[DIGEST_TEXT], struct fault *f)
{
	auto_text struct text t = { 0 };
	auto_fd int requests = -1;
	char name[DIGEST_TEXT];

	/* The directory comes with the first of them. */
	int r = open_part(s, "requests", NULL, &requests, f);
	request_name(request_id, name);
	if (r >= 0)
		r = file_read(requests, name, 1024, &t, f);
	if (r == -FAULT_NOT_FOUND)
		return 0;
	if (r < 0)
		return r;
	text_put(&t, ""); /* an empty file has no data yet */
	if (!parse_request(t.data, ret_exec, ret_body))
		return fault_set(f, FAULT_FORMAT, 0, "requests/%s of session %s is damaged", name,
			s->spec.id);
	return 1;
}

int store_request_note(struct store_session *s, const char *request_id, const char *exec_id,
	const char body[DIGEST_TEXT], struct fault *f)
{
	auto_text struct text t = { 0 };
	auto_fd int requests = -1;
	char name[DIGEST_TEXT];
	int r;

	if (!id_is_valid(exec_id))
		return fault_set(f, FAULT_USAGE, 0, "'%.80s' is not the id of an execution", exec_id);
	r = file_make_dir(s->dir, "requests", 0700, &requests, f);
	if (r < 0)
		return r;
	request_name(request_id, name);
	text_format(&t, "%s %s\n", exec_id, body);
	return file_replace(requests, name, t.data, t.n, f);
}
