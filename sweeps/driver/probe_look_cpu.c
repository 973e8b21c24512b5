// SPDX-License-Identifier: GPL-2.0
/* Probes: the CPU, the kernel that runs on it, and what else disturbs cycles. */
#include "probe_looks.h"

#include "cpu_file.h"
#include "probe_cpu.h"
#include "probe_file.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define CPU_DIR "/sys/devices/system/cpu"
#define MAX_CPUS 8192 /* the most that a kernel can be built for (arch/x86/Kconfig, NR_CPUS) */

LOOK(cpu)
{
	struct cpu_identity cpu;

	(void)options;
	if (probe_cpu(&cpu))
		finding_set(f, PROBE_UNKNOWN, "any.read", "neither CPUID nor /proc/cpuinfo");
	else
		finding_set(f, PROBE_OK, NULL, "%s, %s family %u model %u stepping %u",
			    *cpu.brand ? cpu.brand : "no name", cpu.vendor, cpu.family, cpu.model,
			    cpu.stepping);
}

LOOK(cpu_file)
{
	struct cpu_identity cpu;
	struct cpu_file file;
	struct problem p;
	int found, total, doubtful;

	(void)options;
	if (probe_cpu(&cpu)) {
		finding_set(f, PROBE_UNKNOWN, "any.read", "the CPU is not known");
		return;
	}
	found = cpu_file_find(cpu.vendor, cpu.family, cpu.model, &file, &p);
	if (found == -ENOENT) {
		finding_set(f, PROBE_MISSING, "cpu-file.add", "no file for %s family %u model %u",
			    cpu.vendor, cpu.family, cpu.model);
	} else if (found) {
		finding_set(f, PROBE_PROBLEM, "cpu-file.mend", "%s", p.text);
	} else {
		total = cpu_file_values(&file, &doubtful);
		finding_set(f, PROBE_OK, NULL, "%s (%s), %d values, %d of them unverified%s",
			    file.id, file.name, total, doubtful,
			    file.models_status == CPU_UNVERIFIED ? ", model number too" : "");
		cpu_file_free(&file);
	}
}

/* ---- hybrid cores ---- */

static void mark_cpus(const char *list, unsigned char *set)
{
	char *end;
	unsigned long first, last;

	while (*list) {
		first = last = strtoul(list, &end, 10);
		if (end == list)
			return;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < MAX_CPUS; first++)
			set[first] = 1;
		list = end + strspn(end, ", ");
	}
}

static int overlap(const char *list, const char *other)
{
	unsigned char a[MAX_CPUS] = { 0 }, b[MAX_CPUS] = { 0 };
	int i, common = 0;

	mark_cpus(list, a);
	mark_cpus(other, b);
	for (i = 0; i < MAX_CPUS && !common; i++)
		common = a[i] && b[i];
	return common;
}

/* The CPUs that this process may use, as a list. */
static int take_affinity(const void *context, char *text, size_t size)
{
	cpu_set_t allowed;
	size_t used = 0;
	int i, first;

	(void)context;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	for (i = 0; i < CPU_SETSIZE && used < size; i++) {
		if (!CPU_ISSET(i, &allowed))
			continue;
		for (first = i; i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, &allowed);)
			i++;
		used += snprintf(text + used, size - used, first == i ? "%s%d" : "%s%d-%d",
				 used ? "," : "", first, i);
	}
	return 0;
}

/* SDM vol. 2, CPUID.7:EDX[15] Hybrid; the kernel then has a PMU for each kind of core. */
LOOK(hybrid)
{
	char big[512], small[512], allowed[512];
	u32 reg[4];

	(void)options;
	if (probe_read("/sys/devices/cpu_core/cpus", big, sizeof(big)) < 0 ||
	    probe_read("/sys/devices/cpu_atom/cpus", small, sizeof(small)) < 0) {
		if (!probe_cpuid(7, 0, reg))
			finding_set(f, PROBE_UNKNOWN, "any.read", "CPUID leaf 7 is not known");
		else if (reg[EDX] & 1u << 15)
			finding_set(f, PROBE_UNKNOWN, "any.read",
				    "two kinds of cores, but the kernel "
				    "does not say which are which");
		else
			finding_set(f, PROBE_OK, NULL, "one kind of core");
		return;
	}
	if (!probe_observe("affinity", take_affinity, NULL, allowed, sizeof(allowed)) &&
	    !(overlap(allowed, big) && overlap(allowed, small))) {
		finding_set(f, PROBE_OK, NULL, "two kinds, but this process keeps to %s", allowed);
		return;
	}
	finding_set(f, PROBE_PROBLEM, "hybrid.pin",
		    "two kinds with different TLBs: performance cores "
		    "%.40s, efficiency cores %.40s",
		    big, small);
	finding_fill(f, big);
}

