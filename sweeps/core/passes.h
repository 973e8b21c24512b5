/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The measured passes: the only code that runs between two readings of a clock or counter.
 *
 * Guest and module compile this one file; every pass stands between the labels ts_begin_NAME and
 * ts_end_NAME, uses fixed registers, and has no call and no indirect jump inside, so that the bytes between
 * the labels are the same in both (a test compares them).
 */
#ifndef TS_PASSES_H
#define TS_PASSES_H

#include "case.h"
#include "counters.h"

/*
 * What a pass has in memory: the descriptor of INVPCID (SDM vol. 2), a time stamp beside it, and the event
 * counters that the loops read.
 */
struct ts_scratch {
	u64 pcid;
	u64 va;
	u64 start;
	u64 counters;		     /* how many of index[] */
	u32 index[TS_MAX_COUNTERS];  /* for RDPMC */
	u64 begin[TS_MAX_COUNTERS], end[TS_MAX_COUNTERS]; /* read around the loop */
} __attribute__((aligned(64)));

/* Everything that a pass reads, loaded into registers before its first label. */
struct ts_pass {
	u64 op_va, op_stride, op_count;
	u64 cr3, cr4;
	struct ts_scratch *scratch;
	u64 touch; /* sequential: address of the list of addresses; chase: address of the first line */
	u64 touches;
	u64 iterations; /* of the loops; retouch runs once */
};

/* One pass, chosen by the case; returns TSC cycles. */
typedef u64 ts_pass_fn(const struct ts_pass *pass);

/* Op, fence, then the timed touches: refill and retouch. Cycles are those of the touches alone. */
ts_pass_fn *ts_pass_retouch(u64 op, u64 order, u64 access);

/* `iterations` times op, fence, touches, fence; all of it timed. With op none: phase access. */
ts_pass_fn *ts_pass_both(u64 op, u64 order, u64 access);

/* `iterations` times op and the same fences, all of it timed. */
ts_pass_fn *ts_pass_op(u64 op);

#endif
