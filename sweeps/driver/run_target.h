/* SPDX-License-Identifier: GPL-2.0 */
/* The target of a run: its choice, and what of the plan it cannot carry out. */
#ifndef TS_RUN_TARGET_H
#define TS_RUN_TARGET_H

#include "target.h"

/* Can it run here? A problem with the remedy otherwise. */
int run_check_target(const struct target_ops *ops, const struct options *options, struct problem *problem);

/* Is a plan's question the flush ceiling, which takes times to answer? */
int run_asks_ceiling(const struct plan *plan);

/*
 * The target called name, or without a name the best for the plan, which is told on stderr; 0 with a problem. A target
 * whose times cannot answer the plan is not taken without being named.
 */
const struct target_ops *run_choose_target(const char *name, const struct plan *plan,
					   const struct options *options, struct problem *problem);

/*
 * Tells which host pages of the plan are not carried out. They are no error: a plan may be for several targets, of
 * which some do not choose them.
 */
void run_tell_host(const struct plan *plan, const struct target_ops *ops);

/*
 * Events that were named and that no case would be counted in are a problem; with tell, that only some cases are
 * counted is told on stderr.
 */
int run_check_events(const struct counting *counting, const struct planned *list, size_t count, int tell,
		     struct problem *problem);

#endif
