/* SPDX-License-Identifier: GPL-2.0 */
/* The PMU that the hypervisor lends, if it does (a vPMU). */
#ifndef PMU_H
#define PMU_H

#include "protocol.h"

/* Finds it; a line in the log says what to do when there is none. */
void pmu_init(void);

extern struct ts_pmu pmu;

/* What the loops of a case are to read; n is 0 when no events are set. */
extern struct ts_counters pmu_counters;

/* Ends the events that are set, and sets others (or none) when all of them can be trusted. */
enum ts_status pmu_set_events(const struct ts_events *events, struct ts_error *error);

#endif
