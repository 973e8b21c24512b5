// SPDX-License-Identifier: GPL-2.0
/* Probes: memory, and where pages larger than 4K come from. */
#include "probe_looks.h"

#include "probe_cpu.h"
#include "probe_file.h"
#include "types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUGEPAGES "/sys/kernel/mm/hugepages/hugepages-"
#define THP "/sys/kernel/mm/transparent_hugepage/"

/*
 * Plan fracture needs 64 MiB without cells of 1G pages and 3136 MiB with them (plan_memory()); the
 * rest is head-room, for larger sets and QEMU's ROMs.
 */
#define NEEDED_2M 80
#define NEEDED_1G 4
#define NEEDED_MIB 512

LOOK(memory)
{
	char text[4096], *line;
	long long kib, limit, used;
	int result = probe_read("/proc/meminfo", text, sizeof(text));

	(void)options;
	line = result < 0 ? NULL : strstr(text, "MemAvailable:");
	kib = line ? strtoll(line + 13, NULL, 10) : 0;
	if (!line) {
		finding_unreadable(f, "/proc/meminfo", result < 0 ? result : -EDOM);
		return;
	}
	/* The limit that a container sees at the root of its own tree. */
	if (!probe_number("/sys/fs/cgroup/memory.max", &limit) &&
	    !probe_number("/sys/fs/cgroup/memory.current", &used) && (limit - used) / 1024 < kib)
		kib = limit > used ? (limit - used) / 1024 : 0;
	if (kib / 1024 < NEEDED_MIB)
		finding_set(f, PROBE_PROBLEM, "memory.free", "%lld MiB available, %d wanted",
			    kib / 1024, NEEDED_MIB);
	else
		finding_set(f, PROBE_OK, NULL, "%lld MiB available", kib / 1024);
}

/* A pool of a size in KiB. Returns 0 and fills both counts, or -errno. */
static int read_pool(const char *size, long long *all, long long *unused)
{
	char path[96];
	int result;

	snprintf(path, sizeof(path), HUGEPAGES "%skB/nr_hugepages", size);
	result = probe_number(path, all);
	snprintf(path, sizeof(path), HUGEPAGES "%skB/free_hugepages", size);
	return result ?: probe_number(path, unused);
}

LOOK(pool_2m)
{
	long long all, unused;
	int result = read_pool("2048", &all, &unused);

	(void)options;
	if (result == -ENOENT && probe_exists("/proc/meminfo") == 1 &&
	    probe_exists("/sys/kernel") == 1)
		finding_set(f, PROBE_MISSING, "pool-2m.kernel", "this kernel has no such pool");
	else if (result)
		finding_unreadable(f, HUGEPAGES "2048kB", result);
	else if (unused >= NEEDED_2M)
		finding_set(f, PROBE_OK, NULL, "%lld pages, %lld free", all, unused);
	else
		finding_set(f, PROBE_MISSING, probe_is_root() ? "pool-2m.root" : "pool-2m.reserve",
			    "%lld pages, %lld free", all, unused);
}

LOOK(pool_1g)
{
	long long all, unused;
	int result = read_pool("1048576", &all, &unused), flag = probe_cpu_flag("pdpe1gb");

	(void)options;
	if (result == -ENOENT && flag >= 0)
		finding_set(f, PROBE_MISSING, "pool-1g.cpu", flag ? "this kernel has no such pool" :
			    "the CPU has no pages of 1G");
	else if (result)
		finding_unreadable(f, HUGEPAGES "1048576kB", result);
	else
		finding_set(f, unused >= NEEDED_1G ? PROBE_OK : PROBE_MISSING,
			    unused >= NEEDED_1G ? NULL : "pool-1g.reserve", "%lld pages, %lld free",
			    all, unused);
}

/* The chosen one of a file's words, as in "always [madvise] never"; "" if none is. */
static void chosen_word(char *text, char *word, size_t size)
{
	char *open = strchr(text, '[');

	snprintf(word, size, "%.*s", open ? (int)strcspn(open + 1, "]") : 0, open ? open + 1 : "");
}

static int is_thp_word(const char *word)
{
	return !strcmp(word, "always") || !strcmp(word, "madvise") || !strcmp(word, "never");
}

LOOK(thp)
{
	char text[96], word[16];
	int result = probe_read(THP "enabled", text, sizeof(text));

	(void)options;
	chosen_word(text, word, sizeof(word));
	if (result == -ENOENT && probe_exists("/sys/kernel/mm") == 1)
		finding_set(f, PROBE_MISSING, "thp.kernel", "this kernel makes none");
	else if (result < 0)
		finding_unreadable(f, THP "enabled", result);
	else if (!strcmp(word, "never"))
		finding_set(f, PROBE_MISSING, "thp.on", "never");
	else if (is_thp_word(word))
		finding_set(f, PROBE_OK, NULL, "%s", word);
	else
		finding_set(f, PROBE_UNKNOWN, "any.read", THP "enabled: no word that is known");
}

/* Sizes below 2M that come unasked: "always", or "inherit" of it (transhuge.rst, since 6.8). */
LOOK(mthp)
{
	static const char *const sizes[] = { "8", "16", "32", "64", "128", "256", "512", "1024" };
	char path[96], text[96], word[16], common[16], on[64] = "";
	const char *first = NULL;
	size_t i, used = 0, seen = 0;
	int result;

	(void)options;
	result = probe_read(THP "enabled", text, sizeof(text));
	chosen_word(text, common, sizeof(common));
	for (i = 0; i < TS_COUNT(sizes); i++) {
		snprintf(path, sizeof(path), THP "hugepages-%skB/enabled", sizes[i]);
		if (probe_read(path, text, sizeof(text)) < 0)
			continue;
		seen++;
		chosen_word(text, word, sizeof(word));
		if (strcmp(strcmp(word, "inherit") ? word : common, "always"))
			continue;
		first = first ?: sizes[i];
		used += snprintf(on + used, sizeof(on) - used, " %sK", sizes[i]);
	}
	if (!seen && (result >= 0 ? !is_thp_word(common) : probe_exists("/sys/kernel/mm") != 1))
		finding_unreadable(f, THP "enabled", result < 0 ? result : -EINVAL);
	else if (first)
		finding_set(f, PROBE_PROBLEM, "mthp.off", "unasked:%s", on);
	else
		finding_set(f, PROBE_OK, NULL, "%s",
			    seen ? "none unasked" : "this kernel has none");
	if (first)
		finding_fill(f, first);
}
