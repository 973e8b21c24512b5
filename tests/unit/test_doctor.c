// SPDX-License-Identifier: GPL-2.0
/* Doctor: the tables refer to what is there, files that are none, CPUID, and probes that die. */
#include "probe_cpu.h"
#include "probe_file.h"
#include "probe_looks.h"
#include "probe_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct options options = { .qemu = "qemu-system-x86_64" };

/* ---- tables ---- */

static void probes_have_ids_of_their_own(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < probe_count; i++) {
		assert_non_null(probes[i].look);
		assert_true(strlen(probes[i].id) <= 15); /* the column of the output */
		assert_true(probes[i].theme < THEMES);
		for (j = 0; j < i; j++)
			assert_string_not_equal(probes[i].id, probes[j].id);
	}
}

static void remedies_belong_to_probes(void **state)
{
	struct finding f;
	char owner[32];
	size_t i, j;

	(void)state;
	for (i = 0; i < remedy_count; i++) {
		snprintf(owner, sizeof(owner), "%.*s", (int)strcspn(remedies[i].id, "."),
			 remedies[i].id);
		if (strcmp(owner, "any") && !probe_find(owner))
			fail_msg("%s: no probe %s", remedies[i].id, owner);
		assert_null(strchr(remedies[i].text, '\n'));
		assert_true(strlen(remedies[i].text) < sizeof(f.remedy) - 64);
		assert_true(strlen(remedies[i].id) < sizeof(f.remedy_id));
		if (remedies[i].command)
			assert_true(strlen(remedies[i].command) < 88); /* one line, behind "$ " */
		for (j = 0; j < i; j++)
			assert_string_not_equal(remedies[i].id, remedies[j].id);
	}
}

static void targets_ask_for_probes_that_there_are(void **state)
{
	const char *const *id;
	size_t i;

	(void)state;
	for (i = 0; targets[i]; i++) {
		for (id = targets[i]->probes; id && *id; id++)
			assert_non_null(probe_find(*id));
		for (id = targets[i]->prefer; id && *id; id++)
			assert_non_null(probe_find(*id));
	}
	for (i = 0; i < target_limit_count; i++) {
		assert_non_null(target_find(target_limits[i].target));
		assert_non_null(probe_find(target_limits[i].probe));
	}
}

/* ---- findings ---- */

static void placeholders_are_filled(void **state)
{
	char value[600];
	struct finding f;

	(void)state;
	finding_set(&f, PROBE_PROBLEM, "hybrid.pin", "seen %d", 1);
	finding_fill(&f, "0-15");
	assert_string_equal(f.seen, "seen 1");
	assert_string_equal(f.command, "taskset -c 0-15 tlbscope run");
	assert_null(strchr(f.remedy, '@'));
	memset(value, 'x', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	finding_set(&f, PROBE_PROBLEM, "hybrid.pin", "%s", value);
	finding_fill(&f, value);
	assert_int_equal(strlen(f.command), sizeof(f.command) - 1);
	finding_set(&f, PROBE_OK, NULL, "fine");
	assert_string_equal(f.remedy_id, "");
}

static void dies(const struct options *o, struct finding *f)
{
	(void)o;
	(void)f;
	_exit(3);
}

static void hangs(const struct options *o, struct finding *f)
{
	(void)o;
	(void)f;
	for (;;)
		pause();
}

static void a_probe_may_die_or_hang(void **state)
{
	const struct probe bad[] = { { "dies", THEME_CPU, "", dies, 0 },
				     { "hangs", THEME_CPU, "", hangs, 0.2 } };
	struct finding f;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		probe_look(&bad[i], &options, &f);
		assert_int_equal(f.result, PROBE_UNKNOWN);
		assert_string_equal(f.remedy_id, "any.report");
	}
}

/* ---- CPUID ---- */

