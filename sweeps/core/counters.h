/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event counters of the running CPU, as the measured loops read them, whoever has set them up.
 */
#ifndef TS_COUNTERS_H
#define TS_COUNTERS_H

#include "types.h"

#define TS_MAX_COUNTERS 8 /* in one row; the general counters of a thread on Intel CPUs: SDM vol. 3, 20.2 */

/* Counters that are set up. Their owner may change index and counting in ts_cpu.pause, not in a pass. */
struct ts_counters {
	u32 n;			    /* 0: none */
	u32 width;		    /* bits of each, 32 to 64 */
	u32 index[TS_MAX_COUNTERS]; /* for RDPMC; bit 30 means a fixed counter (SDM vol. 2, RDPMC) */
	u8 counting;		    /* are all of them on the CPU now? */
};

/* What they have counted: in the order of the counters. */
struct ts_counts {
	u32 n; /* 0: nothing was asked for */
	u8 lost[TS_MAX_COUNTERS]; /* was not counting, or has wrapped: there is no count */
	s64 count[TS_MAX_COUNTERS];
};

/* Sums are empty, for the n counters of `counters`; that may be 0. */
void ts_counts_init(struct ts_counts *counts, const struct ts_counters *counters);

/*
 * Runs a pass of the loops with iterations N of *pass and with 2N, and adds to *counts what the longer one has
 * counted more. Returns the cycles of the pass of N.
 */
struct ts_pass;
u64 ts_count(u64 (*measured)(const struct ts_pass *pass), struct ts_pass *pass,
	     const struct ts_counters *counters, struct ts_counts *counts);

/*
 * The self-check: counters that are all set to retired instructions count a pass of known length. Returns the
 * number of the first that is wrong, or counters->n if all are right; *seen and *expected are the figures.
 */
u32 ts_counters_check(const struct ts_counters *counters, s64 *seen, s64 *expected)
	__attribute__((cold)); /* not among the code that a measured pass meets: guest.lds */

/* Instructions that an iteration of phase op with op none retires: two fences of two each, DEC, JNZ. */
#define TS_CHECK_INSTRUCTIONS 6
#define TS_CHECK_ITERATIONS 1000

#endif
