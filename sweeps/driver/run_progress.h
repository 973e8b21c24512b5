/* SPDX-License-Identifier: GPL-2.0 */
/* How far a run is, on stderr. */
#ifndef TS_RUN_PROGRESS_H
#define TS_RUN_PROGRESS_H

#include "plan.h"

#include <stddef.h>

struct progress {
	size_t total, done, first; /* first: rows that an earlier start had measured */
	double start, last;
	int terminal;
	const struct section *section;
	u64 repeat;
};

/* One line that is drawn over on a terminal; elsewhere a line now and then. next: 0 at the end. */
void show_progress(struct progress *progress, const struct planned *next);

#endif
