/* SPDX-License-Identifier: GPL-2.0 */
/* Counted events of a run: which columns they are, their values by op, their table. */
#ifndef TS_EVENT_TABLE_H
#define TS_EVENT_TABLE_H

#include "judge.h"

#include <stdio.h>

/*
 * Is extra column i an event's? Those are that no target has as its own, and that hold numbers
 * only.
 */
int event_column(const struct rows *rows, size_t i);

/* Median over the repeats of an op; NAN where nothing was counted. outcome may be 0. */
double event_value(const struct rows *rows, const struct outcome *outcome, const char *event);

/*
 * The phase whose cells are shown for an event: both, or retouch where only that was counted;
 * TS_PHASES: none.
 */
u64 event_phase(const struct rows *rows, const struct cells *cells, const char *event);

/*
 * (selective - none) / (full - none) of a cell; NAN without one of the three, or without contrast.
 */
double event_f(const struct rows *rows, const struct cell *cell, const char *event);

/*
 * For each event the layout of the 2016 table: host page x guest page, without a flush, with the
 * selective and with the full one; the loop with both parts, each part alone, and net = both -
 * flush - touches. ~ marks a count whose repeats differ; returns whether there is one.
 */
int event_tables_print(FILE *out, const struct rows *rows, const struct cells *cells);

#endif
