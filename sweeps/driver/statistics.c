// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of the driver.
 *
 * Medians, not means: a timer tick, a stolen time slice or an outer hypervisor's own flush makes
 * single rounds ten times as long, and says nothing about the flush that is looked at.
 *
 * The interval on F is a percentile bootstrap (Efron and Tibshirani, An Introduction to the
 * Bootstrap, 1993, ch. 13) over rounds. A round holds one sample of every condition, and rounds are
 * drawn whole, so that what a slow round has in common cancels. They are drawn in runs of BLOCK
 * neighbours (moving-block bootstrap, Künsch 1989), since rounds near each other in time resemble
 * each other; single rounds would give intervals that are too narrow. What an interval cannot
 * cover: how another process, with other physical pages and other neighbours, would come out.
 */
#include "statistics.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>

#define RESAMPLES 400 /* ends of a 95 % interval rest on ten values on each side */
#define BLOCK 8

/* SplitMix64, as the core's expansion uses it. */
u64 statistics_random(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double statistics_quantile(double *values, size_t n, double q)
{
	double place = q * (n - 1);
	size_t i = place;

	qsort(values, n, sizeof(*values), compare_doubles);
	return i + 1 < n ? values[i] + (place - i) * (values[i + 1] - values[i]) : values[n - 1];
}

double statistics_median(double *values, size_t n)
{
	return statistics_quantile(values, n, 0.5);
}

/*
 * Hoare's selection (algorithm 65, 1961): the k-th smallest ends up at k. Linear time, which a sort
 * in each of some thousand resamples would not be.
 */
static u32 select_u32(u32 *samples, long n, long k)
{
	long low = 0, high = n - 1, i, j;
	u32 pivot, old;

	while (low < high) {
		pivot = samples[k];
		for (i = low, j = high; i <= j;) {
			while (samples[i] < pivot)
				i++;
			while (samples[j] > pivot)
				j--;
			if (i > j)
				break;
			old = samples[i];
			samples[i++] = samples[j];
			samples[j--] = old;
		}
		if (j < k)
			low = i;
		if (k < i)
			high = j;
	}
	return samples[k];
}

u32 statistics_median_u32(u32 *samples, size_t n)
{
	return select_u32(samples, n, (n - 1) / 2);
}

double fracture_index(double selective, double none, double full)
{
	return full == none ? NAN : (selective - none) / (full - none);
}

/*
 * Draws n round numbers in runs of up to BLOCK neighbours; the last run wraps to the first round.
 */
static void draw(size_t *number, size_t n, u64 *state)
{
	size_t i, run, start;

	for (i = 0; i < n;) {
		start = statistics_random(state) % n;
		for (run = 0; run < BLOCK && i < n; run++)
			number[i++] = (start + run) % n;
	}
}

/* Median of samples[number[..]]; number 0 stands for all in order. scratch has room for n. */
static double median_of(const u32 *samples, const size_t *number, size_t n, u32 *scratch)
{
	size_t i;

	for (i = 0; i < n; i++)
		scratch[i] = samples[number ? number[i] : i];
	return statistics_median_u32(scratch, n);
}

static void estimate(const struct rounds *r, const size_t *number, u32 *scratch, double *f,
		     double *contrast)
{
	double none = median_of(r->none, number, r->n, scratch);
	double full = median_of(r->full, number, r->n, scratch);

	*f = fracture_index(median_of(r->selective, number, r->n, scratch), none, full);
	*contrast = full - none;
}

static void ends(struct interval *interval, double *values, size_t n)
{
	interval->low = statistics_quantile(values, n, 0.025);
	interval->high = statistics_quantile(values, n, 0.975);
}

void fracture_interval(const struct rounds *rounds, u64 seed, struct interval *f,
		       struct interval *contrast)
{
	u32 *scratch = xcalloc(rounds->n, sizeof(*scratch));
	size_t *number = xcalloc(rounds->n, sizeof(*number));
	double fs[RESAMPLES], contrasts[RESAMPLES];
	size_t i, n = 0;

	estimate(rounds, NULL, scratch, &f->value, &contrast->value);
	for (i = 0; i < RESAMPLES; i++) {
		draw(number, rounds->n, &seed);
		estimate(rounds, number, scratch, &fs[n], &contrasts[i]);
		n += !isnan(fs[n]);
	}
	ends(contrast, contrasts, RESAMPLES);
	if (n && !isnan(f->value))
		ends(f, fs, n);
	else
		f->value = f->low = f->high = NAN;
	free(number);
	free(scratch);
}

#define LEAST_RISE 1.0	/* cycles a line; second-level hits cost 4 and more everywhere */

/* Is the step from one point to the next a rise? */
static int rises(const struct reach_point *a, const struct reach_point *b)
{
	double spread = isnan(a->spread + b->spread) ? 0 : a->spread + b->spread;

	return b->cycles - a->cycles >= (spread > LEAST_RISE ? spread : LEAST_RISE);
}

/* The cliff whose rises go from point low to point high. */
static struct cliff make_cliff(const struct reach_point *point, size_t low, size_t high)
{
	double base = point[low].cycles, rise = point[high].cycles - base;
	double spread = point[low].spread + point[high].spread;
	struct cliff cliff = { .rise = rise };
	size_t from = low, to = high;

	while (point[from + 1].cycles < base + 0.25 * rise)
		from++;
	while (point[to - 1].cycles > base + 0.75 * rise)
		to--;
	cliff.from = point[from].lines;
	cliff.to = point[to].lines;
	if (!isnan(spread) && rise >= 2 * spread)
		cliff.certainty = rise >= 5 * spread ? CLIFF_CLEAR : CLIFF_LIKELY;
	return cliff;
}

size_t statistics_cliffs(const struct reach_point *point, size_t n, struct cliff *cliff,
			 size_t room)
{
	size_t low, high, found = 0;

	for (low = 0; low + 1 < n; low = high > low ? high : low + 1) {
		for (high = low; high + 1 < n && rises(&point[high], &point[high + 1]);)
			high++;
		if (high == low)
			continue;
		if (found < room)
			cliff[found] = make_cliff(point, low, high);
		found++;
	}
	return found;
}
