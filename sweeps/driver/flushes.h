/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A record of the kernel's own flushes: tracepoint tlb:tlb_flush, as tracefs prints it (files trace
 * and trace_pipe) or perf script. Summed by pages and reason.
 */
#ifndef TS_FLUSHES_H
#define TS_FLUSHES_H

#include "problem.h"

#include <stddef.h>
#include <stdio.h>

#define FLUSHES_FULL (-1L) /* pages of a full flush: TLB_FLUSH_ALL */
#define FLUSHES_MANY 513L  /* this many or more: full under every ceiling that is weighed (CEILING_MOST) */

/* enum tlb_flush_reason of include/linux/mm_types.h, as far as something depends on it. */
#define FLUSHES_TASK_SWITCH 0 /* a change of the address space: always full */
#define FLUSHES_SEND_IPI 4    /* what is asked of other CPUs: no flush itself, and recorded there */

struct flush_sum {
	long pages;
	long reason;
	char text[40]; /* the reason in the kernel's words */
	u64 count;
};

struct flushes {
	char *path;
	struct flush_sum *sum; /* by reason, then by pages */
	size_t sums;
	u64 lines;	/* flushes recorded, requests to other CPUs not counted */
	u64 lost;	/* events that the tracer says it has lost */
	double seconds; /* from the first to the last; NAN when the times do not say */
	long most;	/* the largest number of pages flushed one by one; 0 if there is none */
};

/* Reads a file; a problem names file and line. */
int flushes_read(const char *path, struct flushes *flushes, struct problem *problem);
int flushes_read_stream(FILE *file, const char *path, struct flushes *flushes,
			struct problem *problem);
void flushes_free(struct flushes *flushes);

/* Is it a flush that took place where it was recorded? */
int flushes_counts(const struct flush_sum *sum);

#endif
