/* SPDX-License-Identifier: GPL-2.0 */
/* Statistics of the driver: medians, quantiles, the fracture index and its interval. */
#ifndef TS_STATISTICS_H
#define TS_STATISTICS_H

#include "types.h"

#include <stddef.h>

/* An estimate and the ends of its 95 % interval; an exact value has low = value = high. */
struct interval {
	double value, low, high;
};

/* The next number of a generator (SplitMix64) with one word of state. */
u64 statistics_random(u64 *state);

/* Value below which a share q (0 to 1) of n >= 1 values lies, interpolated linearly; sorts them. */
double statistics_quantile(double *values, size_t n, double q);

/* The same for q = 1/2. Reorders the values. */
double statistics_median(double *values, size_t n);

/* Lower median of n >= 1 samples (the core's rows use the same); reorders them. */
u32 statistics_median_u32(u32 *samples, size_t n);

/*
 * Fracture index F = (selective - none) / (full - none): 0, the selective flush cost nothing that
 * its control does not cost; 1, it cost what a full flush costs. NAN when full and none are equal.
 */
double fracture_index(double selective, double none, double full);

/* Three conditions measured in turns: sample i of each is from round i. */
struct rounds {
	const u32 *selective, *none, *full;
	size_t n; /* rounds, at least 1 */
};

/*
 * F of the medians in *f, and full - none in *contrast, both with percentile bootstrap intervals.
 * The same rounds and seed give the same intervals. *f is NAN throughout when the contrast is zero.
 */
void fracture_interval(const struct rounds *rounds, u64 seed, struct interval *f,
		       struct interval *contrast);

/* A point of a reach curve: net latency (the packed curve subtracted) of a set of so many lines. */
struct reach_point {
	double lines;
	double cycles; /* a line */
	double spread; /* what it is uncertain by; 0 for exact, NAN when not known */
};

enum cliff_certainty { CLIFF_DOUBTFUL, CLIFF_LIKELY, CLIFF_CLEAR };

/* Where a level of the TLB is full: it held `from` lines and no longer `to`. */
struct cliff {
	double from, to;
	double rise; /* cycles a line, from plateau to plateau */
	enum cliff_certainty certainty;
};

/*
 * Finds the cliffs of a curve whose points come in ascending order of lines; returns how many there
 * are, of which the first `room` are stored. A cliff is a run of rises of at least a cycle each
 * (and beyond their spread); its range is where the middle half of the rise lies. certainty: clear
 * when the rise is five times the spread of the two plateaus, likely when it is twice as much;
 * doubtful otherwise, and for single measurements.
 */
size_t statistics_cliffs(const struct reach_point *point, size_t n, struct cliff *cliff,
			 size_t room);

#endif
