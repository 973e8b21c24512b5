// SPDX-License-Identifier: GPL-2.0
/* Probes: event counters, and what the kernel tells of its own flushes. */
#include "probe_looks.h"

#include "probe_cpu.h"
#include "probe_file.h"
#include "types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EVENT_SOURCES "/sys/bus/event_source/devices/"

/* The kernel's PMU devices: cpu, or one for each kind of core. */
LOOK(pmu)
{
	struct cpu_identity cpu;
	int cpu_there = probe_exists(EVENT_SOURCES "cpu/type");
	int core_there = probe_exists(EVENT_SOURCES "cpu_core/type");

	(void)options;
	if (cpu_there == 1 || core_there == 1)
		finding_set(f, PROBE_OK, NULL, "%s",
			    core_there == 1 ? "cpu_core, cpu_atom" : "cpu");
	else if (probe_exists(EVENT_SOURCES "software/type") != 1)
		finding_set(f, PROBE_UNKNOWN, "any.read", EVENT_SOURCES " cannot be seen");
	else if (!probe_cpu(&cpu) && cpu.guest)
		finding_set(f, PROBE_MISSING, "pmu.host", "none: this VM has no vPMU");
	else
		finding_set(f, PROBE_MISSING, "pmu.kernel", "none, though this is no VM");
}

LOOK(vpmu)
{
	static const char path[] = "/sys/module/kvm/parameters/enable_pmu";
	char value[16];
	int result = probe_read(path, value, sizeof(value));

	(void)options;
	if (result == -ENOENT && probe_exists("/sys/module/kvm/parameters/nx_huge_pages") == 1)
		finding_set(f, PROBE_UNKNOWN, NULL,
			    "this KVM has no switch for it (before Linux 5.18)");
	else if (result == -ENOENT)
		finding_set(f, PROBE_UNKNOWN, "any.kvm-first", "kvm is not loaded");
	else if (result < 0)
		finding_unreadable(f, path, result);
	else if (*value == 'Y' || *value == '1')
		finding_set(f, PROBE_OK, NULL, "enable_pmu is on");
	else if (*value == 'N' || *value == '0')
		finding_set(f, PROBE_PROBLEM, "vpmu.on", "enable_pmu is off");
	else
		finding_set(f, PROBE_UNKNOWN, "any.read", "%s: \"%s\"", path, value);
}

/*
 * kernel.perf_event_paranoid (sysctl/kernel.rst): above 1 no kernel events, above 2 (Debian) none.
 */
LOOK(paranoid)
{
	static const char path[] = "/proc/sys/kernel/perf_event_paranoid";
	long long level;
	int result = probe_number(path, &level);

	(void)options;
	if (result)
		finding_unreadable(f, path, result);
	else if (level <= 1)
		finding_set(f, PROBE_OK, NULL, "level %lld", level);
	else if (probe_is_root())
		finding_set(f, PROBE_OK, NULL, "level %lld, but root may", level);
	else
		finding_set(f, PROBE_PROBLEM, "perf-paranoid.lower", "level %lld: %s", level,
			    level > 2 ? "nothing" : "events of programs only");
}

LOOK(nmi_watchdog)
{
	static const char path[] = "/proc/sys/kernel/nmi_watchdog";
	long long on;
	int result = probe_number(path, &on);

	(void)options;
	if (result == -ENOENT && probe_exists("/proc/sys/kernel/osrelease") == 1)
		finding_set(f, PROBE_OK, NULL, "this kernel has none");
	else if (result)
		finding_unreadable(f, path, result);
	else if (on)
		finding_set(f, PROBE_PROBLEM, "nmi-watchdog.off", "on: one counter less");
	else
		finding_set(f, PROBE_OK, NULL, "off");
}

/* "readable", "denied" or "absent": whether a file of a privileged file system can be read. */
static int take_access(const void *context, char *text, size_t size)
{
	int readable = !access(context, R_OK);

	snprintf(text, size, "%s", readable ? "readable" : errno == EACCES ? "denied" : "absent");
	return 0;
}

/* The tracepoint that target user reads; tracefs is root's (mode 700). */
LOOK(tracefs)
{
	static const char event[] = "/sys/kernel/tracing/events/tlb/tlb_flush/format";
	char text[16];

	(void)options;
	if (probe_observe("tracefs", take_access, event, text, sizeof(text)))
		finding_set(f, PROBE_UNKNOWN, "any.read", "not recorded");
	else if (!strcmp(text, "readable"))
		finding_set(f, PROBE_OK, NULL, "tracepoint tlb_flush");
	else if (!strcmp(text, "denied"))
		finding_set(f, PROBE_MISSING, "tracefs.root", "not for this user");
	else if (strcmp(text, "absent"))
		finding_set(f, PROBE_UNKNOWN, "any.report", "no word that is known");
	else if (probe_exists("/sys/kernel/tracing") != 1)
		finding_set(f, probe_exists("/sys/kernel") == 1 ? PROBE_MISSING : PROBE_UNKNOWN,
			    probe_exists("/sys/kernel") == 1 ? "tracefs.kernel" : "any.read",
			    "no /sys/kernel/tracing");
	else
		finding_set(f, PROBE_MISSING, probe_is_root() ? "tracefs.mount" : "tracefs.root",
			    "no tracepoint tlb_flush");
}

LOOK(ceiling)
{
	static const char path[] = "/sys/kernel/debug/x86/tlb_single_page_flush_ceiling";
	long long pages;
	int result = probe_number(path, &pages);

	(void)options;
	if (!result)
		finding_set(f, PROBE_OK, NULL, "%lld pages", pages);
	else if (result == -EACCES || (result == -ENOENT && !probe_is_root()))
		finding_set(f, PROBE_UNKNOWN, "ceiling.root", "not for this user");
	else if (result == -EPERM)
		finding_set(f, PROBE_UNKNOWN, "ceiling.locked", "%s: %s", path, strerror(-result));
	else if (result == -ENOENT && probe_exists("/sys/kernel/debug") == 1)
		finding_set(f, PROBE_MISSING, "ceiling.mount", "no %s", path);
	else
		finding_unreadable(f, path, result);
}
