// SPDX-License-Identifier: GPL-2.0
/*
 * CPU data files: the format's rules with the line of each fault, and those that are shipped.
 *
 * Which CPU belongs to which file is typed from Linux' arch/x86/include/asm/intel-family.h and
 * arch/x86/kernel/cpu/amd.c, its sizes from CPUID dumps of such CPUs.
 */
#include "cpu_file.h"
#include "util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "[cpu]\nname = Some\nvendor = GenuineIntel\nfamily = 6\nmodels = 1\n"

/* Loads a text; the file is gone afterwards. */
static int load(const char *text, struct cpu_file *file, struct problem *p)
{
	char path[] = "/tmp/test_cpu_file.XXXXXX";
	int fd = mkstemp(path), result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	result = cpu_file_load(path, file, p);
	unlink(path);
	return result;
}

static void faults_have_a_line(void **state)
{
	static const struct {
		const char *text;
		int line;
		const char *says;
	} faults[] = {
		{ "name = x\n", 1, "before the first section" },
		{ "[cpu]\nname\n", 2, "neither" },
		{ "[cpu]\nname =\n", 2, "no value" },
		{ "[cpu]\nname = x\nname = y\n", 3, "duplicate" },
		{ "[cpu]\nspeed = 1\n", 2, "unknown key" },
		{ "[cpu]\nname = x\nvendor = y\n", 3, "no family" },
		{ "[cpu]\nfamily = six\n", 2, "family" },
		{ "[cpu]\nfamily = 0\n", 2, "family" },
		{ "[cpu]\nfamily = 6x\n", 2, "family" },
		{ "[cpu]\nfamily = -6\n", 2, "family" },
		{ "[cpu]\nmodels = 1-\n", 2, "range" },
		{ "[cpu]\nmodels = 5-4\n", 2, "upwards" },
		{ "[cpu]\nmodels = 1,\n", 2, "numbers" },
		{ "[cpu]\nmodels = 256\n", 2, "0 to 255" },
		{ "[cpu]\nmodels = 1 2\n", 2, "commas" },
		{ "[cpu]\nmodels = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n", 2, "room" },
		{ "[cpu]\nmodels-status = sure\n", 2, "models-status" },
		{ HEAD "[tlb]\nl1d-8k = 1x1 | declared | x\n", 7, "unknown key" },
		{ HEAD "[tlb]\nl1d-4k = 64x4\n", 7, "STATUS" },
		{ HEAD "[tlb]\nl1d-4k = 64x4 | declared\n", 7, "STATUS" },
		{ HEAD "[tlb]\nl1d-4k = 64x4 | said | x\n", 7, "status" },
		{ HEAD "[tlb]\nl1d-4k = 64x4 | declared |\n", 7, "source" },
		{ HEAD "[tlb]\nl1d-4k = 64 | declared | x\n", 7, "geometry" },
		{ HEAD "[tlb]\nl1d-4k = 64x5 | declared | x\n", 7, "divide" },
		{ HEAD "[tlb]\nl1d-4k = 64x0 | declared | x\n", 7, "geometry" },
		{ HEAD "[tlb]\nl1d-4k = 0x4 | declared | x\n", 7, "geometry" },
		{ HEAD "[tlb]\nl1d-4k = 64xfully | declared | x\n", 7, "geometry" },
		{ HEAD "[events]\nA = event=1,umask=1\n", 7, "STATUS" },
		{ HEAD "[events]\nA = event=1 | said | x\n", 7, "status" },
		{ HEAD "[events]\nA = event=1 | declared |\n", 7, "source" },
		{ HEAD "[events]\nA = umask=1 | declared | x\n", 7, "encoding" },
		{ HEAD "[events]\nA = event=0x1000 | declared | x\n", 7, "encoding" },
		{ HEAD "[events]\nA = event=1,umask=256 | declared | x\n", 7, "encoding" },
		{ HEAD "[events]\nA = event=1,event=2 | declared | x\n", 7, "encoding" },
		{ HEAD "[events]\nA = event=1,mask=2 | declared | x\n", 7, "encoding" },
		{ HEAD "[events]\nA = event=1, | declared | x\n", 7, "encoding" },
		{ HEAD "[events]\nA = event=1 | declared | x\na = event=1 | declared | x\n", 8,
		  "duplicate" },
		{ HEAD "[events]\ndefault = A\nB = event=1 | declared | x\n", 7, "no event" },
		{ HEAD "[events]\nwalks =\n", 7, "no value" },
		{ HEAD "[events]\nB = event=1 | declared | x\ndefault = B, B, B, B, B\n", 8,
		  "counters" },
		{ HEAD "[tlb]\nl1d-4k = none | declared | x\nl1d-4k = 64x4 | declared | x\n", 8,
		  "duplicate" },
	};
	struct cpu_file file;
	struct problem p;
	char at[32];
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(faults); i++) {
		snprintf(at, sizeof(at), ":%d: ", faults[i].line);
		p.text[0] = '\0';
		if (load(faults[i].text, &file, &p) != -EINVAL || !strstr(p.text, at) ||
		    !strstr(p.text, faults[i].says))
			fail_msg("fault %zu: \"%s\" has no \"%s\" or \"%s\"", i, p.text, at,
				 faults[i].says);
	}
}

