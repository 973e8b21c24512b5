// SPDX-License-Identifier: GPL-2.0
/* Probes: KVM, from the device to what it does with guest code. */
#include "probe_looks.h"

#include "probe_cpu.h"
#include "probe_file.h"
#include "types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What differs between the two makers; the words are the kernel's. */
static const struct maker {
	const char *vendor, *module, *flag, *paging, *paging_flag, *parameter, *remedy;
} makers[] = {
	{ "GenuineIntel", "kvm_intel", "vmx", "EPT", "ept",
	  "/sys/module/kvm_intel/parameters/ept", "nested-paging.ept" },
	{ "AuthenticAMD", "kvm_amd", "svm", "NPT", "npt",
	  "/sys/module/kvm_amd/parameters/npt", "nested-paging.npt" },
	{ "HygonGenuine", "kvm_amd", "svm", "NPT", "npt",
	  "/sys/module/kvm_amd/parameters/npt", "nested-paging.npt" },
};

static const struct maker *find_maker(void)
{
	struct cpu_identity cpu;
	size_t i;

	if (probe_cpu(&cpu))
		return NULL;
	for (i = 0; i < TS_COUNT(makers); i++)
		if (!strcmp(makers[i].vendor, cpu.vendor))
			return &makers[i];
	return NULL;
}

/* No device: the first of the usual reasons that the machine shows. */
static void no_device(struct finding *f)
{
	const struct maker *maker = find_maker();
	struct cpu_identity cpu;
	int flag = maker ? probe_cpu_flag(maker->flag) : -ENOENT;

	if (maker && flag == 1 && probe_exists(maker->parameter) == 1) {
		finding_set(f, PROBE_MISSING, "kvm.device", "no /dev/kvm, though %s is loaded",
			    maker->module);
	} else if (flag == 0 && !probe_cpu(&cpu) && cpu.guest) {
		finding_set(f, PROBE_MISSING, "kvm.nested", "no /dev/kvm: this VM's CPU has no "
			    "virtualization (flag %s)", maker->flag);
	} else if (flag == 0) {
		finding_set(f, PROBE_MISSING, "kvm.firmware", "no /dev/kvm: virtualization is off "
			    "(flag %s)", maker->flag);
	} else {
		finding_set(f, PROBE_MISSING, "kvm.load", "no /dev/kvm");
		finding_fill(f, maker ? maker->module : "kvm_intel");
	}
}

LOOK(kvm)
{
	int result = probe_device("/dev/kvm");

	(void)options;
	if (!result)
		finding_set(f, PROBE_OK, NULL, "/dev/kvm");
	else if (result == -EACCES)
		finding_set(f, PROBE_PROBLEM, "kvm.permission", "/dev/kvm: no permission");
	else if (result == -ENOENT || result == -ENOTDIR)
		no_device(f);
	else
		finding_unreadable(f, "/dev/kvm", result);
}

/* "native NANOSECONDS", "emulating NANOSECONDS" or "emulating slowly". */
static int take_loop(const void *context, char *text, size_t size)
{
	/* A turn takes 1 to 3 cycles on a CPU and thousands when emulated: 30 ns is neither. */
	static const double limit = 30;
	double nanoseconds = 0;
	int result = kvm_time_loop(&nanoseconds);

	(void)context;
	if (result == -ETIMEDOUT)
		snprintf(text, size, "emulating slowly");
	else if (!result)
		snprintf(text, size, "%s %.2f", nanoseconds < limit ? "native" : "emulating",
			 nanoseconds);
	return result == -ETIMEDOUT ? 0 : result;
}

LOOK(kvm_native)
{
	char text[64];
	int result = probe_device("/dev/kvm");

	(void)options;
	if (result) {
		finding_set(f, PROBE_UNKNOWN, "any.kvm-first", "no /dev/kvm to try it with");
		return;
	}
	result = probe_observe("kvm-native", take_loop, NULL, text, sizeof(text));
	if (result)
		finding_set(f, PROBE_UNKNOWN, "any.report", "no VM could be tried: %s",
			    strerror(-result));
	else if (!strncmp(text, "native ", 7))
		finding_set(f, PROBE_OK, NULL, "a turn of a guest's loop takes %.16s ns", text + 7);
	else if (!strncmp(text, "emulating", 9))
		finding_set(f, PROBE_PROBLEM, "kvm-native.move",
			    "a guest's ring 0 is emulated: a turn of "
			    "a loop takes%.16s%s",
			    text + 9, strchr(text, '.') ? " ns" : "");
	else
		finding_set(f, PROBE_UNKNOWN, "any.report", "no word that is known: %.40s", text);
}

LOOK(nested_paging)
{
	const struct maker *maker = find_maker();
	char value[16];
	int result;

	(void)options;
	if (!maker) {
		finding_set(f, PROBE_UNKNOWN, "any.read", "the CPU's maker is not known");
		return;
	}
	result = probe_read(maker->parameter, value, sizeof(value));
	if (result == -ENOENT) {
		finding_set(f, PROBE_UNKNOWN, "any.kvm-first", "%s is not loaded", maker->module);
	} else if (result < 0) {
		finding_unreadable(f, maker->parameter, result);
	} else if (*value == 'Y' || *value == '1') {
		finding_set(f, PROBE_OK, NULL, "%s is on", maker->paging);
	} else if (*value != 'N' && *value != '0') {
		finding_set(f, PROBE_UNKNOWN, "any.read", "%s: \"%s\"", maker->parameter, value);
	} else {
		finding_set(f, PROBE_PROBLEM, probe_cpu_flag(maker->paging_flag) == 0 ?
			    "nested-paging.firmware" : maker->remedy, "%s is off: KVM keeps shadow "
			    "tables, one stage only", maker->paging);
	}
}

LOOK(nx_huge_pages)
{
	static const char path[] = "/sys/module/kvm/parameters/nx_huge_pages";
	char value[16];
	int result = probe_read(path, value, sizeof(value));

	(void)options;
	if (result == -ENOENT)
		finding_set(f, PROBE_UNKNOWN, "any.kvm-first", "kvm is not loaded");
	else if (result < 0)
		finding_unreadable(f, path, result);
	else if (*value == 'Y' || *value == '1')
		finding_set(f, PROBE_PROBLEM, "nx-huge-pages.off",
			    "on: a 2M page with code becomes 4K pages; "
			    "data stays as it is");
	else if (*value == 'N' || *value == '0' || !strcmp(value, "never"))
		finding_set(f, PROBE_OK, NULL, "off (%s)", value);
	else
		finding_set(f, PROBE_UNKNOWN, "any.read", "%s: \"%s\"", path, value);
}
