/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The op table: every flush operation that a case can name, what it should drop by the
 * architecture, and what it needs. Guest, module, model, driver, `tlbscope list ops` and the
 * documentation read this one table.
 */
#ifndef TS_OP_H
#define TS_OP_H

#include "types.h"

/*
 * What a case may need. Guest and module detect the CPU's features by CPUID; the last two are the
 * privileges of the target: instructions of ring 0, or system calls of a kernel above.
 */
enum ts_feature {
	TS_PGE = 1 << 0,     /* CPUID.1:EDX[13], global pages */
	TS_PCID = 1 << 1,    /* CPUID.1:ECX[17] */
	TS_INVPCID = 1 << 2, /* CPUID.7.0:EBX[10] */
	TS_GB_PAGES = 1 << 3, /* CPUID.80000001H:EDX[26], 1G leaves */
	TS_NX = 1 << 4,	     /* CPUID.80000001H:EDX[20] */
	TS_RING0 = 1 << 5,
	TS_SYSCALLS = 1 << 6,
};
#define TS_FEATURES 7

const char *ts_feature_name(u32 index); /* of bit 1 << index; 0 beyond the last */

enum ts_class { TS_CLASS_NONE, TS_CLASS_SELECTIVE, TS_CLASS_FULL };
extern const char *const ts_class_names[];

enum ts_op_id {
	TS_OP_NONE,
	TS_OP_INVLPG,
	TS_OP_INVPCID_ADDR,
	TS_OP_INVPCID_CTX,
	TS_OP_INVPCID_NONGLOBAL,
	TS_OP_INVPCID_ALL,
	TS_OP_CR3,
	TS_OP_CR3_KEEP,
	TS_OP_PGE,
	/* Target user: system calls whose kernel work ends in a flush, and their twins that flush nothing. */
	TS_OP_MPROTECT,
	TS_OP_MPROTECT_TWIN,
	TS_OP_MADVISE,
	TS_OP_MADVISE_TWIN,
	TS_OP_MUNMAP,
	TS_OP_MUNMAP_TWIN,
	TS_OPS
};

struct ts_op {
	const char *name;
	enum ts_class class;
	u8 addressed;	 /* works on one page address */
	u8 drops_global; /* has to drop global entries too */
	u32 needs;	 /* enum ts_feature bits */
	u8 needs_pcid;	 /* is defined only with CR4.PCIDE set (case pcid=1) */
	const char *drops; /* what it has to drop, with the section that says so */
};

extern const struct ts_op ts_ops[TS_OPS];

#endif
