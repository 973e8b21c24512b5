/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Are counters to be believed? Loads whose counts are known are run before the first row; an event
 * that counts something else is refused with both figures, and its column stays empty.
 *
 * - walks: touching one line in each of many 4K pages, more than any TLB of today holds, costs a
 * walk a touch; in one page, none. Under nested paging a touch may cost more than one of what the
 * CPU counts: the 2016 table has 2.06 for 50 touches over 4K host pages. Hence the wide bounds.
 * - retired instructions: the length of a loop is known. Where they are wrong the PMU itself is.
 * - page faults: the first touch of fresh memory is one for each page.
 * Other events have no known load and stay unchecked.
 */
#ifndef TS_COUNTER_CHECK_H
#define TS_COUNTER_CHECK_H

#include "counting.h"

#define CHECK_PAGES 8192      /* twice the largest second-level TLB (Zen 5: 4096 entries) */
#define CHECK_WALKS_LEAST 0.5 /* a touch: random replacement keeps a fifth of twice its size */
#define CHECK_WALKS_MOST 3.0
#define CHECK_WALKS_NONE 0.02 /* a touch within one page: whatever else has walked */
#define CHECK_SHARE 0.01      /* what instructions may be off by */

enum check_load {
	CHECK_INSTRUCTIONS, /* counts[0]: seen / expected */
	CHECK_BEYOND,	    /* counts: a touch, for each event */
	CHECK_ONE_PAGE,
	CHECK_FRESH, /* counts: a fresh page */
	CHECK_LOADS
};

/*
 * Runs a load with the counters on and fills counts. 0; -ENOTSUP: this target has no such load;
 * -ENODATA and so on (perf_reason()): not counted; -EPIPE, -ETIMEDOUT, -EINTR: the target ended.
 */
typedef int check_fn(void *context, enum check_load load, double *counts);

/* Checks all events once; a target that ended is returned, everything else is in *counting. */
int counter_check(struct counting *counting, check_fn *run, void *context);

/* The case that makes a load in a guest or the module, and its touches in an iteration. */
int check_case(enum check_load load, struct ts_case *c);

/* Instructions of an iteration of that case: passes.c, phase access, chase. */
double check_case_instructions(const struct ts_case *c);

/* The loads in this process, under its own counters (source process). */
int check_process(void *context, enum check_load load, double *counts);

#endif
