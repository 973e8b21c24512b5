// SPDX-License-Identifier: GPL-2.0
/* Looking at kernel, CPU and limits from an ordinary process: /proc, /sys and CPUID only. */
#include "user_system.h"

#include "util.h"

#include <cpuid.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/* Linux' standard, and why: arch/x86/mm/tlb.c, "tlb_single_page_flush_ceiling". */
#define STANDARD_CEILING 33

/* Looking for a CPU that nobody else wants: several time slices on each, a few CPUs at most. */
#define TRY_SECONDS 0.02
#define MOST_TRIES 8
#define FREE 0.9 /* share of a CPU that is good enough */

int user_refuse(struct user_refusal *refusal, const char *reason, const char *format, ...)
{
	va_list args;

	refusal->reason = reason;
	va_start(args, format);
	vsnprintf(refusal->text, sizeof(refusal->text), format, args);
	va_end(args);
	return -ENOTSUP;
}

/* The number in a small file; 0 when there is none ("max" of a cgroup included). */
static int read_number(const char *path, u64 *number)
{
	char *text = read_text(path), *end;
	int good;

	if (!text)
		return 0;
	*number = strtoull(text, &end, 10);
	good = end != text && *end == '\0';
	free(text);
	return good;
}

static void read_brand(char *brand, size_t size)
{
	unsigned int word[12], i;
	char text[sizeof(word) + 1] = "", *start = text;

	if (__get_cpuid(0x80000000, &word[0], &word[1], &word[2], &word[3]) &&
	    word[0] >= 0x80000004)
		for (i = 0; i < 3; i++)
			__get_cpuid(0x80000002 + i, &word[4 * i], &word[4 * i + 1],
				    &word[4 * i + 2], &word[4 * i + 3]);
	else
		memset(word, 0, sizeof(word));
	memcpy(text, word, sizeof(word));
	start += strspn(start, " ");
	for (i = strlen(start); i && start[i - 1] == ' ';)
		start[--i] = '\0';
	snprintf(brand, size, "%s", *start ? start : "unknown");
}

static void look_hypervisor(struct user_system *system)
{
	unsigned int a, b, c, d;
	char signature[13] = "";

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
		return;
	system->hypervisor = 1;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	system->emulated = !strcmp(signature, "TCGTCGTCGTCG");
}

/*
 * Is the word on the first "flags" line of /proc/cpuinfo? These are what the kernel makes use of.
 */
static int has_flag(const char *flags, const char *word)
{
	size_t n = strlen(word);
	const char *at;

	for (at = strstr(flags, word); at; at = strstr(at + 1, word))
		if (at[-1] == ' ' && (at[n] == ' ' || at[n] == '\0'))
			return 1;
	return 0;
}

static enum user_kernel look_kernel(void)
{
	char *text = read_text("/proc/cpuinfo"), *flags = text ? strstr(text, "\nflags") : NULL;
	enum user_kernel kernel = USER_KERNEL_FINE;

	if (flags) {
		flags[1 + strcspn(flags + 1, "\n")] = '\0';
		if (has_flag(flags, "pti") && !has_flag(flags, "pcid"))
			kernel = USER_KERNEL_ENTRY_FLUSHES;
		else if (has_flag(flags, "pti") && !has_flag(flags, "invpcid"))
			kernel = USER_KERNEL_FLUSHES_PCID;
	}
	free(text);
	return kernel;
}

static void look_thp(struct user_system *system)
{
	char *text = read_text("/sys/kernel/mm/transparent_hugepage/enabled");
	char *word = text ? strchr(text, '[') : NULL;

	snprintf(system->thp, sizeof(system->thp), "%s", word ? word + 1 : "unknown");
	system->thp[strcspn(system->thp, "]")] = '\0';
	free(text);
	system->thp_disabled = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
}

void user_system_look(struct user_system *system)
{
	memset(system, 0, sizeof(*system));
	read_brand(system->cpu, sizeof(system->cpu));
	look_hypervisor(system);
	system->kernel = look_kernel();
	system->ceiling_read = read_number("/sys/kernel/debug/x86/tlb_single_page_flush_ceiling",
					   &system->ceiling);
	if (!system->ceiling_read)
		system->ceiling = STANDARD_CEILING;
	system->gigabyte_pages = user_hugetlb_free(TS_1G);
	look_thp(system);
}

u64 user_hugetlb_free(u64 page)
{
	char path[96];
	u64 pages;

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%llukB/free_hugepages",
		 ts_page_size(page) >> 10);
	return read_number(path, &pages) ? pages : 0;
}

static void lower(u64 *least, u64 value)
{
	if (value < *least)
		*least = value;
}

