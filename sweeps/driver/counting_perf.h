/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's counters in a run: sources host and process. */
#ifndef TS_COUNTING_PERF_H
#define TS_COUNTING_PERF_H

#include "counting.h"

/*
 * Opens the events for a thread (0: this one). Where the counters do not take them, the NMI
 * watchdog is switched off (root only; host_state.c restores it). An event that cannot even be opened
 * alone becomes missing, and the others are counted; where that does not help either, nothing is
 * counted (why_not).
 */
void counting_open(struct counting *counting, const struct perf_ops *ops, pid_t thread,
		   enum perf_side side);
void counting_close(struct counting *counting);

/* Counts between the two: 0, or what perf_reason() explains. */
int counting_start(struct counting *counting, struct perf_counts *before);
int counting_stop(struct counting *counting, const struct perf_counts *before, double *counts);

/* Measures one case, as target_ops.measure(). */
typedef int count_fn(void *context, const struct ts_case *c, struct row *row,
		     struct problem *problem);

/*
 * Runs measure() with the counters on; where they fail, row->valid says why and counts are not to
 * be used.
 */
int counting_run(struct counting *counting, count_fn *measure, void *context,
		 const struct ts_case *c, struct row *row, double *counts, struct problem *problem);

/*
 * For a row that has been measured: its case again with 2N and with N iterations, counted, and the
 * row's values from the difference. As target_ops.measure().
 */
int counting_slope(struct counting *counting, count_fn *measure, void *context, struct row *row,
		   struct problem *problem);

/* What the longer run has counted more; less is possible, where it is noise. */
void counting_difference(size_t n, const double *once, const double *twice, double *slope);

#endif