/* ---- what is above ---- */

/* CPUID.40000000H; the names that their makers document. */
static const struct {
	const char *signature, *name;
} hypervisors[] = {
	{ "KVMKVMKVM", "KVM" }, { "Microsoft Hv", "Hyper-V" }, { "VMwareVMware", "VMware" },
	{ "XenVMMXenVMM", "Xen" }, { "TCGTCGTCGTCG", "QEMU's software CPU (TCG)" },
	{ "bhyve bhyve ", "bhyve" }, { "VBoxVBoxVBox", "VirtualBox" }, { "ACRNACRNACRN", "ACRN" },
	{ " lrpepyh  vr", "Parallels" },
};

LOOK(bare_metal)
{
	struct cpu_identity cpu;
	const char *name;
	size_t i;

	(void)options;
	if (probe_cpu(&cpu)) {
		finding_set(f, PROBE_UNKNOWN, "any.read", "neither CPUID nor /proc/cpuinfo");
		return;
	}
	if (!cpu.guest) {
		finding_set(f, PROBE_OK, NULL, "no hypervisor above this kernel");
		return;
	}
	name = *cpu.hypervisor ? cpu.hypervisor : "a hypervisor without name";
	for (i = 0; i < TS_COUNT(hypervisors); i++)
		if (!strcmp(cpu.hypervisor, hypervisors[i].signature))
			name = hypervisors[i].name;
	finding_set(f, PROBE_PROBLEM, strcmp(cpu.hypervisor, "TCGTCGTCGTCG") ? "bare-metal.move" :
		    "bare-metal.emulator", "this machine is a VM itself, of %s", name);
}

/* ---- the clock ---- */

struct instant {
	u64 tsc;
	double seconds;
};

/* The tightest of a few pairs of readings: one that was interrupted in the middle is not it. */
static struct instant read_clocks(void)
{
	struct instant best = { 0 };
	u64 start, end, least = ~0ULL;
	struct timespec now;
	int i;

	for (i = 0; i < 16; i++) {
		start = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		end = __rdtsc();
		if (end - start >= least)
			continue;
		least = end - start;
		best = (struct instant){ start + least / 2, now.tv_sec + now.tv_nsec / 1e9 };
	}
	return best;
}

static double rate(const struct instant *from, const struct instant *to)
{
	return (to->tsc - from->tsc) / (to->seconds - from->seconds);
}

/* "MHZ PPM": the rate against the kernel's clock, and by how much it differs between two halves. */
static int take_rate(const void *context, char *text, size_t size)
{
	const struct timespec pause = { .tv_nsec = 8000000 };
	struct instant at[3];
	double first, second;
	int i;

	(void)context;
	for (i = 0; i < 3; i++) {
		at[i] = read_clocks();
		if (i < 2)
			nanosleep(&pause, NULL);
	}
	first = rate(&at[0], &at[1]);
	second = rate(&at[1], &at[2]);
	snprintf(text, size, "%.1f %.0f", rate(&at[0], &at[2]) / 1e6,
		 fabs(first - second) / first * 1e6);
	return 0;
}

#define UNSTEADY_PPM 500 /* ten times what two readings 8 ms apart and 0.2 us wide can be off by */

