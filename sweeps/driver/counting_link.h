/* SPDX-License-Identifier: GPL-2.0 */
/* Counting in a target behind the line protocol, by its own PMU or by the host's kernel. */
#ifndef TS_COUNTING_LINK_H
#define TS_COUNTING_LINK_H

#include "counting.h"
#include "link.h"

/*
 * A target that has just said hello is told the run's events (sources vpmu and module), or its
 * vCPU's thread is opened for the kernel's counters (source host); then the self-check is made,
 * once in a run. What cannot be counted is in counting->why_not; only a target that ended is an
 * error.
 */
int counting_link_open(struct counting *counting, struct link *link, const struct hello *hello,
		       pid_t thread, enum perf_side side);

/* link_measure(), and the counts that came with it. */
int counting_link_measure(struct counting *counting, struct link *link, const struct ts_case *c,
			  struct row *row, struct problem *problem);

/* For source host, when a row has been measured: its counts, from two more measurements. */
int counting_link_slope(struct counting *counting, struct link *link, struct row *row,
			struct problem *problem);

#endif
