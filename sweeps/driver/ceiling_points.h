/* SPDX-License-Identifier: GPL-2.0 */
/* The first half of a break-even: which rows count, and the points that lines are fitted to. */
#ifndef TS_CEILING_POINTS_H
#define TS_CEILING_POINTS_H

#include "ceiling.h"

/* What one cell's points are collected from. */
struct ceiling_collector {
	const struct rows *rows;
	const struct cell *cell;
	const struct ceiling_pair *pair;
	const struct cell *also; /* where the cost of pair->also is; or 0 */
	int alone; /* target user: the call without the pass behind it */
};

/* Are the pair's flushes made by system calls? */
int ceiling_is_call(const struct ceiling_pair *pair);

/* Is the op among the cell's rows; any full flush? */
int ceiling_has_op(const struct cell *cell, u64 op);
int ceiling_has_full(const struct cell *cell);

/* Counts the rows of its cells that are costs: those that can be used, and those left out with their reasons. */
void ceiling_count_rows(struct ceiling *ceiling);

/* Median of the iterations without any flush; NAN when there is none. */
double ceiling_baseline(const struct ceiling_collector *collector);

/* Adds what a row costs to the points of the cell, if it is one of the pair's and can be used. */
void ceiling_add_row(const struct ceiling_collector *collector, const struct row *row,
		     struct ceiling_cell *cell);

/*
 * Target user: does the kernel's entry alone drop much of what a full flush drops (two page tables for one guest,
 * in a hypervisor without nested paging)? Then neither line is the flush's.
 */
int ceiling_entry_flushes(const struct ceiling_collector *collector);

#endif
