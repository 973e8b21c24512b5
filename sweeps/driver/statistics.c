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
 *
 * Where two fitted lines cross is a ratio of two estimates, A / B with A the difference of the
 * intercepts and B that of the slopes. Its interval is Fieller's (J. R. Stat. Soc. B 16, 1954): all
 * x at which the two lines do not differ by more than t standard errors of that difference. For
 * normal errors it is exact, not symmetric where the truth is not, and has no ends when the slopes
 * do not differ by more than noise, which is the right answer then; a bootstrap of some ten points
 * a line would neither be exact nor admit that. The points are medians or means over hundreds of
 * iterations, so that normal errors are a fair assumption.
 *
 * Noise of a timing grows with what is timed, or does not: one power of the fitted value (0, 1/2
 * or 1) for both lines, that under which the residuals are most likely, gives the weights. One
 * parameter out of all points; weights out of the spread of three repeats would be noise themselves.
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

/* ---- lines ---- */

double statistics_student(double freedom)
{
	/* Tables of the t distribution, e.g. Abramowitz and Stegun 26.10; linear in 1 / freedom between. */
	static const struct {
		double freedom, t;
	} table[] = {
		{ 1, 12.706 }, { 2, 4.303 }, { 3, 3.182 }, { 4, 2.776 },   { 5, 2.571 },   { 6, 2.447 },
		{ 8, 2.306 },  { 10, 2.228 }, { 15, 2.131 }, { 20, 2.086 }, { 30, 2.042 }, { 60, 2.000 },
		{ 120, 1.980 }, { INFINITY, 1.960 },
	};
	double low, high;
	size_t i = 1;

	if (!(freedom >= 1))
		return NAN;
	while (freedom > table[i].freedom)
		i++;
	low = 1 / table[i].freedom;
	high = 1 / table[i - 1].freedom;
	return table[i].t + (1 / freedom - low) / (high - low) * (table[i - 1].t - table[i].t);
}

static double line_at(const struct fit_line *line, double x)
{
	return line->intercept + line->slope * x;
}

/* Variance of the line's value at x, for scatter 1. */
static double variance_at(const struct fit_line *line, double x)
{
	return line->v_intercept + 2 * x * line->v_both + x * x * line->v_slope;
}

double statistics_line_error(const struct fit_line *line, double x)
{
	return sqrt(variance_at(line, x)) * line->scatter;
}

/* What noise is measured in at x: a power of the fitted value. */
static double unit_at(const struct fit_line *line, double x, double power)
{
	return power > 0 ? pow(line_at(line, x), power) : 1;
}

/* Least squares with weights 1 / unit^2 out of `line` as it is. */
static void fit_weighted(const struct fit_point *point, size_t n, int flat, double power,
			 struct fit_line *line)
{
	double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, det;
	size_t i;

	for (i = 0; i < n; i++) {
		double unit = unit_at(line, point[i].x, power), w = 1 / (unit * unit);

		s += w;
		sx += w * point[i].x;
		sy += w * point[i].y;
		sxx += w * point[i].x * point[i].x;
		sxy += w * point[i].x * point[i].y;
	}
	det = s * sxx - sx * sx;
	*line = (struct fit_line){ .n = n, .freedom = n - 1, .intercept = sy / s, .v_intercept = 1 / s };
	if (flat)
		return;
	line->slope = (s * sxy - sx * sy) / det;
	line->intercept = (sy - line->slope * sx) / s;
	line->v_intercept = sxx / det;
	line->v_slope = s / det;
	line->v_both = -sx / det;
	line->freedom = n - 2;
}

/* Residuals in units of y, and their sum of squares in units of noise. */
static double residuals(const struct fit_point *point, size_t n, double power, struct fit_line *line)
{
	double sum = 0, squares = 0;
	size_t i;

	line->worst = 0;
	for (i = 0; i < n; i++) {
		double residual = point[i].y - line_at(line, point[i].x);
		double noise = residual / unit_at(line, point[i].x, power);

		squares += residual * residual;
		sum += noise * noise;
		if (fabs(residual) > fabs(line->worst))
			line->worst = residual;
	}
	line->residual = sqrt(squares / n);
	return sum;
}

/* Is the fitted value positive at every point, so that it has powers? */
static int has_powers(const struct fit_point *point, size_t n, const struct fit_line *line)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!(line_at(line, point[i].x) > 0))
			return 0;
	return 1;
}

#define FITS 3 /* the weights follow from the line, and the line from the weights */

/* Fits one line under a power; returns the sum of squares, or NAN when the power cannot be had. */
static double fit_line(const struct fit_point *point, size_t n, int flat, double power,
		       struct fit_line *line)
{
	int i;

	fit_weighted(point, n, flat, 0, line);
	for (i = 0; power > 0 && i < FITS; i++) {
		if (!has_powers(point, n, line))
			return NAN;
		fit_weighted(point, n, flat, power, line);
	}
	return power > 0 && !has_powers(point, n, line) ? NAN : residuals(point, n, power, line);
}

/* Sum over the points of log(unit): what a power costs in likelihood. */
static double log_units(const struct fit_point *point, size_t n, double power,
			const struct fit_line *line)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += log(unit_at(line, point[i].x, power));
	return sum;
}

