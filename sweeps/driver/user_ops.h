/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flush operations of the user target: system calls, and their twins that do the same and flush
 * nothing.
 */
#ifndef TS_USER_OPS_H
#define TS_USER_OPS_H

#include "case.h"

#include <stddef.h>

/* One operation with pages of its own. */
struct user_op {
	u64 op;	    /* enum ts_op_id */
	char *area; /* anchors and pages */
	size_t area_size;
	char *page; /* the first page that the operation works on */
	size_t size;
};

/* Can this target run the op? op none is no system call at all. */
int user_op_known(u64 op);

/* The twin of an op; the op itself if it is one already, or has none. */
u64 user_op_twin(u64 op);

/* Maps the op's pages. 0 or a negative errno. */
int user_op_create(struct user_op *op, const struct ts_case *c);
void user_op_destroy(struct user_op *op);

/*
 * Undoes the operation and makes its pages such that the next run flushes (or, a twin, does not).
 * May flush anything itself: warm up behind it. 0 or a negative errno.
 */
int user_op_prepare(const struct user_op *op);

/* The system call: 0 or a negative errno. */
int user_op_run(const struct user_op *op);

#endif
