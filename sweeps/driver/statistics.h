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

/* A measured point, and a straight line through several: y = intercept + slope * x. */
struct fit_point {
	double x, y;
};

struct fit_line {
	double intercept, slope;
	double v_intercept, v_slope, v_both; /* variances and covariance of the two, for scatter 1 */
	double scatter;	 /* residual standard deviation, as a share of the fitted value ^ power */
	double residual; /* root mean square of the residuals, in units of y */
	double worst;	 /* the largest residual */
	size_t n, freedom; /* points; points less parameters */
};

enum crossing_kind {
	CROSSING_UNKNOWN,  /* too few points for one of the lines */
	CROSSING_AT,	   /* they cross at x, rising dearer than level below x */
	CROSSING_PARALLEL, /* their slopes differ by no more than noise */
	CROSSING_REVERSED, /* they cross the other way: the rising line is the flatter one */
};

/* Two lines and where they meet. */
struct crossing {
	struct fit_line rising, level;
	double power; /* noise grows with the value ^ power: 0, 1/2 or 1 */
	enum crossing_kind kind;
	struct interval x;   /* where they cross; low and high NAN without degrees of freedom */
	struct interval gap; /* level - rising at the middle of the rising line's points */
};

/*
 * Fits a line to each of two sets of points and intersects them. flat: the second is a constant.
 * Fewer than two different x in the first set, or in the second unless it is flat, or none at all:
 * CROSSING_UNKNOWN, and what can be fitted is.
 */
void statistics_cross(const struct fit_point *rising, size_t n_rising,
		      const struct fit_point *level, size_t n_level, int flat,
		      struct crossing *crossing);

/* Standard error of the line's value at x. */
double statistics_line_error(const struct fit_line *line, double x);

/* Quantile 0.975 of Student's t distribution, for freedom >= 1. */
double statistics_student(double freedom);

#endif