static int two_different(const struct fit_point *point, size_t n)
{
	size_t i;

	for (i = 1; i < n; i++)
		if (point[i].x != point[0].x)
			return 1;
	return 0;
}

#define FREEDOM_OF_ITS_OWN 8 /* below that a line's scatter says too little: one for both */

/* Scatter of each line, out of the sums of squares. */
static void share_scatter(struct crossing *c, double rising, double level)
{
	double freedom = c->rising.freedom + c->level.freedom;

	if (c->rising.freedom >= FREEDOM_OF_ITS_OWN && c->level.freedom >= FREEDOM_OF_ITS_OWN) {
		c->rising.scatter = sqrt(rising / c->rising.freedom);
		c->level.scatter = sqrt(level / c->level.freedom);
	} else {
		c->rising.scatter = c->level.scatter =
			freedom > 0 ? sqrt((rising + level) / freedom) : NAN;
	}
}

#define POINTS_FOR_POWER 12 /* fewer do not tell how noise grows: equal weights */

/* Fits both under the power that makes the residuals most likely. */
static void fit_both(const struct fit_point *rising, size_t n, const struct fit_point *level, size_t m,
		     int flat, struct crossing *best)
{
	static const double powers[] = { 0, 0.5, 1 };
	double likelihood, most = -INFINITY;
	struct crossing c = { 0 };
	size_t i;

	for (i = 0; i < sizeof(powers) / sizeof(*powers); i++) {
		double a = fit_line(rising, n, 0, powers[i], &c.rising);
		double b = fit_line(level, m, flat, powers[i], &c.level);

		if (isnan(a) || isnan(b) || (i && n + m < POINTS_FOR_POWER))
			continue;
		likelihood = -(double)(n + m) / 2 * log((a + b) / (n + m)) -
			     log_units(rising, n, powers[i], &c.rising) -
			     log_units(level, m, powers[i], &c.level);
		if (i && !(likelihood > most))
			continue;
		most = likelihood;
		share_scatter(&c, a, b);
		c.power = powers[i];
		*best = c;
	}
}

/* Degrees of freedom of the difference of both lines at x (Welch and Satterthwaite). */
static double freedom_at(const struct crossing *c, double x)
{
	double p = c->rising.freedom, q = c->level.freedom;
	double a = pow(statistics_line_error(&c->rising, x), 2);
	double b = pow(statistics_line_error(&c->level, x), 2);

	if (p < FREEDOM_OF_ITS_OWN || q < FREEDOM_OF_ITS_OWN || !(a + b > 0))
		return p + q;
	return (a + b) * (a + b) / (a * a / p + b * b / q);
}

/* level - rising in the middle of the rising line's points, with its interval. */
static void find_gap(const struct fit_point *rising, size_t n, struct crossing *c)
{
	double middle = 0, error;
	size_t i;

	for (i = 0; i < n; i++)
		middle += rising[i].x / n;
	error = hypot(statistics_line_error(&c->rising, middle), statistics_line_error(&c->level, middle)) *
		statistics_student(freedom_at(c, middle));
	c->gap.value = line_at(&c->level, middle) - line_at(&c->rising, middle);
	c->gap.low = c->gap.value - error;
	c->gap.high = c->gap.value + error;
}

/* Fieller's quadratic (b2 x^2 - 2 ab x + a2 <= 0) for the ratio of the differences. */
static void find_crossing(struct crossing *c)
{
	double a = c->level.intercept - c->rising.intercept, b = c->rising.slope - c->level.slope;
	double r = c->rising.scatter * c->rising.scatter, l = c->level.scatter * c->level.scatter;
	double t = statistics_student(freedom_at(c, a / b)), tt = t * t;
	double b2 = b * b - tt * (c->rising.v_slope * r + c->level.v_slope * l);
	double ab = a * b + tt * (c->rising.v_both * r + c->level.v_both * l);
	double a2 = a * a - tt * (c->rising.v_intercept * r + c->level.v_intercept * l);
	double root;

	c->x = (struct interval){ b != 0 ? a / b : NAN, NAN, NAN };
	c->kind = b > 0 ? CROSSING_AT : b < 0 ? CROSSING_REVERSED : CROSSING_PARALLEL;
	if (isnan(b2)) /* no degree of freedom: two points and one */
		return;
	if (!(b2 > 0)) {
		c->kind = CROSSING_PARALLEL;
		return;
	}
	root = ab * ab - b2 * a2;
	root = root > 0 ? sqrt(root) : 0; /* never negative but by rounding */
	c->x.low = (ab - root) / b2;
	c->x.high = (ab + root) / b2;
}

void statistics_cross(const struct fit_point *rising, size_t n_rising, const struct fit_point *level,
		      size_t n_level, int flat, struct crossing *crossing)
{
	*crossing = (struct crossing){ .x = { NAN, NAN, NAN }, .gap = { NAN, NAN, NAN } };
	if (!two_different(rising, n_rising) || !n_level || (!flat && !two_different(level, n_level)))
		return;
	fit_both(rising, n_rising, level, n_level, flat, crossing);
	find_gap(rising, n_rising, crossing);
	find_crossing(crossing);
}