static void long_lines_are_refused(void **state)
{
	char text[600];
	struct cpu_file file;
	struct problem p;

	(void)state;
	snprintf(text, sizeof(text), HEAD "[tlb]\nnote = %0300d\n", 0);
	assert_int_equal(load(text, &file, &p), -EINVAL);
	assert_non_null(strstr(p.text, ":7: line longer"));
}

static void values_are_read(void **state)
{
	struct cpu_file file;
	struct problem p;
	int unverified;

	(void)state;
	assert_int_equal(
		load(HEAD "models-status = unverified\naliases = A, B\n[tlb]\n"
			  "l1d-4k = 64x4 | declared | manual\n"
			  "l1d-1g = 8xfull | measured | me\n"
			  "l2-1g = none | unverified | nobody\n"
			  "l2-shared = 4k 2m | declared | manual\nnote = so it is\n"
			  "[events]\nwalks = A.B\n"
			  "A.B = event=0x08,umask=0x0e | declared | manual\n"
			  "A.C = event=0x165,umask=0x10,cmask=1,inv=1 | unverified | me\n"
			  "default = A.C, A.B\nlibpfm = x, y\n[costs]\ninvlpg = 120\n",
		     &file, &p),
		0);
	assert_int_equal(file.models_status, CPU_UNVERIFIED);
	assert_string_equal(file.aliases, "A, B");
	assert_int_equal(file.tlb[TLB_L1D_4K].entries, 64);
	assert_int_equal(file.tlb[TLB_L1D_4K].ways, 4);
	assert_string_equal(file.tlb[TLB_L1D_4K].source, "manual");
	assert_int_equal(file.tlb[TLB_L1D_1G].entries, 8);
	assert_int_equal(file.tlb[TLB_L1D_1G].ways, 0);
	assert_int_equal(file.tlb[TLB_L1D_1G].status, CPU_MEASURED);
	assert_true(file.tlb[TLB_L2_1G].given);
	assert_int_equal(file.tlb[TLB_L2_1G].entries, 0);
	assert_false(file.tlb[TLB_L2_4K].given);
	assert_string_equal(file.shared, "4k 2m");
	assert_string_equal(file.note, "so it is");
	assert_int_equal(cpu_file_values(&file, &unverified), 4);
	assert_int_equal(unverified, 1);
	assert_int_equal(file.others, 1); /* unknown sections are kept */
	assert_string_equal(file.other[0].section, "costs");
	assert_string_equal(file.other[0].key, "invlpg");
	assert_int_equal(file.events, 2);
	/* by hand: 8 | 0xe << 8; 0x65 | 0x10 << 8 | inv 1 << 23 | cmask 1 << 24 | 0x100 >> 8 << 32 */
	assert_int_equal(cpu_file_event(&file, "a.b")->config, 0x0e08);
	assert_true(cpu_file_event(&file, "A.C")->config == 0x101801065ULL);
	assert_int_equal(cpu_file_event(&file, "A.C")->status, CPU_UNVERIFIED);
	assert_null(cpu_file_event(&file, "A"));
	assert_true(cpu_names_have(&file.standard, "A.B"));
	assert_true(cpu_names_have(&file.walks, "A.B"));
	assert_false(cpu_names_have(&file.walks, "A.C"));
	assert_true(cpu_names_have(&file.libpfm, "y"));
	assert_false(cpu_names_have(&file.libpfm, "z"));
	cpu_file_free(&file);
	assert_int_equal(cpu_file_load("/nowhere/x.cpu", &file, &p), -EINVAL);
}

