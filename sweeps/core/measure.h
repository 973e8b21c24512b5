/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The asm executor: runs the measured passes of an expansion on this CPU (ring 0, interrupts off).
 */
#ifndef TS_MEASURE_H
#define TS_MEASURE_H

#include "counters.h"
#include "window.h"

/* What the ops need to know about this CPU, and how its owner wants to be interrupted. */
struct ts_cpu {
	u64 cr3;  /* value that op cr3 writes: root and PCID, bit 63 clear */
	u64 cr4;  /* value that op pge comes back to; PGE set when the CPU has it */
	u64 pcid; /* of the window: CR3[11:0] with CR4.PCIDE, else 0 */
	/*
	 * Called between iterations, never inside a measured pass (an owner that must let interrupts
	 * in does it here); 0 for none. The loops of 2016 run `chunk` iterations between two calls, 0
	 * for all at once.
	 */
	void (*pause)(void *context);
	void *context;
	u64 chunk;
	const struct ts_counters *counters; /* for the loops; 0 for none */
};

enum ts_twin { TS_TWIN_UNKNOWN, TS_TWIN_NEW, TS_TWIN_STALE };
extern const char *const ts_twin_names[];

struct ts_result {
	u8 has_refills, has_cycles, has_mix;
	u64 refills;	 /* leaves refilled in an iteration, median; set 0 */
	u64 mix_refills; /* the same for the mixed set */
	u64 off_median;	 /* iterations whose refills differed from the median (the larger of both sets) */
	u64 cycles;	 /* TSC cycles of an iteration: median (retouch), or total / iterations (loops) */
	enum ts_twin twin;
	struct ts_counts counts; /* of the loops: events of all iterations (counters.c) */
};

/*
 * Measures one case. samples: room for 2 * TS_MAX_SAMPLES values. The window must be mapped under cpu->cr3
 * and linked. Runs the functional twin first (ts_twin()). ts_summarize() has to follow.
 */
void ts_measure(const struct ts_window *window, const struct ts_cpu *cpu, u32 *samples,
		struct ts_result *result);

/*
 * The medians of what ts_measure() has collected. Apart from it, since sorting 65536 samples takes milliseconds, for
 * which a kernel must not keep interrupts off.
 */
void ts_summarize(const struct ts_case *c, u32 *samples, struct ts_result *result);

/*
 * The functional twin of the window's op: points leaf 0 at another frame, runs the op on it once, and looks
 * which frame is read. A flush that was skipped reads the old frame (TS_TWIN_STALE), so that it cannot
 * pass for a flush that left the set intact; where the op need not drop leaf 0 (op none), a stale read
 * shows that the harness can see one. TS_TWIN_UNKNOWN without a second frame.
 */
enum ts_twin ts_twin(const struct ts_window *window, const struct ts_cpu *cpu);

#endif
