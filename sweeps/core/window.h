/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window: an expansion mapped into page tables, with the pointers to its leaf entries and
 * the chain of pointers that the chase order follows.
 */
#ifndef TS_WINDOW_H
#define TS_WINDOW_H

#include "expand.h"
#include "pgtable.h"

struct ts_memory {
	void *context;
	/*
	 * Physical address of frame n of a size (TS_2M or TS_1G): aligned to it, the same for every
	 * call with the same n until the owner starts a new window; 0 when there is none.
	 * 4K leaves lie in 2M frames, so that neighbours are contiguous.
	 */
	u64 (*frame)(void *context, u64 page, u64 n);
	u64 (*frames)(void *context, u64 page); /* how many there are; for messages and for 1G leaves */
};

struct ts_window {
	const struct ts_expansion *e;
	u64 **leaf[2];	/* entries of both sets, caller's arrays of TS_MAX_LEAVES each */
	u64 twin_entry; /* leaf 0 of set 0 with another frame; 0 if memory has none left */
};

/*
 * Maps all of the expansion. flags go into every leaf beside P, W and (case) G: NX, encryption bit.
 * 1G leaves share the 1G frames that there are: entries differ, lines do not collide.
 */
enum ts_status ts_window_map(struct ts_window *window, const struct ts_tables *tables,
			     const struct ts_memory *memory, u64 flags, struct ts_error *error);

/*
 * Writes the chase chain into the lines of the window, which must be reachable at its addresses, and follows
 * it once: TS_CONFLICT if two touches share a line (so that the chain is not one cycle over all).
 * Runs for every order: a line that was never written may share one zero page with others.
 */
enum ts_status ts_window_link(const struct ts_window *window, struct ts_error *error);

/*
 * With code=1: puts a function that only returns into every touched line, beside the chain's pointer, and calls
 * it. cpu->pause is called before every TS_RUN_AT_ONCE of them.
 */
#define TS_RUN_AT_ONCE 64
struct ts_cpu;
void ts_window_run_code(const struct ts_window *window, const struct ts_cpu *cpu);

#endif
