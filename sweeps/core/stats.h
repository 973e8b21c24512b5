/* SPDX-License-Identifier: GPL-2.0 */
/* Order statistics over the iterations of one row (integers only; no floating point in the core). */
#ifndef TS_STATS_H
#define TS_STATS_H

#include "types.h"

/* Sorts n samples in place (heap sort: no recursion, no extra memory). */
void ts_sort(u32 *samples, u32 n);

/* Lower median of n >= 1 samples; sorts them. */
u32 ts_median(u32 *samples, u32 n);

#endif