LOOK(tsc)
{
	/* Clocks that are the TSC's, directly or through a hypervisor's page of factors. */
	static const char *const good[] = { "tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
					    "xen", "tsc-early" };
	char source[64], text[64];
	double mhz = 0, ppm = 0;
	u32 reg[4];
	size_t i;
	int known = probe_cpuid(0x80000007, 0, reg), fine = 0;

	(void)options;
	if (!known) {
		finding_set(f, PROBE_UNKNOWN, "any.read", "CPUID leaf 80000007 is not known");
		return;
	}
	if (!(reg[EDX] & 1u << 8)) { /* SDM vol. 3, "Invariant TSC" */
		finding_set(f, PROBE_PROBLEM, "tsc.other", "the TSC is not invariant");
		return;
	}
	if (probe_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		       sizeof(source)) < 0)
		snprintf(source, sizeof(source), "not known");
	if (probe_observe("tsc", take_rate, NULL, text, sizeof(text)) ||
	    sscanf(text, "%lf %lf", &mhz, &ppm) != 2)
		mhz = ppm = 0;
	for (i = 0; i < TS_COUNT(good); i++)
		fine |= !strcmp(source, good[i]);
	fine |= !strcmp(source, "not known");
	finding_set(f, fine && ppm < UNSTEADY_PPM ? PROBE_OK : PROBE_PROBLEM,
		    !fine		 ? "tsc.kernel"
		    : ppm < UNSTEADY_PPM ? NULL
					 : "tsc.other",
		    "invariant, %.0f MHz, even to %.0f ppm; the kernel's clock: %s", mhz, ppm,
		    source);
}

/* ---- what else disturbs ---- */

LOOK(smt)
{
	char active[16], control[32] = "not told";
	int result = probe_read(CPU_DIR "/smt/active", active, sizeof(active));

	(void)options;
	probe_read(CPU_DIR "/smt/control", control, sizeof(control));
	if (result < 0)
		finding_unreadable(f, CPU_DIR "/smt/active", result);
	else if (!strcmp(active, "1"))
		finding_set(f, PROBE_PROBLEM, "smt.off", "two threads a core");
	else if (!strcmp(active, "0"))
		finding_set(f, PROBE_OK, NULL,
			    "one thread a core, as far as is visible (control: %s)", control);
	else
		finding_unreadable(f, CPU_DIR "/smt/active", -EDOM);
}

LOOK(isolated)
{
	char list[128];
	int result = probe_read(CPU_DIR "/isolated", list, sizeof(list));

	(void)options;
	if (result < 0)
		finding_unreadable(f, CPU_DIR "/isolated", result);
	else if (!result)
		finding_set(f, PROBE_MISSING, "isolated-cpus.boot", "none");
	else if (strspn(list, "0123456789,-") != strlen(list))
		finding_unreadable(f, CPU_DIR "/isolated", -EDOM);
	else
		finding_set(f, PROBE_OK, NULL, "CPUs %s", list);
}

LOOK(governor)
{
	static const char path[] = CPU_DIR "/cpu0/cpufreq/scaling_governor";
	static const char *const others[] = { "powersave", "ondemand", "conservative", "schedutil",
					      "userspace" };
	size_t i;
	char name[32];
	struct cpu_identity cpu;
	int result = probe_read(path, name, sizeof(name));

	(void)options;
	if (result == -ENOENT && !probe_cpu(&cpu) && cpu.guest)
		finding_set(f, PROBE_UNKNOWN, "governor.host", "the host above decides");
	else if (result < 0)
		finding_unreadable(f, path, result);
	else if (!strcmp(name, "performance"))
		finding_set(f, PROBE_OK, NULL, "governor performance");
	else
		finding_set(f, PROBE_UNKNOWN, "any.read", "%s: no word that is known", path);
	for (i = 0; i < TS_COUNT(others); i++)
		if (result > 0 && !strcmp(name, others[i]))
			finding_set(f, PROBE_PROBLEM, "governor.performance", "governor %s", name);
}

LOOK(pti)
{
	int pti = probe_cpu_flag("pti");

	(void)options;
	if (pti < 0)
		finding_unreadable(f, "/proc/cpuinfo", pti);
	else if (pti)
		finding_set(f, PROBE_PROBLEM, "pti.boot", "on: kernel pages are not global");
	else
		finding_set(f, PROBE_OK, NULL, "off");
}

/* arch/x86/entry/calling.h and arch/x86/mm/tlb.c, invalidate_user_asid(). */
LOOK(syscalls)
{
	int pti = probe_cpu_flag("pti");

	(void)options;
	if (pti < 0)
		finding_unreadable(f, "/proc/cpuinfo", pti);
	else if (pti && !probe_cpu_flag("pcid"))
		finding_set(f, PROBE_PROBLEM, "syscall-flush.pcid",
			    "every system call empties the TLB (PTI without PCID)");
	else if (pti && !probe_cpu_flag("invpcid"))
		finding_set(
			f, PROBE_PROBLEM, "syscall-flush.invpcid",
			"every flush of a page becomes one of everything (PTI without INVPCID)");
	else
		finding_set(f, PROBE_OK, NULL, "system calls leave the TLB alone");
}
