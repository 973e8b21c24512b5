// SPDX-License-Identifier: GPL-2.0
/* Order statistics on integers. */
#include "stats.h"

/* Lets the sample at root sink until no child is larger; the heap is samples[0..n). */
static void sink(u32 *samples, u32 root, u32 n)
{
	u32 child, value = samples[root];

	for (; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && samples[child + 1] > samples[child])
			child++;
		if (samples[child] <= value)
			break;
		samples[root] = samples[child];
	}
	samples[root] = value;
}

void ts_sort(u32 *samples, u32 n)
{
	u32 i, last;

	for (i = n / 2; i-- > 0;)
		sink(samples, i, n);
	for (i = n; i-- > 1;) {
		last = samples[i];
		samples[i] = samples[0];
		samples[0] = last;
		sink(samples, 0, i);
	}
}

u32 ts_median(u32 *samples, u32 n)
{
	ts_sort(samples, n);
	return samples[(n - 1) / 2];
}
