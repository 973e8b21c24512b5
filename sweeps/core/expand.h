/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Expansion: a case turned once into addresses and counts. The asm executor (guest, module), the
 * model's executor and the user target all run the same expansion.
 *
 * Address space below `base` (2^39-aligned, 512 GiB):
 *
 *   base + 0        the working set
 *   base + 128 GiB  the mixed working set (4K pages: 32 pages further, see MIX_SKEW)
 *   base + 256 GiB  the mapped pages that `at=mapped` flushes
 *   base + 384 GiB  far: never mapped
 */
#ifndef TS_EXPAND_H
#define TS_EXPAND_H

#include "case.h"

#define TS_VA_SET 0ULL
#define TS_VA_MIX (128ULL << 30)
/*
 * The mapped pages start 56 pages into their region: QEMU's softmmu indexes by the low bits of the
 * page number and 50 pages of a working set start at index 0. Hardware STLB sets differ as well.
 */
#define TS_VA_MAPPED ((256ULL << 30) + 56 * 4096)
#define TS_VA_FAR (384ULL << 30)

struct ts_set {
	u64 va;
	u64 page;   /* enum ts_page */
	u64 leaves;
	u64 step;   /* leaf i maps va + i * step; step is the leaf size, or the stride when that is more */
	u64 must;   /* leaves that the op has to drop */
};

struct ts_expansion {
	struct ts_case c;
	struct ts_set set[2]; /* working set, mixed set (leaves 0 when there is none) */
	u64 op_va, op_stride, op_count; /* pages flushed in each iteration */
	u64 mapped_va, mapped;	/* 4K pages touched in each iteration before the op, and flushed by it */
	u64 touches;
	u64 *touch; /* addresses in visiting order */
};

/*
 * Places the pieces of a finished case below base; the touches are left out, which are what takes time. TS_OK, or
 * TS_CONFLICT when the pieces overlap (e.g. more pages in same-2m than the region has left).
 */
enum ts_status ts_place(const struct ts_case *c, u64 base, struct ts_expansion *e, struct ts_error *error);

/* The same with the touches; touch has room for TS_MAX_TOUCHES addresses. */
enum ts_status ts_expand(const struct ts_case *c, u64 base, u64 *touch, struct ts_expansion *e,
			 struct ts_error *error);

#endif
