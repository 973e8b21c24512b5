// SPDX-License-Identifier: GPL-2.0
/*
 * Events: every encoding of the shipped CPU files against libpfm4's tables, which were typed by
 * other people from the same manuals, and the ways in which an event can be named.
 */
#include "encoding.h"
#include "event.h"
#include "util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- libpfm4 ---- */

/* Encoding that libpfm4 gives to "PMU::EVENT:UMASK..."; -ENOENT when it has none. */
static int libpfm_encoding(const char *name, u64 *config)
{
	uint64_t *codes = NULL;
	int count = 0, result;

	result = pfm_get_event_encoding(name, PFM_PLM3, NULL, NULL, &codes, &count);
	if (result != PFM_SUCCESS || !count)
		return -ENOENT;
	*config = codes[0] & ENCODING_BITS;
	free(codes);
	return 0;
}

/* Intel's names are libpfm4's with another separator: GROUP.UMASK, GROUP:UMASK. */
static int by_name(const char *pmu, const char *name, u64 *config)
{
	char *full = xasprintf("%s::%s", pmu, name), *dot = strchr(full, '.');
	int result = -ENOENT;

	if (dot) {
		*dot = ':';
		result = libpfm_encoding(full, config);
	}
	free(full);
	return result;
}

/*
 * Adds ":UMASK" for each unit mask that lies within bits; what they make together is left in *bits.
 */
static void add_umasks(const pfm_event_info_t *info, u64 wanted, char *name, size_t size, u64 *bits)
{
	pfm_event_attr_info_t attr;
	int a;

	*bits = 0;
	pfm_for_each_event_attr(a, info)
	{
		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		if (pfm_get_event_attr_info(info->idx, a, PFM_OS_NONE, &attr) ||
		    attr.type != PFM_ATTR_UMASK || !attr.code || attr.code > 0xff ||
		    (attr.code & ~wanted) || !(attr.code & ~*bits))
			continue;
		*bits |= attr.code;
		snprintf(name + strlen(name), size - strlen(name), ":%s", attr.name);
	}
}

/* Are names the same but for case and underscores? IF4K, coalesced_4k, COALESCED4K */
static int same_name(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "_");
		b += strspn(b, "_");
		if (toupper((unsigned char)*a) != toupper((unsigned char)*b))
			return 0;
		if (!*a)
			return 1;
	}
}

/* Adds ":UMASK" for the unit mask of that name; whether there is one. */
static int add_named(const pfm_event_info_t *info, const char *wanted, char *name, size_t size)
{
	pfm_event_attr_info_t attr;
	int a;

	pfm_for_each_event_attr(a, info)
	{
		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		if (pfm_get_event_attr_info(info->idx, a, PFM_OS_NONE, &attr) ||
		    attr.type != PFM_ATTR_UMASK || !same_name(attr.name, wanted))
			continue;
		snprintf(name + strlen(name), size - strlen(name), ":%s", attr.name);
		return 1;
	}
	return 0;
}

/*
 * A name that stands for the whole event, or for all of its unit masks: those are found by number.
 */
static int is_sum(const char *umask)
{
	/* two walkers each; pages of 32k are "coalesced" there */
	return !umask || !strncmp(umask, "all", 3) || !strcmp(umask, "dside") ||
	       !strcmp(umask, "iside") || strstr(umask, "32k");
}

/*
 * AMD's events have other names there, their unit masks the same ones as in Linux: the event by its
 * number, the unit mask by its name; only sums of unit masks by what they make.
 */
static int by_number(pfm_pmu_t pmu, const char *pmu_name, const struct cpu_event *event, u64 *seen)
{
	pfm_pmu_info_t pmu_info = { .size = sizeof(pmu_info) };
	const char *umask = strchr(event->name, '.') ? strchr(event->name, '.') + 1 : NULL;
	u64 wanted = event->config >> 8 & 0xff, bits;
	pfm_event_info_t info;
	char name[256];
	int e;

	if (pfm_get_pmu_info(pmu, &pmu_info))
		return -ENOENT;
	for (e = pmu_info.first_event; e != -1; e = pfm_get_event_next(e)) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm_get_event_info(e, PFM_OS_NONE, &info) ||
		    info.code != (event->config & 0xff))
			continue;
		snprintf(name, sizeof(name), "%s::%s", pmu_name, info.name);
		if (is_sum(umask))
			add_umasks(&info, wanted, name, sizeof(name), &bits);
		if (is_sum(umask) ? bits == wanted : add_named(&info, umask, name, sizeof(name)))
			return libpfm_encoding(name, seen);
	}
	return -ENOENT;
}

static pfm_pmu_t find_pmu(const char *name)
{
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	pfm_for_all_pmus(pmu)
	{
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (!pfm_get_pmu_info(pmu, &info) && !strcmp(info.name, name))
			return pmu;
	}
	return PFM_PMU_NONE;
}

