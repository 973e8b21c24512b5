// SPDX-License-Identifier: GPL-2.0
/*
 * Page sizes from smaps (Documentation/filesystems/proc.rst).
 *
 * The rule: 2M when every resident byte is in AnonHugePages (or the pmd-mapped fields of shared
 * memory), or when KernelPageSize says so (hugetlb); 4K when no byte is. AnonHugePages counts only
 * what one 2M entry maps, so that the smaller folios of mTHP are 4K there, which is what their
 * page-table entries are. An AMD CPU may still join neighbouring 4K entries into one if their
 * frames are contiguous, by mTHP or by chance, and no file tells: a 4K window asks for
 * MADV_NOHUGEPAGE, which keeps mTHP away.
 */
#include "user_smaps.h"

#include <errno.h>
#include <string.h>

/* Adds " NUMBER kB" behind the name to *sum, if this is that line. */
static void add(const char *line, const char *name, u64 *sum)
{
	unsigned long long kilobytes;
	size_t n = strlen(name);

	if (!strncmp(line, name, n) && sscanf(line + n, " %llu kB", &kilobytes) == 1)
		*sum += kilobytes << 10;
}

static void read_field(const char *line, struct user_smaps *smaps)
{
	u64 size = 0;

	add(line, "Rss:", &smaps->rss);
	add(line, "AnonHugePages:", &smaps->anon_huge);
	add(line, "ShmemPmdMapped:", &smaps->anon_huge);
	add(line, "FilePmdMapped:", &smaps->anon_huge);
	add(line, "Private_Hugetlb:", &smaps->hugetlb);
	add(line, "Shared_Hugetlb:", &smaps->hugetlb);
	add(line, "KernelPageSize:", &size);
	if (size)
		smaps->kernel_page = smaps->mappings == 1 || smaps->kernel_page == size ? size : 0;
}

int user_smaps_read(FILE *file, u64 start, u64 end, struct user_smaps *smaps)
{
	unsigned long long low, high;
	char line[512];
	int inside = 0;

	memset(smaps, 0, sizeof(*smaps));
	while (fgets(line, sizeof(line), file)) {
		/*
		 * A mapping's own line starts with a range in hexadecimal, a field with a capital
		 * and a colon.
		 */
		if (sscanf(line, "%llx-%llx ", &low, &high) == 2) {
			inside = low < end && high > start;
			smaps->mappings += inside;
		} else if (inside) {
			read_field(line, smaps);
		}
	}
	return smaps->mappings ? 0 : -ENOENT;
}

const char *user_smaps_classify(const struct user_smaps *smaps)
{
	if (smaps->kernel_page == ts_page_size(TS_1G))
		return "1g";
	if (smaps->kernel_page == ts_page_size(TS_2M))
		return "2m";
	if (smaps->kernel_page != ts_page_size(TS_4K) || smaps->hugetlb || !smaps->rss)
		return "mixed";
	if (smaps->anon_huge)
		return smaps->anon_huge == smaps->rss ? "2m" : "mixed";
	return "4k";
}

const char *user_smaps_size(u64 start, u64 end)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	struct user_smaps smaps;
	int result;

	if (!file)
		return "unknown";
	result = user_smaps_read(file, start, end, &smaps);
	fclose(file);
	return result ? "unknown" : user_smaps_classify(&smaps);
}