static void signatures_are_display_numbers(void **state)
{
	/* Leaf 1 EAX of dumps, and what Linux shows for them. */
	static const struct {
		u32 eax, family, model, stepping;
	} cpus[] = {
		{ 0x000206a7, 6, 42, 7 },   { 0x000306c3, 6, 60, 3 },	{ 0x000606a6, 6, 106, 6 },
		{ 0x00090672, 6, 151, 2 },  { 0x000a06d1, 6, 173, 1 },	{ 0x00800f11, 23, 1, 1 },
		{ 0x00830f10, 23, 49, 0 },  { 0x00a20f10, 25, 33, 0 },	{ 0x00a10f11, 25, 17, 1 },
		{ 0x00b00f21, 26, 2, 1 },   { 0x00000f29, 15, 2, 9 },	{ 0x00000543, 5, 4, 3 },
		{ 0x00100f42, 16, 4, 2 },
	};
	u32 family, model, stepping;
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(cpus); i++) {
		cpu_signature(cpus[i].eax, &family, &model, &stepping);
		assert_int_equal(family, cpus[i].family);
		assert_int_equal(model, cpus[i].model);
		assert_int_equal(stepping, cpus[i].stepping);
	}
}

/* ---- files; last, since a root stays for the rest of the process ---- */

static void put(const char *root, const char *path, const char *text)
{
	char name[256];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", root, path);
	file = fopen(name, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void only_files_are_read(void **state)
{
	char root[] = "/tmp/test_doctor.XXXXXX", name[64], text[16];
	long long number;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(probe_file_root("/dev/null"), -ENOTDIR);
	assert_int_equal(probe_file_root("/not/there"), -ENOENT);
	assert_int_equal(probe_file_root(root), 0);
	put(root, "/number", "33\n");
	put(root, "/minus", "-1");
	put(root, "/word", "many\n");
	put(root, "/empty", "");
	put(root, "/huge", "99999999999999999999999");
	put(root, "/long", "0123456789abcdefghij");
	put(root, "/bytes", "a\001\377b\n\n");
	put(root, "/ok", "ok\n");
	put(root, "/denied", "denied\n");
	snprintf(name, sizeof(name), "%s/fifo", root);
	assert_int_equal(mkfifo(name, 0600), 0);
	snprintf(name, sizeof(name), "%s/link", root);
	assert_int_equal(symlink("/proc/self/status", name), 0);
	assert_int_equal(probe_number("/number", &number), 0);
	assert_int_equal(number, 33);
	assert_int_equal(probe_number("/minus", &number), 0);
	assert_int_equal(number, -1);
	assert_int_equal(probe_number("/word", &number), -EDOM);
	assert_int_equal(probe_number("/empty", &number), -EDOM);
	assert_int_equal(probe_number("/huge", &number), -EDOM);
	assert_int_equal(probe_number("/gone", &number), -ENOENT);
	assert_int_equal(probe_read("/long", text, sizeof(text)), 15);
	assert_string_equal(text, "0123456789abcde");
	assert_int_equal(probe_read("/bytes", text, sizeof(text)), 4);
	assert_string_equal(text, "a??b");
	assert_int_equal(probe_read("/fifo", text, sizeof(text)), -EINVAL);
	assert_int_equal(probe_read("/", text, sizeof(text)), -EINVAL);
	assert_int_equal(probe_read("/link", text, sizeof(text)), -ELOOP);
	assert_int_equal(probe_exists("/ok"), 1);
	assert_int_equal(probe_exists("/gone"), 0);
	assert_int_equal(probe_device("/ok"), 0);
	assert_int_equal(probe_device("/denied"), -EACCES);
	assert_int_equal(probe_device("/word"), -EINVAL);
	assert_int_equal(probe_device("/gone"), -ENOENT);
	snprintf(text, sizeof(text), "/tmp");
	snprintf(name, sizeof(name), "rm -r %s", root);
	assert_int_equal(system(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_have_ids_of_their_own),
		cmocka_unit_test(remedies_belong_to_probes),
		cmocka_unit_test(targets_ask_for_probes_that_there_are),
		cmocka_unit_test(placeholders_are_filled),
		cmocka_unit_test(a_probe_may_die_or_hang),
		cmocka_unit_test(signatures_are_display_numbers),
		cmocka_unit_test(only_files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
