/* SPDX-License-Identifier: GPL-2.0 */
/* Event counters, as the kernel's perf lends them. */
#ifndef TS_PERF_H
#define TS_PERF_H

#include "pmu.h"

struct perf_event;
struct ts_perf {
	struct ts_pmu pmu;
	struct ts_counters counters; /* for ts_measure() */
	struct perf_event *event[TS_MAX_COUNTERS];
	u32 n;
	int cpu;
};

/* What the CPU has, if perf lends it; a line in the log if not. Sleeps. */
void ts_perf_detect(struct ts_perf *perf, int cpu);
/* Ends the events that are set, and sets others when all of them can be trusted. Both sleep. */
enum ts_status ts_perf_set(struct ts_perf *perf, const struct ts_events *events, struct ts_error *error);
void ts_perf_release(struct ts_perf *perf);
/* With interrupts off: where the events are now, and whether all of them count. */
void ts_perf_refresh(struct ts_perf *perf);

#endif