/* ---- the shipped files ---- */

/*
 * What libpfm4 4.13 does not have: files without a PMU of theirs, events of others. When this list
 * changes, either a file has changed or libpfm4 has learned something that is worth a look.
 */
static const char *const expected_lacks[] = {
	"alder-lake",
	"granite-rapids",
	"hsw DTLB_LOAD_MISSES.WALK_COMPLETED_1G",
	"hsw DTLB_STORE_MISSES.WALK_COMPLETED_1G",
	"hsw ITLB_MISSES.WALK_COMPLETED_1G",
	"hsw_ep DTLB_LOAD_MISSES.WALK_COMPLETED_1G",
	"hsw_ep DTLB_STORE_MISSES.WALK_COMPLETED_1G",
	"hsw_ep ITLB_MISSES.WALK_COMPLETED_1G",
	"icl DTLB_LOAD_MISSES.WALK_COMPLETED_1G",
	"icl DTLB_STORE_MISSES.WALK_COMPLETED_1G",
	"icx DTLB_LOAD_MISSES.WALK_COMPLETED_1G",
	"icx DTLB_STORE_MISSES.WALK_COMPLETED_1G",
	"ivb DTLB_LOAD_MISSES.LARGE_PAGE_WALK_COMPLETED", /* LARGE_WALK_COMPLETED there, 88 as well
							   */
	"ivb_ep DTLB_LOAD_MISSES.LARGE_PAGE_WALK_COMPLETED",
	"lunar-lake",
	"meteor-lake",
	"tiger-lake",
	"amd64_fam17h_zen1 all_tlbs_flushed",
	"amd64_fam17h_zen2 ls_tablewalker.dside",
	"amd64_fam17h_zen2 ls_tablewalker.iside",
	"amd64_fam17h_zen2 bp_l1_tlb_miss_l2_tlb_miss",
	"amd64_fam17h_zen2 bp_l1_tlb_fetch_hit",
	"amd64_fam17h_zen2 bp_tlb_rel",
	"amd64_fam17h_zen2 all_tlbs_flushed",
	"amd64_fam19h_zen3 ls_tablewalker.dside",
	"amd64_fam19h_zen3 ls_tablewalker.iside",
	"amd64_fam19h_zen3 bp_l1_tlb_miss_l2_tlb_miss",
	"amd64_fam19h_zen3 bp_l1_tlb_fetch_hit",
	"amd64_fam19h_zen3 bp_tlb_rel",
	"zen5",
};

struct crosscheck {
	const struct cpu_file *file;
	int compared, lacks;
};

static void note_lack(struct crosscheck *check, const char *what)
{
	size_t i;

	print_message("libpfm4 lacks %s\n", what);
	check->lacks++;
	for (i = 0; i < TS_COUNT(expected_lacks); i++)
		if (!strcmp(expected_lacks[i], what))
			return;
	fail_msg("libpfm4 lacks %s, which is not on the list of what it lacks", what);
}

static int compare_pmu(void *context, const char *pmu_name)
{
	struct crosscheck *check = context;
	pfm_pmu_t pmu = find_pmu(pmu_name);
	size_t i;

	assert_int_not_equal(pmu, PFM_PMU_NONE);
	for (i = 0; i < check->file->events; i++) {
		const struct cpu_event *event = &check->file->event[i];
		char what[160];
		u64 seen;

		if (by_name(pmu_name, event->name, &seen) &&
		    by_number(pmu, pmu_name, event, &seen)) {
			snprintf(what, sizeof(what), "%s %s", pmu_name, event->name);
			note_lack(check, what);
			continue;
		}
		check->compared++;
		if (seen != event->config)
			fail_msg("%s %s: %llx in the file, %llx in libpfm4", pmu_name, event->name,
				 event->config, seen);
	}
	return 0;
}

static void encodings_agree_with_libpfm4(void **state)
{
	struct crosscheck check = { 0 };
	struct problem p;
	char **paths = cpu_file_paths(&p);
	struct cpu_file file;
	size_t i;

	(void)state;
	assert_non_null(paths);
	for (i = 0; paths[i]; i++) {
		assert_int_equal(cpu_file_load(paths[i], &file, &p), 0);
		check.file = &file;
		assert_true(file.events > 10);
		assert_non_null(file.standard.text);
		if (file.libpfm.text)
			cpu_names_each(&file.libpfm, compare_pmu, &check);
		else
			note_lack(&check, file.id);
		cpu_file_free(&file);
		free(paths[i]);
	}
	free(paths);
	print_message("%d encodings compared\n", check.compared);
	assert_true(check.compared > 400);
	assert_int_equal(check.lacks, TS_COUNT(expected_lacks));
}

