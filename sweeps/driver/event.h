/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events by name: those of the CPU's data file, those that libpfm4 knows (the kernel's software
 * events among them), and raw ones as perf writes them (rXXXX).
 */
#ifndef TS_EVENT_H
#define TS_EVENT_H

#include "cpu_file.h"

#define MAX_EVENTS 16 /* in one run */

/* Retired instructions: Intel's architectural event (SDM vol. 3, table 20-1), on AMD PMCx0C0. */
#define EVENT_INSTRUCTIONS 0xc0

struct event {
	char name[96]; /* the CSV column */
	u32 type;      /* of struct perf_event_attr */
	u64 config;    /* the same; for PMU events the layout of encoding.h */
	int is_core;   /* counted by the core's PMU, so by a guest's or the module, too */
	int is_walk;   /* one for each load that misses the TLB: has a known load */
	char from[96]; /* who says so: "cpu file skylake", "libpfm4", "raw" */
	char missing[400]; /* why it cannot be opened here, with the remedy; empty: it can */
};

/* perf's type number of the PMU of performance cores: cpu_core on hybrid CPUs, else cpu. */
u32 event_core_type(void);

/* Finds an event. cpu may be 0: no data file for this CPU. */
int event_find(const struct cpu_file *cpu, const char *name, struct event *event,
	       struct problem *problem);

/* Encoding as text: event=...,umask=... or type and config of others. */
const char *event_encoding(const struct event *event, char *text, size_t size);

#endif
