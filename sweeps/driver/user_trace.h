/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's own word on what a system call flushed: the tracepoint tlb:tlb_flush of this
 * process.
 */
#ifndef TS_USER_TRACE_H
#define TS_USER_TRACE_H

#include "op.h"

#include <stddef.h>

struct user_trace {
	int fd; /* -1: not readable */
	void *ring;
	size_t ring_size;
	unsigned int pages_offset; /* of the field `pages` in a record */
};

/* What was flushed between user_trace_start() and user_trace_stop(). */
struct user_flushes {
	enum ts_class class; /* the most that one of them did */
	u64 events;
	u64 pages; /* sum of those that were not full */
};

/*
 * Opens the tracepoint for this process by perf_event_open(): nothing is switched on for others,
 * and nothing is left when the program is killed. 0, or a negative errno: the usual case for anyone
 * but root, whose rows then say "unverified".
 */
int user_trace_open(struct user_trace *trace);
void user_trace_close(struct user_trace *trace);

int user_trace_start(struct user_trace *trace);
int user_trace_stop(struct user_trace *trace, struct user_flushes *flushes);

/*
 * Finds "field:unsigned long pages; offset:16; ..." in a tracepoint's format file. 0, or -EINVAL.
 */
int user_trace_pages_offset(const char *format, unsigned int *offset);

#endif