/* ---- those that are shipped ---- */

static void no_two_files_share_a_cpu(void **state)
{
	static unsigned char intel[256], amd[256][256];
	struct problem p;
	char **paths = cpu_file_paths(&p);
	struct cpu_file file;
	size_t i, j;
	u32 model;

	(void)state;
	assert_non_null(paths);
	for (i = 0; paths[i]; i++) {
		if (cpu_file_load(paths[i], &file, &p))
			fail_msg("%s", p.text);
		for (j = 0; j < file.models; j++)
			for (model = file.model[j].first; model <= file.model[j].last; model++) {
				unsigned char *taken = strcmp(file.vendor, "GenuineIntel")
							       ? &amd[file.family & 255][model]
							       : &intel[model];

				if ((*taken)++)
					fail_msg("%s: model %u is in another file, too", paths[i],
						 model);
			}
		cpu_file_free(&file);
		free(paths[i]);
	}
	free(paths);
	assert_true(i >= 15);
}

static void cpus_are_found(void **state)
{
	static const struct {
		const char *vendor;
		u32 family, model;
		const char *id; /* 0: none */
		u32 l1, l2;	/* entries for 4K pages */
	} cpus[] = {
		{ "GenuineIntel", 6, 0x2a, "sandy-bridge", 64, 512 },
		{ "GenuineIntel", 6, 0x3a, "ivy-bridge", 64, 512 },
		{ "GenuineIntel", 6, 0x3c, "haswell", 64, 1024 },
		{ "GenuineIntel", 6, 0x4f, "broadwell", 64, 1536 },
		{ "GenuineIntel", 6, 0x5e, "skylake", 64, 1536 },
		{ "GenuineIntel", 6, 0x8e, "skylake", 64, 1536 },
		{ "GenuineIntel", 6, 0x55, "skylake-server", 64, 1536 },
		{ "GenuineIntel", 6, 0x6a, "ice-lake", 64, 2048 },
		{ "GenuineIntel", 6, 0x97, "alder-lake", 96, 2048 },
		{ "GenuineIntel", 6, 0x8f, "sapphire-rapids", 96, 2048 },
		{ "GenuineIntel", 6, 0xad, "granite-rapids", 96, 2048 },
		{ "GenuineIntel", 6, 0x1c, 0, 0, 0 }, /* Atom */
		{ "GenuineIntel", 15, 0x2a, 0, 0, 0 },
		{ "AuthenticAMD", 0x17, 0x01, "zen1", 64, 1536 },
		{ "AuthenticAMD", 0x17, 0x31, "zen2", 64, 2048 },
		{ "AuthenticAMD", 0x17, 0x71, "zen2", 64, 2048 },
		{ "AuthenticAMD", 0x19, 0x01, "zen3", 64, 2048 },
		{ "AuthenticAMD", 0x19, 0x21, "zen3", 64, 2048 },
		{ "AuthenticAMD", 0x19, 0x11, "zen4", 72, 3072 },
		{ "AuthenticAMD", 0x19, 0x61, "zen4", 72, 3072 },
		{ "AuthenticAMD", 0x1a, 0x02, "zen5", 96, 4096 },
		{ "AuthenticAMD", 0x1a, 0x44, "zen5", 96, 4096 },
		{ "AuthenticAMD", 6, 0x2a, 0, 0, 0 },
	};
	struct cpu_file file;
	struct problem p;
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(cpus); i++) {
		int result =
			cpu_file_find(cpus[i].vendor, cpus[i].family, cpus[i].model, &file, &p);

		assert_int_equal(result, cpus[i].id ? 0 : -ENOENT);
		if (result)
			continue;
		assert_string_equal(file.id, cpus[i].id);
		assert_int_equal(file.tlb[TLB_L1D_4K].entries, cpus[i].l1);
		assert_int_equal(file.tlb[TLB_L2_4K].entries, cpus[i].l2);
		cpu_file_free(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_have_a_line),
		cmocka_unit_test(long_lines_are_refused),
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(no_two_files_share_a_cpu),
		cmocka_unit_test(cpus_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
