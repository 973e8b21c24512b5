/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc/PID/smaps says about the pages that map a range. */
#ifndef TS_USER_SMAPS_H
#define TS_USER_SMAPS_H

#include "types.h"

#include <stdio.h>

/* Sums over all mappings that overlap the range; bytes. */
struct user_smaps {
	u64 rss;
	u64 anon_huge;	 /* mapped by 2M entries: AnonHugePages, ShmemPmdMapped, FilePmdMapped */
	u64 hugetlb;	 /* Private_Hugetlb and Shared_Hugetlb */
	u64 kernel_page; /* KernelPageSize; 0 when the mappings differ */
	u64 mappings;
};

/* Reads smaps text; 0, or -ENOENT when no mapping overlaps [start, end). */
int user_smaps_read(FILE *file, u64 start, u64 end, struct user_smaps *smaps);

/*
 * The range [start, end) of this process: "4k", "2m" or "1g" if all of what is mapped in it has
 * that size, "mixed" otherwise, "unknown" when smaps cannot be read.
 */
const char *user_smaps_size(u64 start, u64 end);

/* The same from a sum. */
const char *user_smaps_classify(const struct user_smaps *smaps);

#endif
