/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CPU's performance monitoring unit (PMU): which one it is, and which register gets which value so that it
 * counts given events. Its instructions are injected, since they need ring 0 and may fault.
 */
#ifndef TS_PMU_H
#define TS_PMU_H

#include "counters.h"
#include "text.h"

enum ts_pmu_kind { TS_PMU_NONE, TS_PMU_INTEL, TS_PMU_AMD_K7, TS_PMU_AMD_CORE, TS_PMU_AMD_V2 };

struct ts_pmu {
	enum ts_pmu_kind kind;
	u32 version; /* of Intel's architectural monitoring: CPUID 0AH, EAX[7:0] */
	u32 general; /* counters that take any event */
	u32 usable;  /* of these, for events: the others do not count every event */
	u32 width;   /* bits of a counter */
	u32 used;    /* counters that are counting */
	u8 global;	/* has a register that starts and stops all of them */
	u8 full_width;	/* Intel: counters are written at A_PMC0, in all their bits */
	u8 instructions; /* event C0H, retired instructions, exists: the self-check's */
};

/* Events as they stand on a line of the protocol: bits of the event select register that say what is counted. */
struct ts_events {
	u32 n;
	u64 config[TS_MAX_COUNTERS];
};

/* All return 1, or 0 where the instruction faulted. read, write and rdpmc are 0 where they must not be used. */
struct ts_pmu_access {
	void *context;
	void (*cpuid)(void *context, u32 leaf, u32 *eax_to_edx);
	u8 (*read)(void *context, u32 msr, u64 *value);
	u8 (*write)(void *context, u32 msr, u64 value);
	u8 (*rdpmc)(void *context, u32 index, u64 *value);
};

/*
 * Fills *pmu with what CPUID declares and, where the access has write, what the registers confirm: kind
 * TS_PMU_NONE when there is no PMU, or none whose first counter takes an event.
 */
void ts_pmu_detect(struct ts_pmu *pmu, const struct ts_pmu_access *access);

/* Refuses events that this PMU cannot have: no PMU, too many, bits that it lacks or that are not the user's. */
enum ts_status ts_pmu_accepts(const struct ts_pmu *pmu, const struct ts_events *events,
			      struct ts_error *error);

/*
 * Sets the first counters to the events (which ts_pmu_accepts() has accepted), ring 0 only, from 0 on, and starts
 * them. Every register is read back and RDPMC is tried. When anything is refused, all counters are stopped.
 */
enum ts_status ts_pmu_start(struct ts_pmu *pmu, const struct ts_pmu_access *access,
			    const struct ts_events *events, struct ts_counters *counters,
			    struct ts_error *error);
void ts_pmu_stop(struct ts_pmu *pmu, const struct ts_pmu_access *access, struct ts_counters *counters);

/* As many times retired instructions: what ts_counters_check() wants. */
void ts_pmu_check_events(u32 n, struct ts_events *events);

/* The error about a counter that ts_counters_check() found wrong. */
enum ts_status ts_pmu_bad_counter(u32 counter, s64 seen, s64 expected, struct ts_error *error);

/* " pmu=NAME counters=N", and the answer to an events line. */
void ts_pmu_print_hello(struct ts_text *text, const struct ts_pmu *pmu);
void ts_pmu_print_events(struct ts_text *text, const struct ts_pmu *pmu);

/* What to do about kind TS_PMU_NONE. */
extern const char ts_pmu_remedy[];

#endif