/*
 * What the limits of a cgroup, and of those around it up to root, leave. group is cut shorter and
 * shorter.
 */
static void look_groups(const char *root, char *group, const char *limit_name,
			const char *used_name, u64 *least)
{
	char path[PATH_MAX], *slash;
	u64 limit, used;

	for (;;) {
		snprintf(path, sizeof(path), "%s%s/%s", root, group, limit_name);
		if (read_number(path, &limit)) {
			snprintf(path, sizeof(path), "%s%s/%s", root, group, used_name);
			if (!read_number(path, &used))
				used = 0;
			lower(least, limit > used ? limit - used : 0);
		}
		slash = strrchr(group, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

/*
 * Path of the group in the line of /proc/self/cgroup that contains key; 0 if there is none. In a
 * container the path may be the host's, and its own group is then at the root, which look_groups()
 * comes to last.
 */
static char *group_path(const char *key)
{
	char *text = read_text("/proc/self/cgroup"), *at = text ? strstr(text, key) : NULL;
	char *path = NULL;

	if (at) {
		at += strlen(key);
		path = xasprintf("%.*s", (int)strcspn(at, "\n"), at);
	}
	free(text);
	return path;
}

static void look_cgroups(u64 *least)
{
	char *group = group_path("0::");

	if (group)
		look_groups("/sys/fs/cgroup", group, "memory.max", "memory.current", least);
	free(group);
	group = group_path(":memory:");
	if (group)
		look_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
			    "memory.usage_in_bytes", least);
	free(group);
}

/* What a limit of this process leaves, of which `used` bytes are used. */
static void look_limit(int which, u64 used, u64 *least)
{
	struct rlimit limit;

	if (!getrlimit(which, &limit) && limit.rlim_cur != RLIM_INFINITY)
		lower(least, limit.rlim_cur > used ? limit.rlim_cur - used : 0);
}

u64 user_memory_available(void)
{
	char *meminfo = read_text("/proc/meminfo"), *statm = read_text("/proc/self/statm");
	char *line = meminfo ? strstr(meminfo, "MemAvailable:") : NULL;
	unsigned long long size = 0, data = 0;
	u64 least = ~0ULL;

	if (line)
		lower(&least, strtoull(line + 13, NULL, 10) << 10);
	/* Fields 1 and 6, in pages: proc(5). */
	if (statm)
		sscanf(statm, "%llu %*u %*u %*u %*u %llu", &size, &data);
	look_limit(RLIMIT_AS, size << 12, &least);
	look_limit(RLIMIT_DATA, data << 12, &least);
	free(meminfo);
	free(statm);
	look_cgroups(&least);
	return least;
}

/* The share of the next TRY_SECONDS that this process gets of the CPU that it is on. */
static double share_of_cpu(void)
{
	double start = now_seconds(), end = start + TRY_SECONDS, now;
	struct timespec before, after;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	while ((now = now_seconds()) < end)
		;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	return (after.tv_sec - before.tv_sec + (after.tv_nsec - before.tv_nsec) / 1e9) /
	       (now - start);
}

static int move_to(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : 0;
}

void user_pin(struct user_pin *pin)
{
	int i, cpu = sched_getcpu(), tries = 0, best = -1;
	double share, best_share = 0;
	cpu_set_t allowed;

	/*
	 * Room for 8192 CPUs, the most that a kernel can be built for; pinned to is one of the
	 * first 1024.
	 */
	pin->old_size = 1024;
	pin->old = xcalloc(1, pin->old_size);
	pin->cpu = -1;
	pin->error = EINVAL;
	if (sched_getaffinity(0, pin->old_size, pin->old) < 0) {
		pin->error = errno;
		pin->old_size = 0;
		return;
	}
	memcpy(&allowed, pin->old, sizeof(allowed));
	keep_performance_cores(&allowed, NULL);
	for (i = 0; cpu >= 0 && i < CPU_SETSIZE && tries < MOST_TRIES && best_share < FREE; i++) {
		int next = (cpu + i) % CPU_SETSIZE;

		if (!CPU_ISSET(next, &allowed))
			continue;
		tries++;
		pin->error = -move_to(next);
		if (pin->error)
			return;
		share = share_of_cpu();
		if (best < 0 || share > best_share) {
			best = next;
			best_share = share;
		}
	}
	if (best >= 0 && !move_to(best))
		pin->cpu = best;
}

void user_unpin(struct user_pin *pin)
{
	if (pin->old_size)
		sched_setaffinity(0, pin->old_size, pin->old);
	free(pin->old);
	pin->old = NULL;
	pin->cpu = -1;
}
