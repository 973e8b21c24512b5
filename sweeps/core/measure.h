/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The asm executor: runs the measured passes of an expansion on this CPU (ring 0, interrupts off).
 */
#ifndef TS_MEASURE_H
#define TS_MEASURE_H

#include "window.h"

/* What the ops need to know about this CPU; read once before measuring. */
struct ts_cpu {
	u64 cr3; /* value that op cr3 writes: root and PCID, bit 63 clear */
	u64 cr4; /* value to come back to; PGE set */
	u64 pcid;
};

enum ts_twin { TS_TWIN_UNKNOWN, TS_TWIN_NEW, TS_TWIN_STALE };
extern const char *const ts_twin_names[];

struct ts_result {
	u8 has_refills, has_cycles, has_mix;
	u64 refills;	 /* leaves refilled in an iteration, median; set 0 */
	u64 mix_refills; /* the same for the mixed set */
	u64 off_median;	 /* iterations in which refills of either set differed from their median */
	u64 cycles;	 /* TSC cycles of an iteration: median (retouch), or total / iterations (loops) */
	enum ts_twin twin;
};

/*
 * Measures one case. samples: room for 2 * TS_MAX_SAMPLES values. The window must be mapped under cpu->cr3
 * and linked. Runs the functional twin first (ts_twin()).
 */
void ts_measure(const struct ts_window *window, const struct ts_cpu *cpu, u32 *samples,
		struct ts_result *result);

/* Slices: measure only iterations [0, n) into samples, for an owner that must let interrupts in. */

#endif