/* ---- by hand, out of the manuals ---- */

static void encodings_by_hand(void **state)
{
	static const struct {
		const char *cpu, *event;
		u64 config;
	} known[] = {
		{ "haswell", "DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", 0x0108 },
		{ "ivy-bridge", "DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", 0x8108 },
		{ "ivy-bridge", "DTLB_LOAD_MISSES.STLB_HIT", 0x045f },
		{ "skylake", "DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08 },
		{ "skylake", "DTLB_LOAD_MISSES.WALK_ACTIVE", 0x1001008 },
		{ "broadwell", "EPT.WALK_CYCLES", 0x104f },
		{ "granite-rapids", "DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e12 },
		{ "zen1", "l2_dtlb_misses", 0xf045 },
		{ "zen3", "ls_tlb_flush.all_tlb_flushes", 0xff78 },
		{ "zen5", "ls_l1_d_tlb_miss.all_l2_miss", 0xf045 },
	};
	struct cpu_file file;
	struct problem p;
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(known); i++) {
		assert_int_equal(cpu_file_open(known[i].cpu, &file, &p), 0);
		assert_non_null(cpu_file_event(&file, known[i].event));
		assert_true(cpu_file_event(&file, known[i].event)->config == known[i].config);
		cpu_file_free(&file);
	}
	assert_int_equal(cpu_file_open("z80", &file, &p), -ENOENT);
}

static void encodings_are_written_as_read(void **state)
{
	static const char *const texts[] = {
		"event=0x08,umask=0x0e",
		"event=0x165,umask=0x10",
		"event=0x08,umask=0x10,edge=1,inv=1,cmask=255",
	};
	static const char *const faults[] = { "",
					      "event",
					      "event=",
					      "event=x",
					      "umask=1",
					      "event=1,",
					      "event=1,umask=1,umask=2",
					      "event=-1",
					      "event=1;umask=2",
					      "event=1,edge=2",
					      "events=1",
					      "event=0x1000" };
	char text[80];
	u64 config;
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(texts); i++) {
		assert_int_equal(encoding_parse(texts[i], &config), 0);
		assert_string_equal(encoding_print(config, text, sizeof(text)), texts[i]);
	}
	assert_true(config == 0xff841008ULL); /* bits 18, 23 and 24-31 set */
	for (i = 0; i < TS_COUNT(faults); i++)
		assert_int_equal(encoding_parse(faults[i], &config), -EINVAL);
}

/* ---- names ---- */

static void events_are_found(void **state)
{
	struct event event;
	struct problem p;
	struct cpu_file file;

	(void)state;
	assert_int_equal(cpu_file_open("skylake", &file, &p), 0);
	assert_int_equal(event_find(&file, "dtlb_load_misses.walk_completed", &event, &p), 0);
	assert_string_equal(event.name,
			    "DTLB_LOAD_MISSES.WALK_COMPLETED"); /* as the maker writes it */
	assert_true(event.is_core && event.is_walk && event.config == 0x0e08);
	assert_int_equal(event_find(&file, "DTLB_LOAD_MISSES.STLB_HIT", &event, &p), 0);
	assert_false(event.is_walk);
	assert_int_equal(event_find(&file, "r01c2", &event, &p), 0);
	assert_true(event.is_core && event.config == 0x01c2);
	assert_string_equal(event.name, "r01c2");
	/* include/uapi/linux/perf_event.h: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS */
	assert_int_equal(event_find(NULL, "page-faults", &event, &p), 0);
	assert_int_equal(event.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(event.config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_false(event.is_core);
	assert_string_equal(event.name, "page-faults");
	assert_int_equal(event_find(NULL, "context-switches", &event, &p), 0);
	assert_int_equal(event.config, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_int_equal(event_find(NULL, "task-clock", &event, &p), 0);
	assert_int_equal(event.config, PERF_COUNT_SW_TASK_CLOCK);
	assert_int_equal(event_find(&file, "NO_SUCH_EVENT", &event, &p), -EINVAL);
	assert_non_null(strstr(p.text, "list events"));
	assert_int_equal(event_find(&file, "r1000000000000", &event, &p), -EINVAL);
	assert_int_equal(event_find(&file, "r", &event, &p), -EINVAL);
	assert_int_equal(event_find(&file, "", &event, &p), -EINVAL);
	assert_int_equal(event_find(&file, "a,b", &event, &p), -EINVAL);
	cpu_file_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_found), /* before libpfm4 is told to know all CPUs */
		cmocka_unit_test(encodings_by_hand),
		cmocka_unit_test(encodings_are_written_as_read),
		cmocka_unit_test(encodings_agree_with_libpfm4),
	};

	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	pfm_initialize();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
