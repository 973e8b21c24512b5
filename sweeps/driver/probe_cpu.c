// SPDX-License-Identifier: GPL-2.0
/*
 * CPUID for probes. In a tree it is the text tlbscope/cpuid: a line for each leaf, LEAF SUBLEAF EAX
 * EBX ECX EDX in hexadecimal, as `cpuid -r` and InstLatX64 have them in other words. Leaf 3, the
 * serial number of the Pentium III, is not among them, nor are the leaves with APIC ids.
 */
#include "probe_cpu.h"

#include "probe_file.h"

#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 8192
#define HYPERVISOR 0x40000000u

/* Leaves worth recording: identity, features, TLBs (2, 18H; 8000_0005H, 06H, 19H), PMU, TSC. */
static const struct {
	u32 leaf, subleaves;
} recorded[] = {
	{ 0x0, 1 }, { 0x1, 1 }, { 0x2, 1 }, { 0x6, 1 }, { 0x7, 2 }, { 0xa, 1 }, { 0x15, 1 },
	{ 0x16, 1 }, { 0x18, 10 }, { 0x1a, 1 },
	{ HYPERVISOR, 1 }, { HYPERVISOR + 1, 1 },
	{ 0x80000000, 1 }, { 0x80000001, 1 }, { 0x80000002, 1 }, { 0x80000003, 1 },
	{ 0x80000004, 1 }, { 0x80000005, 1 }, { 0x80000006, 1 }, { 0x80000007, 1 },
	{ 0x80000008, 1 }, { 0x8000000a, 1 }, { 0x80000019, 1 }, { 0x80000021, 1 },
	{ 0x80000022, 1 },
};

static int ask_cpu(u32 leaf, u32 subleaf, u32 reg[4])
{
	u32 a, b, c, d;

	memset(reg, 0, 4 * sizeof(*reg));
	if ((leaf & 0xf0000000) == HYPERVISOR) { /* not counted by leaf 0 */
		if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
			return 0;
		__cpuid_count(leaf, subleaf, reg[EAX], reg[EBX], reg[ECX], reg[EDX]);
		return 1;
	}
	if (!__get_cpuid_count(leaf, subleaf, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]))
		return 0;
	if (leaf == 1)
		reg[EBX] &= 0x00ffffff; /* initial APIC id: which CPU we happen to be on */
	return 1;
}

static int take_leaves(const void *context, char *text, size_t size)
{
	size_t i, used = 0;
	u32 sub, reg[4];

	(void)context;
	for (i = 0; i < TS_COUNT(recorded); i++)
		for (sub = 0; sub < recorded[i].subleaves; sub++) {
			if (!ask_cpu(recorded[i].leaf, sub, reg) || used + 64 > size)
				continue;
			used += snprintf(text + used, size - used, "%08x %x %08x %08x %08x %08x\n",
					 recorded[i].leaf, sub, reg[EAX], reg[EBX], reg[ECX],
					 reg[EDX]);
		}
	return 0;
}

int probe_cpuid(u32 leaf, u32 subleaf, u32 reg[4])
{
	char text[TEXT], *line, *save = NULL;
	u32 at, sub, r[4];

	memset(reg, 0, 4 * sizeof(*reg));
	if (probe_observe("cpuid", take_leaves, NULL, text, sizeof(text)))
		return 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%x %x %x %x %x %x", &at, &sub, &r[0], &r[1], &r[2], &r[3]) != 6 ||
		    at != leaf || sub != subleaf)
			continue;
		memcpy(reg, r, sizeof(r));
		return 1;
	}
	return 0;
}

void cpu_signature(u32 eax, u32 *family, u32 *model, u32 *stepping)
{
	u32 base = eax >> 8 & 15;

	*stepping = eax & 15;
	*family = base == 15 ? base + (eax >> 20 & 255) : base;
	*model = eax >> 4 & 15;
	if (base == 6 || base == 15)
		*model |= eax >> 12 & 0xf0;
}

/* ---- /proc/cpuinfo ---- */

/* Value of a key of the first CPU, in text; 0 if it is not there. */
static char *cpuinfo_value(char *text, const char *key)
{
	size_t n = strlen(key);
	char *line, *save = NULL, *colon;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		colon = line + n;
		if (strncmp(line, key, n) || *(colon += strspn(colon, " \t")) != ':')
			continue;
		return colon + 1 + strspn(colon + 1, " \t");
	}
	return NULL;
}

static int cpuinfo(const char *key, char *value, size_t size)
{
	char text[TEXT], *found;
	int result = probe_read("/proc/cpuinfo", text, sizeof(text));

	if (result < 0)
		return result;
	found = cpuinfo_value(text, key);
	if (!found)
		return -ENOENT;
	snprintf(value, size, "%s", found);
	return 0;
}

int probe_cpu_flag(const char *flag)
{
	char flags[TEXT], *word, *save = NULL;
	int result = cpuinfo("flags", flags, sizeof(flags));

	if (result)
		return result;
	for (word = strtok_r(flags, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!strcmp(word, flag))
			return 1;
	return 0;
}

/* ---- who it is ---- */

static void read_brand(struct cpu_identity *cpu)
{
	char brand[49] = "", *start = brand;
	u32 i, reg[4];

	for (i = 0; i < 3; i++)
		if (probe_cpuid(0x80000002 + i, 0, reg))
			memcpy(brand + 16 * i, reg, 16);
	start += strspn(start, " ");
	for (i = strlen(start); i && start[i - 1] == ' ';)
		start[--i] = '\0';
	for (i = 0; start[i]; i++)
		if (start[i] < ' ' || start[i] > '~')
			start[i] = '?';
	memmove(cpu->brand, start, strlen(start) + 1);
}

static void copy_signature(char text[13], u32 a, u32 b, u32 c)
{
	const u32 words[3] = { a, b, c };
	size_t i;

	memcpy(text, words, 12);
	text[12] = '\0';
	for (i = 0; text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
}

static int identity_from_cpuinfo(struct cpu_identity *cpu)
{
	char number[16];
	int result = cpuinfo("vendor_id", cpu->vendor, sizeof(cpu->vendor));

	if (result)
		return -ENOENT;
	cpuinfo("model name", cpu->brand, sizeof(cpu->brand));
	cpu->family = cpuinfo("cpu family", number, sizeof(number)) ? 0 : strtoul(number, NULL, 10);
	cpu->model = cpuinfo("model", number, sizeof(number)) ? 0 : strtoul(number, NULL, 10);
	cpu->stepping = cpuinfo("stepping", number, sizeof(number)) ? 0 : strtoul(number, NULL, 10);
	cpu->guest = probe_cpu_flag("hypervisor") == 1;
	return 0;
}

int probe_cpu(struct cpu_identity *cpu)
{
	u32 reg[4];

	memset(cpu, 0, sizeof(*cpu));
	if (!probe_cpuid(0, 0, reg))
		return identity_from_cpuinfo(cpu);
	copy_signature(cpu->vendor, reg[EBX], reg[EDX], reg[ECX]);
	if (!probe_cpuid(1, 0, reg))
		return -ENOENT;
	cpu_signature(reg[EAX], &cpu->family, &cpu->model, &cpu->stepping);
	/* Below some hypervisors CPUID is not intercepted; the kernel may know more. */
	cpu->guest = reg[ECX] >> 31 || probe_cpu_flag("hypervisor") == 1;
	read_brand(cpu);
	if (cpu->guest && probe_cpuid(HYPERVISOR, 0, reg))
		copy_signature(cpu->hypervisor, reg[EBX], reg[ECX], reg[EDX]);
	return 0;
}
