// SPDX-License-Identifier: GPL-2.0
/*
 * Backing of the guest's RAM.
 *
 * QEMU madvises its RAM for transparent huge pages by itself, so 4k has to be forced: shared memory from a memfd is
 * never mapped by 2M entries here, since its address in QEMU is not 2M-aligned; smaps and KVM's page counts are
 * read to see that it is so.
 */
#include "backing.h"

#include "host_state.h"
#include "user_smaps.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL "/sys/kernel/mm/hugepages/hugepages-%llukB/%s"
/* A pool exactly as large as the RAM is known to fail now and then; firmware and ROMs come from it too. */
#define HEADROOM 2

static long pool_number(u64 page, const char *name)
{
	char *path = xasprintf(POOL, ts_page_size(page) >> 10, name), *text = read_text(path);
	long number = text ? strtol(text, NULL, 10) : -1;

	free(path);
	free(text);
	return number;
}

/* Enlarges a pool by what is missing; tries again once after asking the kernel to compact memory. */
static int enlarge_pool(u64 page, long missing, FILE *log, struct problem *p)
{
	char *path = xasprintf(POOL, ts_page_size(page) >> 10, "nr_hugepages");
	long had = pool_number(page, "nr_hugepages"), got = 0;
	FILE *compact;
	int result = host_state_open(p) ?: host_state_set(path, had + missing, &got, p);

	if (!result && got < had + missing && (compact = fopen("/proc/sys/vm/compact_memory", "we"))) {
		fputs("1\n", compact);
		fclose(compact);
		result = host_state_set(path, had + missing, &got, p);
	}
	fprintf(log, "driver: pool %s: had %ld, asked %ld, got %ld\n", path, had, had + missing, got);
	free(path);
	return result;
}

/* Sees to it that `pages` pages of a pool are free. */
static int fill_pool(u64 page, long pages, FILE *log, struct problem *p)
{
	u64 kb = ts_page_size(page) >> 10;
	long free_pages = pool_number(page, "free_hugepages");
	struct problem why;

	if (free_pages < 0)
		return problem(p, EXIT_FAILED, "this kernel has no pool of %llu kB pages (no hugetlbfs, or a CPU "
			       "without them)", kb);
	why.text[0] = '\0';
	if (free_pages < pages)
		enlarge_pool(page, pages - free_pages, log, &why);
	free_pages = pool_number(page, "free_hugepages");
	if (free_pages >= pages)
		return 0;
	return problem(p, EXIT_FAILED, "asked for %ld huge pages of %llu kB, %ld are free%s%s; as root: echo %ld > "
		       "/sys/kernel/mm/hugepages/hugepages-%llukB/nr_hugepages, or at boot: "
		       "hugepagesz=%lluM hugepages=%ld", pages, kb, free_pages, why.text[0] ? ": " : "",
		       why.text, pages, kb, kb >> 10, pages);
}

static int thp_possible(void)
{
	char *enabled = read_text("/sys/kernel/mm/transparent_hugepage/enabled");
	int possible = enabled && !strstr(enabled, "[never]");

	free(enabled);
	return possible;
}

static void set_object(struct backing *b, const char *how, const char *options)
{
	snprintf(b->how, sizeof(b->how), "%s", how);
	b->object = xasprintf("%s,id=ram,size=%lluM%s", strcmp(how, "thp") ? "memory-backend-memfd" :
								       "memory-backend-ram",
			      b->memory >> 20, options);
}

int backing_choose(struct backing *b, u64 page, u64 memory, FILE *log, struct problem *p)
{
	u64 size = ts_page_size(page == TS_4K ? TS_2M : page);
	long pages;

	memset(b, 0, sizeof(*b));
	b->page = page;
	b->memory = (memory + size - 1) / size * size;
	pages = b->memory / size + (page == TS_2M ? HEADROOM : 0);
	if (page == TS_4K) {
		set_object(b, "memfd", ",hugetlb=off");
		return 0;
	}
	if (!fill_pool(page, pages, log, p)) {
		set_object(b, "hugetlb", page == TS_2M ? ",hugetlb=on,hugetlbsize=2M,prealloc=on" :
							 ",hugetlb=on,hugetlbsize=1G,prealloc=on");
		return 0;
	}
	if (page == TS_1G || !thp_possible())
		return -EINVAL;
	fprintf(log, "driver: %s\ndriver: 2m pages by THP instead\n", p->text);
	set_object(b, "thp", ",prealloc=on");
	return 0;
}

void backing_free(struct backing *b)
{
	free(b->object);
	b->object = NULL;
}

/* Address range of the mapping that is the guest's RAM: as long as it, and the only such one. */
static int find_ram(FILE *maps, u64 memory, u64 *start, u64 *end)
{
	char *line = NULL;
	size_t size = 0;
	int found = 0;

	while (getline(&line, &size, maps) > 0)
		if (sscanf(line, "%llx-%llx", start, end) == 2 && *end - *start == memory) {
			found = 1;
			break;
		}
	free(line);
	return found ? 0 : -ENOENT;
}

int backing_check(const struct backing *b, pid_t pid, int touched, char *text, size_t size)
{
	static const char *const names[] = { "4k", "2m", "1g" };
	char *path = xasprintf("/proc/%d/smaps", (int)pid);
	struct user_smaps smaps;
	u64 start = 0, end = 0;
	FILE *file = fopen(path, "re");
	const char *seen;
	int result;

	free(path);
	if (!file)
		return -errno;
	result = find_ram(file, b->memory, &start, &end);
	rewind(file);
	if (!result)
		result = user_smaps_read(file, start, end, &smaps);
	fclose(file);
	if (result)
		return result;
	if (!smaps.rss && !smaps.hugetlb) {
		snprintf(text, size, "nothing touched");
		return !touched;
	}
	seen = user_smaps_classify(&smaps);
	snprintf(text, size, "%s", seen);
	return !strcmp(seen, names[b->page]);
}
