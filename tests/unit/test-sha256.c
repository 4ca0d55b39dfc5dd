#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/sha256.h"

static void hash(const void *p, size_t n, size_t step, char ret[2 * SHA256_BYTES + 1])
{
	unsigned char sum[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	for (size_t at = 0; at < n; at += step)
		sha256_add(&s, (const char *)p + at, n - at < step ? n - at : step);
	sha256_end(&s, sum);
	for (size_t i = 0; i < sizeof sum; i++)
		snprintf(ret + 2 * i, 3, "%02x", sum[i]);
}

/* Source: FIPS 180-2, appendix B; RFC 6234, 8.5. */
static void known_sums(void **state)
{
	static const struct {
		const char *in, *sum;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char sum[2 * SHA256_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		hash(rows[i].in, strlen(rows[i].in), 1 + strlen(rows[i].in), sum);
		assert_string_equal(sum, rows[i].sum);
	}
}

/* In one piece the instructions of the CPU do it, where there are some; byte by byte never before. */
static void a_million_bytes_however_they_come(void **state)
{
	static const size_t steps[] = { 1, 63, 64, 65, 1000, 65536, 1000000 };
	char *p = malloc(1000000), sum[2 * SHA256_BYTES + 1];

	(void)state;
	memset(p, 'a', 1000000);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		hash(p, 1000000, steps[i], sum);
		assert_string_equal(sum, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
	free(p);
}

/* Every length to behind the third block, as sha256sum(1) says it. */
static void lengths_as_sha256sum(void **state)
{
	char in[] = "/tmp/sha256-XXXXXX", line[200], sum[2 * SHA256_BYTES + 1], command[100];
	unsigned char bytes[200];
	int fd = mkstemp(in);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * 151 + 7);
	FILE *out = fdopen(fd, "w");
	fwrite(bytes, 1, sizeof bytes, out);
	fclose(out);
	snprintf(command, sizeof command,
		"for n in $(seq 0 200); do head -c $n %s | sha256sum; done", in);
	FILE *list = popen(command, "r");
	for (size_t n = 0; n <= sizeof bytes; n++) {
		assert_non_null(fgets(line, sizeof line, list));
		line[2 * SHA256_BYTES] = 0;
		hash(bytes, n, 77, sum);
		assert_string_equal(sum, line);
	}
	pclose(list);
	remove(in);
}

/* The first test: block by block the CPU is not asked, as long as nobody did. */
static void the_cpu_agrees(void **state)
{
	unsigned char p[40 * SHA256_BLOCK], one[SHA256_BYTES], two[SHA256_BYTES];
	struct sha256 s;
	unsigned x = 1;

	(void)state;
	if (!sha256_cpu_has()) {
		print_message("skipped: this CPU has no instructions for SHA-256\n");
		skip();
	}
	for (unsigned round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof p; i++)
			p[i] = (unsigned char)((x = x * 1103515245 + 12345) >> 16);
		sha256_init(&s);
		for (size_t i = 0; i < sizeof p; i += SHA256_BLOCK)
			sha256_add(&s, p + i, SHA256_BLOCK);
		sha256_end(&s, one);
		sha256_init(&s);
		sha256_cpu_blocks(s.state, p, 40);
		s.n_bytes = sizeof p;
		sha256_end(&s, two);
		assert_memory_equal(one, two, sizeof one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cpu_agrees),
		cmocka_unit_test(known_sums),
		cmocka_unit_test(a_million_bytes_however_they_come),
		cmocka_unit_test(lengths_as_sha256sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
