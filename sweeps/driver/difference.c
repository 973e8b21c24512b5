// SPDX-License-Identifier: GPL-2.0
/*
 * Differences and noise.
 *
 * Cycles and events: each value is itself the median (or slope) over hundreds of iterations in one repeat, and a sample
 * median of many is close to normal, so that with the few repeats there are Welch's t interval applies (Welch 1947; the
 * variances of two runs need not be alike). A rank test would need no such assumption, but with three repeats on each
 * side it cannot get below p = 0.1 whatever they are. A timer that counts in steps makes repeats look more alike than they are:
 * the variance of that rounding, step^2 / 12, is added to each sample's.
 *
 * What repeats of a run cannot show is that the next run lies on other physical pages. Differences up to a
 * margin therefore count as none: the interval has to lie beyond it.
 *
 * Refills are counts that come out the same in nearly every iteration. If the true median were another one than m, at
 * least half of all iterations would differ from m; how unlikely so few did is a binomial tail (sign test).
 *
 * Many cases: Holm's step-down (1979), which holds the probability of even one false change whatever the cases have to do
 * with each other. Each interval has the level at which Holm tested its case.
 */
#include "difference.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>

/* ---- Student's t ---- */

/*
 * Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz' method.
 */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f, term;
	int m;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	f = d;
	for (m = 1; m < 500; m++) {
		term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		c = fabs(c) < 1e-300 ? 1e-300 : c;
		f *= d * c;
		term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		c = fabs(c) < 1e-300 ? 1e-300 : c;
		f *= d * c;
		if (fabs(d * c - 1) < 1e-14)
			break;
	}
	return f;
}

/* Regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Abramowitz and Stegun 26.7.1. */
double student_tails(double t, double freedom)
{
	return isinf(t) ? 0 : incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_quantile(double p, double freedom)
{
	double low = 0, high = 1, middle;
	int i;

	while (student_tails(high, freedom) > p && high < 1e150)
		high *= 2;
	for (i = 0; i < 200; i++) {
		middle = (low + high) / 2;
		if (student_tails(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* ---- two samples ---- */

static double mean_of(const double *values, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += values[i];
	return sum / n;
}

/* Variance of the mean of a sample, rounding by step in it. */
static double mean_variance(const double *values, size_t n, double step)
{
	double mean = mean_of(values, n), sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return (sum / (n - 1) + step * step / 12) / n;
}

void difference_of_means(const double *a, size_t na, const double *b, size_t nb, double step, double margin,
			 struct difference *d)
{
	double va = mean_variance(a, na, step), vb = mean_variance(b, nb, step);

	*d = (struct difference){ .value = mean_of(b, nb) - mean_of(a, na), .low = NAN, .high = NAN,
				  .margin = margin, .p = 1, .error = sqrt(va + vb), .freedom = INFINITY };
	if (d->error > 0)
		d->freedom = (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1));
	if (fabs(d->value) > margin)
		d->p = d->error > 0 ? student_tails((fabs(d->value) - margin) / d->error, d->freedom) : 0;
}

/* P(X <= k) of X out of n throws of a fair coin, terms by logarithm. */
static double coin_tail(size_t n, size_t k)
{
	double sum = 0;
	size_t i;

	if (2 * k >= n)
		return 1;
	for (i = 0; i <= k; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) - n * log(2));
	return fmin(sum, 1);
}

void difference_of_medians(double a, size_t na, size_t off_a, double b, size_t nb, size_t off_b,
			   struct difference *d)
{
	*d = (struct difference){ .value = b - a, .low = NAN, .high = NAN, .p = 1, .freedom = INFINITY };
	if (a != b)
		d->p = fmin(1, coin_tail(na, off_a) + coin_tail(nb, off_b));
}

/* ---- all together ---- */

static int compare_p(const void *a, const void *b)
{
	double x = (*(struct difference *const *)a)->p, y = (*(struct difference *const *)b)->p;

	return (x > y) - (x < y);
}

static void set_interval(struct difference *d, double level)
{
	double half = d->error > 0 ? student_quantile(level, d->freedom) * d->error : 0;

	d->low = d->value - half;
	d->high = d->value + half;
	if (!d->error && !d->changed && fabs(d->value) > d->margin) { /* medians that are not sure */
		d->low = fmin(0, d->value);
		d->high = fmax(0, d->value);
	}
}

void difference_decide(struct difference *const *difference, size_t n, double confidence)
{
	struct difference **order = xcalloc(n, sizeof(*order));
	double level;
	size_t i, first;

	for (i = 0; i < n; i++)
		order[i] = difference[i];
	qsort(order, n, sizeof(*order), compare_p);
	for (first = 0; first < n && order[first]->p <= (1 - confidence) / (n - first); first++) {
		order[first]->changed = 1;
		set_interval(order[first], (1 - confidence) / (n - first));
	}
	level = first < n ? (1 - confidence) / (n - first) : 1; /* where Holm stopped */
	for (i = first; i < n; i++) {
		order[i]->changed = 0;
		set_interval(order[i], level);
	}
	free(order);
}
