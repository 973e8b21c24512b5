// SPDX-License-Identifier: GPL-2.0
/*
 * The op table. What an op has to drop follows Intel SDM vol. 3, 4.10.4.1 ("Operations that
 * invalidate TLBs and paging-structure caches"; numbering of the June 2016 edition) and AMD APM vol. 2,
 * 5.5; a CPU may always drop more, and how much more is what tlbscope measures.
 */
#include "op.h"

const char *const ts_class_names[] = { "none", "selective", "full", 0 };

static const char *const feature_names[TS_FEATURES] = { "pge", "pcid", "invpcid", "1g", "nx" };

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
		.drops = "one page in the current PCID, global or not, and the paging-structure "
			 "caches (SDM 4.10.4.1)",
	},
	[TS_OP_INVPCID_ADDR] = {
		.name = "invpcid-addr", .class = TS_CLASS_SELECTIVE, .addressed = 1,
		.needs = TS_INVPCID,
		.drops = "one page in one PCID, but not if it is global (INVPCID type 0)",
	},
	[TS_OP_INVPCID_CTX] = {
		.name = "invpcid-ctx", .class = TS_CLASS_FULL, .needs = TS_INVPCID,
		.drops = "one PCID, but not global pages (INVPCID type 1)",
	},
	[TS_OP_INVPCID_NONGLOBAL] = {
		.name = "invpcid-nonglobal", .class = TS_CLASS_FULL, .needs = TS_INVPCID,
		.drops = "all PCIDs, but not global pages (INVPCID type 3)",
	},
	[TS_OP_INVPCID_ALL] = {
		.name = "invpcid-all", .class = TS_CLASS_FULL, .drops_global = 1,
		.needs = TS_INVPCID,
		.drops = "all PCIDs and global pages (INVPCID type 2)",
	},
	[TS_OP_CR3] = {
		.name = "cr3", .class = TS_CLASS_FULL,
		.drops = "the current PCID, but not global pages (MOV CR3, bit 63 clear)",
	},
	[TS_OP_CR3_KEEP] = {
		.name = "cr3-keep", .class = TS_CLASS_NONE, .needs = TS_PCID, .needs_pcid = 1,
		.drops = "nothing required (MOV CR3, bit 63 set)",
	},
	[TS_OP_PGE] = {
		.name = "pge", .class = TS_CLASS_FULL, .drops_global = 1, .needs = TS_PGE,
		.drops = "everything: CR4.PGE cleared and set again (MOV CR4)",
	},
};
