/* SPDX-License-Identifier: GPL-2.0 */
/* The figures of the 2016 thread (sweeps/published/), to stand beside a run's own. */
#ifndef TS_PUBLISHED_H
#define TS_PUBLISHED_H

#include "csv_table.h"
#include "judge.h"

struct published {
	struct csv_table misses, cycles;
};

int published_read(struct published *published, struct problem *problem);
void published_free(struct published *published);

/* A number of a line by column name; NAN when the column or a number is not there. */
double published_number(const struct csv_table *table, size_t line, const char *column);
const char *published_text(const struct csv_table *table, size_t line, const char *column);

/*
 * The cell that a line of misses may be set beside: refills of plain pages with all three parts, the same host and guest
 * page, and as many touches, since another working set is no comparison; 0 when there is none.
 */
const struct cell *published_like(const struct csv_table *misses, size_t line, const struct cells *cells);

#endif
