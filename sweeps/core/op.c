// SPDX-License-Identifier: GPL-2.0
/*
 * The op table. What an op has to drop follows Intel SDM vol. 3, 4.10.4.1 ("Operations that
 * invalidate TLBs and paging-structure caches"; numbering of the June 2016 edition) and AMD APM vol. 2,
 * 5.5; a CPU may always drop more, and how much more is what tlbscope measures.
 */
#include "op.h"

const char *const ts_class_names[] = { "none", "selective", "full", 0 };

static const char *const feature_names[TS_FEATURES] = {
	"pge", "pcid", "invpcid", "1g", "nx", "ring0", "syscalls",
};

const char *ts_feature_name(u32 index)
{
	return index < TS_FEATURES ? feature_names[index] : 0;
}

const struct ts_op ts_ops[TS_OPS] = {
	[TS_OP_NONE] = {
		.name = "none", .class = TS_CLASS_NONE,
		.drops = "nothing: the control",
	},
	[TS_OP_INVLPG] = {
		.name = "invlpg", .class = TS_CLASS_SELECTIVE, .addressed = 1, .drops_global = 1,
		.needs = TS_RING0,
		.drops = "one page in the current PCID, global or not, and the paging-structure "
			 "caches (SDM 4.10.4.1)",
	},
	[TS_OP_INVPCID_ADDR] = {
		.name = "invpcid-addr", .class = TS_CLASS_SELECTIVE, .addressed = 1,
		.needs = TS_RING0 | TS_INVPCID,
		.drops = "one page in one PCID, but not if it is global (INVPCID type 0)",
	},
	[TS_OP_INVPCID_CTX] = {
		.name = "invpcid-ctx", .class = TS_CLASS_FULL, .needs = TS_RING0 | TS_INVPCID,
		.drops = "one PCID, but not global pages (INVPCID type 1)",
	},
	[TS_OP_INVPCID_NONGLOBAL] = {
		.name = "invpcid-nonglobal", .class = TS_CLASS_FULL, .needs = TS_RING0 | TS_INVPCID,
		.drops = "all PCIDs, but not global pages (INVPCID type 3)",
	},
	[TS_OP_INVPCID_ALL] = {
		.name = "invpcid-all", .class = TS_CLASS_FULL, .drops_global = 1,
		.needs = TS_RING0 | TS_INVPCID,
		.drops = "all PCIDs and global pages (INVPCID type 2)",
	},
	[TS_OP_CR3] = {
		.name = "cr3", .class = TS_CLASS_FULL, .needs = TS_RING0,
		.drops = "the current PCID, but not global pages (MOV CR3, bit 63 clear)",
	},
	[TS_OP_CR3_KEEP] = {
		.name = "cr3-keep", .class = TS_CLASS_NONE, .needs = TS_RING0 | TS_PCID, .needs_pcid = 1,
		.drops = "nothing required (MOV CR3, bit 63 set)",
	},
	[TS_OP_PGE] = {
		.name = "pge", .class = TS_CLASS_FULL, .drops_global = 1,
		.needs = TS_RING0 | TS_PGE,
		.drops = "everything: CR4.PGE cleared and set again (MOV CR4)",
	},
	/*
	 * Linux flushes a range of at most tlb_single_page_flush_ceiling pages one by one and everything
	 * beyond it (arch/x86/mm/tlb.c, get_flush_tlb_info), so that `count` decides the class; the user
	 * target records which it was.
	 */
	[TS_OP_MPROTECT] = {
		.name = "mprotect", .class = TS_CLASS_SELECTIVE, .addressed = 1,
		.needs = TS_SYSCALLS,
		.drops = "count written pages, by making them read-only",
	},
	[TS_OP_MPROTECT_TWIN] = {
		.name = "mprotect-twin", .class = TS_CLASS_NONE, .addressed = 1,
		.needs = TS_SYSCALLS,
		.drops = "nothing: the same call on pages that were never touched",
	},
	[TS_OP_MADVISE] = {
		.name = "madvise", .class = TS_CLASS_SELECTIVE, .addressed = 1,
		.needs = TS_SYSCALLS,
		.drops = "count written pages, by MADV_DONTNEED",
	},
	[TS_OP_MADVISE_TWIN] = {
		.name = "madvise-twin", .class = TS_CLASS_NONE, .addressed = 1,
		.needs = TS_SYSCALLS,
		.drops = "nothing: the same call on pages that were never touched",
	},
	[TS_OP_MUNMAP] = {
		.name = "munmap", .class = TS_CLASS_SELECTIVE, .addressed = 1,
		.needs = TS_SYSCALLS,
		.drops = "count written pages, by munmap",
	},
	[TS_OP_MUNMAP_TWIN] = {
		.name = "munmap-twin", .class = TS_CLASS_NONE, .addressed = 1,
		.needs = TS_SYSCALLS,
		.drops = "nothing: the same call on pages that were never touched",
	},
};
