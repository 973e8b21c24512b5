// SPDX-License-Identifier: GPL-2.0
/* The machine, as /proc and /sys describe it. */
#include "machine.h"

#include "probe_cpu.h"
#include "types.h"
#include "util.h"

#include <cpuid.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* First value of a key in /proc/cpuinfo; caller frees; 0 if there is none. */
static char *cpuinfo(const char *text, const char *key)
{
	const char *at = text;
	size_t n = strlen(key);

	while (at && (strncmp(at, key, n) || (at[n] != '\t' && at[n] != ' ')))
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	at = at ? strchr(at, ':') : NULL;
	if (!at)
		return NULL;
	at += 1 + (at[1] == ' ');
	return strndup(at, strcspn(at, "\n"));
}

int machine_has_flag(const char *flag)
{
	char *text = read_text("/proc/cpuinfo"), *flags = text ? cpuinfo(text, "flags") : NULL;
	char *save = NULL, *word;
	int found = 0;

	for (word = flags ? strtok_r(flags, " ", &save) : NULL; word && !found;
	     word = strtok_r(NULL, " ", &save))
		found = !strcmp(word, flag);
	free(flags);
	free(text);
	return found;
}

int machine_is_guest(void)
{
	return machine_has_flag("hypervisor");
}

static void add_text(json_t *object, const char *key, char *text)
{
	if (text && *text)
		json_object_set_new(object, key, json_string(text));
	free(text);
}

/* Twelve letters of CPUID.40000000H, where a hypervisor says who it is: KVMKVMKVM, TCGTCGTCGTCG. */
static void add_hypervisor_name(json_t *cpu)
{
	unsigned int name[4] = { 0 }, unused;
	char *text = (char *)name, *at;

	__cpuid(0x40000000, unused, name[0], name[1], name[2]);
	for (at = text; *at >= ' ' && *at <= '~';)
		at++;
	if (at > text && !*at)
		json_object_set_new(cpu, "hypervisor_name", json_string(text));
}

static void add_cpu(json_t *machine)
{
	static const struct {
		const char *name, *key;
	} fields[] = {
		{ "vendor", "vendor_id" }, { "model_name", "model name" }, { "family", "cpu family" },
		{ "model", "model" }, { "stepping", "stepping" }, { "microcode", "microcode" },
	};
	char *text = read_text("/proc/cpuinfo");
	json_t *cpu = json_object();
	struct cpu_identity now;
	size_t i;

	for (i = 0; text && i < TS_COUNT(fields); i++)
		add_text(cpu, fields[i].name, cpuinfo(text, fields[i].key));
	free(text);
	if (!probe_cpu(&now) && *now.brand) /* a VM that was moved since its boot has an old name in /proc */
		json_object_set_new(cpu, "model_name", json_string(now.brand));
	json_object_set_new(cpu, "hypervisor", json_boolean(machine_is_guest()));
	json_object_set_new(cpu, "online", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	if (machine_is_guest())
		add_hypervisor_name(cpu);
	json_object_set_new(machine, "cpu", cpu);
}

#define TSC_SECONDS 0.02 /* the clock's own steps are a millionth of it */

/* Ticks of the TSC a second, against the kernel's clock that nobody adjusts. */
static double tsc_hz(void)
{
	struct timespec start, now;
	u64 first, last;
	double seconds;

	clock_gettime(CLOCK_MONOTONIC_RAW, &start);
	first = __builtin_ia32_rdtsc();
	do {
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		last = __builtin_ia32_rdtsc();
		seconds = now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9;
	} while (seconds < TSC_SECONDS);
	return (last - first) / seconds;
}

json_t *machine_describe(void)
{
	static const struct {
		const char *key, *path;
	} files[] = {
		{ "thp_enabled", "/sys/kernel/mm/transparent_hugepage/enabled" },
		{ "thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag" },
		{ "meltdown", "/sys/devices/system/cpu/vulnerabilities/meltdown" },
		{ "itlb_multihit", "/sys/devices/system/cpu/vulnerabilities/itlb_multihit" },
		{ "smt_active", "/sys/devices/system/cpu/smt/active" },
		{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
		{ "huge_pages_2m", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" },
		{ "huge_pages_1g", "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages" },
		{ "kvm_ept", "/sys/module/kvm_intel/parameters/ept" },
		{ "kvm_npt", "/sys/module/kvm_amd/parameters/npt" },
		{ "kvm_nx_huge_pages", "/sys/module/kvm/parameters/nx_huge_pages" },
		{ "hypervisor_product", "/sys/class/dmi/id/product_name" },
	};
	json_t *machine = json_object();
	struct utsname kernel;
	size_t i;

	add_cpu(machine);
	json_object_set_new(machine, "tsc_hz", json_real(round(tsc_hz() / 1e3) * 1e3));
	if (!uname(&kernel))
		json_object_set_new(machine, "kernel", json_pack("{s:s, s:s, s:s}",
								 "release", kernel.release,
								 "version", kernel.version,
								 "architecture", kernel.machine));
	for (i = 0; i < TS_COUNT(files); i++)
		add_text(machine, files[i].key, read_text(files[i].path));
	return machine;
}
