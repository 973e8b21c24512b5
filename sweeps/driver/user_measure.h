/* SPDX-License-Identifier: GPL-2.0 */
/* The engine of the user target: all conditions of one cell, measured in turns. */
#ifndef TS_USER_MEASURE_H
#define TS_USER_MEASURE_H

#include "perf_group.h"
#include "statistics.h"
#include "user_ops.h"
#include "user_system.h"
#include "user_trace.h"

/* How long to go on; user_limits_standard is what the program uses. */
struct user_limits {
	double precision; /* widest interval on F that is good enough */
	double seconds;	  /* for one cell, its set-up not counted */
};
extern const struct user_limits user_limits_standard;

/* Where the engine works; filled by user_open(). */
struct user {
	struct user_system system;
	struct user_pin pin;
	struct user_trace trace;
	struct user_limits limits;
	struct perf_group *group; /* events of this thread, started; 0 for none */
};

void user_open(struct user *user);
void user_close(struct user *user);

/* What one case of a cell came to. */
struct user_result {
	struct user_refusal refusal; /* reason set: not measured, and why */
	double cycles;		     /* of the touches of one iteration, median */
	double op_cycles;	     /* of the system call, median; 0 for op none */
	u64 op_va, rounds;
	enum ts_class class;	     /* as seen by the tracepoint; else by count and ceiling */
	char flush_seen[32];	     /* pages:N, full, nothing; unverified; "" for op none */
	int has_f;
	struct interval f;
	const char *reason;	     /* no-contrast, unstable, migrated ...; 0 when valid */
	char guest_how[32];
	int has_counts, count_error; /* count_error: perf_reason() says what it means */
	double counts[MAX_EVENTS];   /* of one iteration, from before the call to behind the touches */
};

/*
 * Measures the cases of one cell: alike but for op, at and count. result has one entry for each.
 * Every case with a system call gets an F against two references of its cell:
 *   control  the twin (of the same op) with the fewest pages; without a twin, op none
 *   full     the op of class full (the same op if there is one) with the fewest pages
 * and the references themselves have none. So a twin or a full flush listed a second time with
 * another count is a negative control of the method: its F has to be 0 or 1.
 *
 * 0; -EINTR when `interrupted` was set. Cases that cannot be measured are told by their refusal.
 */
int user_measure(struct user *user, const struct ts_case *cases, size_t count,
		 struct user_result *result);

#endif
