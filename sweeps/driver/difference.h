/* SPDX-License-Identifier: GPL-2.0 */
/* Is a difference more than noise, when many are looked at? */
#ifndef TS_DIFFERENCE_H
#define TS_DIFFERENCE_H

#include <stddef.h>

/* Two samples of the same thing compared: b - a. */
struct difference {
	double value, low, high; /* low = high = value for what has no noise; NAN before difference_decide() */
	double error, freedom;	 /* standard error, degrees of freedom; error 0 for what has no noise */
	double margin;		 /* differences up to it do not count */
	double p;		 /* probability of as much by chance alone, were the difference no more than margin */
	int changed;		 /* decided over all of them */
};

/*
 * Difference of the means of two samples, at least 2 values each; step: what the values are rounded to (0: nothing).
 * Differences up to margin count as none.
 */
void difference_of_means(const double *a, size_t na, const double *b, size_t nb, double step, double margin,
			 struct difference *difference);

/*
 * Difference of two medians over n iterations each, of which `off` did not equal the median: exact, if most did.
 */
void difference_of_medians(double a, size_t na, size_t off_a, double b, size_t nb, size_t off_b,
			   struct difference *difference);

/*
 * Decides all of them together, so that with `confidence` none is said to have changed by chance alone, and sets
 * their intervals: one excludes its margin exactly when it is said to have changed.
 */
void difference_decide(struct difference *const *difference, size_t n, double confidence);

/* Student's distribution: probability of |t| or more on both sides, and the t beyond which lies p. */
double student_tails(double t, double freedom);
double student_quantile(double p, double freedom);

#endif
