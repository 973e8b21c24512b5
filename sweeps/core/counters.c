// SPDX-License-Identifier: GPL-2.0
/*
 * Counts as slopes. Reading the counters, the fences and the clock count, too; a pass of 2N iterations has all
 * of that exactly as often as one of N, so that the difference is N iterations and nothing else.
 *
 * What can break it, and what is done about it:
 * - the first iteration meets another state than those behind it (a cold TLB after a pause, a warm one after
 *   the twin): one iteration of the same pass runs ahead, uncounted, so that both passes start where an
 *   iteration ends;
 * - a counter that stands still reads as 0 events: its owner says before each pass that it is on the CPU
 *   (ts_counters.counting), and has checked it with a known number of instructions;
 * - a counter that wraps: its end is below its begin, or the pass was so long that it may have come around.
 *   No CPU counts 16 events of one kind in a TSC cycle (a core retires up to 8 instructions in a cycle,
 *   and runs at most at some twice the rate of the TSC), so a pass of 2^(width - 4) cycles is too long;
 * - an interrupt or exit in one of the passes: the difference may even be negative. It is reported as it is:
 *   the driver has repeats to see that.
 */
#include "counters.h"
#include "passes.h"

#define TOO_LONG_SHIFT 4 /* 16 events in a TSC cycle: above what any CPU can do */

void ts_counts_init(struct ts_counts *counts, const struct ts_counters *counters)
{
	struct ts_counts empty = { 0 };

	*counts = empty;
	counts->n = counters ? counters->n : 0;
}

/* One pass of n iterations: adds its counts times sign. Returns its cycles. */
static u64 run(u64 (*measured)(const struct ts_pass *pass), struct ts_pass *pass, u64 n,
	       const struct ts_counters *counters, struct ts_counts *counts, s64 sign)
{
	struct ts_scratch *scratch = pass->scratch;
	u64 mask = ~0ULL >> (64 - counters->width), cycles, begin, end;
	u32 i;

	scratch->counters = counters->counting ? counters->n : 0;
	for (i = 0; i < counters->n; i++)
		scratch->index[i] = counters->index[i];
	pass->iterations = n;
	cycles = measured(pass);
	for (i = 0; i < counters->n; i++) {
		begin = scratch->begin[i] & mask;
		end = scratch->end[i] & mask;
		if (!scratch->counters || end < begin || cycles >> (counters->width - TOO_LONG_SHIFT))
			counts->lost[i] = 1;
		else
			counts->count[i] += sign * (s64)(end - begin);
	}
	scratch->counters = 0;
	return cycles;
}

u64 ts_count(u64 (*measured)(const struct ts_pass *pass), struct ts_pass *pass,
	     const struct ts_counters *counters, struct ts_counts *counts)
{
	u64 n = pass->iterations, cycles;

	pass->iterations = 1;
	measured(pass);
	cycles = run(measured, pass, n, counters, counts, -1);
	run(measured, pass, 2 * n, counters, counts, 1);
	pass->iterations = n;
	return cycles;
}

u32 ts_counters_check(const struct ts_counters *counters, s64 *seen, s64 *expected)
{
	struct ts_scratch scratch = { 0 };
	struct ts_pass pass = { .scratch = &scratch, .iterations = TS_CHECK_ITERATIONS };
	struct ts_counts counts;
	s64 off, allowed;
	u32 i;

	*expected = TS_CHECK_INSTRUCTIONS * TS_CHECK_ITERATIONS;
	/* A host's interrupt may add the instruction that it interrupts once more; 1% is many of them. */
	allowed = *expected / 100;
	ts_counts_init(&counts, counters);
	ts_count(ts_pass_op(TS_OP_NONE), &pass, counters, &counts);
	for (i = 0; i < counters->n; i++) {
		*seen = counts.lost[i] ? 0 : counts.count[i];
		off = *seen - *expected;
		if (counts.lost[i] || off > allowed || off < -allowed)
			return i;
	}
	return i;
}
