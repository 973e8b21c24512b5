// SPDX-License-Identifier: GPL-2.0
/*
 * Fitted lines and where they cross: values by hand, coverage and width of the interval over a
 * thousand seeded trials whose truth is known, and the cases that have no crossing.
 */
#include "statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

static void assert_near(double a, double b, double within)
{
	if (!(fabs(a - b) <= within))
		fail_msg("%g is not %g", a, b);
}

/* A normal deviate (Box and Muller 1958). */
static double normal(u64 *state)
{
	double u = (double)(statistics_random(state) >> 11) / (1ULL << 53);
	double v = (double)(statistics_random(state) >> 11) / (1ULL << 53);

	return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

static void student(void **state)
{
	(void)state;
	assert_near(statistics_student(1), 12.706, 0.001);
	assert_near(statistics_student(9), 2.262, 0.003);
	assert_near(statistics_student(12), 2.179, 0.003);
	assert_near(statistics_student(24), 2.064, 0.003);
	assert_near(statistics_student(1e9), 1.960, 0.001);
	assert_true(isnan(statistics_student(0)));
}

/*
 * By hand: y = 1, 3, 2, 5 at x = 1 to 4. Means 2.5 and 2.75, Sxx = 5, Sxy = 5.5: slope 1.1, intercept
 * 0; residuals -0.1, 0.8, -1.3, 0.6, squares 2.7, scatter sqrt(2.7 / 2) if it were alone.
 */
static void line_by_hand(void **state)
{
	const struct fit_point rising[] = { { 1, 1 }, { 2, 3 }, { 3, 2 }, { 4, 5 } };
	const struct fit_point level[] = { { 1, 3.3 } };
	struct crossing c;

	(void)state;
	statistics_cross(rising, 4, level, 1, 1, &c);
	assert_near(c.rising.slope, 1.1, 1e-9);
	assert_near(c.rising.intercept, 0, 1e-9);
	assert_near(c.rising.worst, -1.3, 1e-9);
	assert_near(c.rising.residual, sqrt(2.7 / 4), 1e-9);
	assert_near(c.rising.scatter, sqrt(2.7 / 2), 1e-9); /* the other line has none to share */
	assert_near(c.rising.v_slope, 1.0 / 5, 1e-9);
	assert_near(c.rising.v_intercept, 30.0 / 20, 1e-9);
	assert_near(c.x.value, 3, 1e-9);
	assert_near(c.gap.value, 3.3 - 2.75, 1e-9);
	/*
	 * t with 2 degrees of freedom is 4.303; a slope of 1.1 with a standard error of
	 * sqrt(1.35 / 5) = 0.52 is not told from 0.
	 */
	assert_int_equal(c.kind, CROSSING_PARALLEL);
}

static void exact_points(void **state)
{
	const struct fit_point rising[] = { { 1, 216 }, { 2, 432 }, { 4, 864 } };
	const struct fit_point cr3[] = { { 1, 124 } }, global[] = { { 1, 960 } };
	struct crossing c;

	(void)state;
	statistics_cross(rising, 3, cr3, 1, 1, &c);
	assert_int_equal(c.kind, CROSSING_AT);
	assert_near(c.x.value, 124.0 / 216, 1e-9);
	assert_near(c.x.low, c.x.high, 1e-6);
	statistics_cross(rising, 3, global, 1, 1, &c);
	assert_near(c.x.value, 960.0 / 216, 1e-9);
}

static void without_crossing(void **state)
{
	const struct fit_point up[] = { { 1, 11 }, { 2, 22 }, { 4, 41 }, { 8, 80 } };
	const struct fit_point down[] = { { 1, 80 }, { 2, 71 }, { 4, 50 }, { 8, 11 } };
	const struct fit_point even[] = { { 1, 50 }, { 2, 51 }, { 4, 49 }, { 8, 50 } };
	const struct fit_point one[] = { { 1, 100 }, { 1, 102 } };
	const struct fit_point below[] = { { 1, -20 }, { 1, -21 } };
	struct crossing c;

	(void)state;
	statistics_cross(one, 2, one, 2, 1, &c);
	assert_int_equal(c.kind, CROSSING_UNKNOWN);
	statistics_cross(up, 4, one, 0, 1, &c);
	assert_int_equal(c.kind, CROSSING_UNKNOWN);
	statistics_cross(up, 4, one, 2, 0, &c);
	assert_int_equal(c.kind, CROSSING_UNKNOWN);
	statistics_cross(even, 4, one, 2, 1, &c);
	assert_int_equal(c.kind, CROSSING_PARALLEL);
	assert_true(c.gap.low > 45 && c.gap.high < 57);
	statistics_cross(down, 4, one, 2, 1, &c);
	assert_int_equal(c.kind, CROSSING_REVERSED);
	statistics_cross(up, 4, below, 2, 1, &c); /* at a negative x: above it for all pages */
	assert_int_equal(c.kind, CROSSING_AT);
	assert_true(c.x.value < 0 && c.x.high < 0);
	statistics_cross(up, 2, one, 1, 1, &c); /* two points and one: a value, no interval */
	assert_int_equal(c.kind, CROSSING_AT);
	assert_true(c.x.value > 8 && isnan(c.x.low) && isnan(c.x.high));
}

/* ---- coverage ---- */

struct truth {
	double a, b;	   /* rising: a + b x */
	double c, d;	   /* level: c + d x */
	double noise;	   /* standard deviation, or share of the value */
	int share;
	int repeats;
	int flat;
};

#define TRIALS 1000
#define MOST 200

static const double pages[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512 };
#define PAGES (sizeof(pages) / sizeof(*pages))

static double sigma(const struct truth *truth, double value)
{
	return truth->share ? truth->noise * value : truth->noise;
}

static size_t draw(const struct truth *truth, int level, double from, double to, u64 *random,
		   struct fit_point *point)
{
	size_t i, n = 0;
	int k;

	for (k = 0; k < truth->repeats; k++) {
		for (i = 0; i < PAGES; i++) {
			double x = pages[i], y = level ? truth->c + truth->d * x : truth->a + truth->b * x;

			if (x >= from && x <= to && (!level || !truth->flat || !i))
				point[n++] = (struct fit_point){ x, y + sigma(truth, y) * normal(random) };
		}
	}
	return n;
}

/*
 * Variance of a line's value at x by the textbook, with known noise and the best weights: the inverse
 * of the sum of (1, x)(1, x)' / sigma^2.
 */
static double known_variance(const struct truth *truth, int level, double from, double to, double x)
{
	double s = 0, sx = 0, sxx = 0;
	size_t i;

	for (i = 0; i < PAGES; i++) {
		double y = level ? truth->c + truth->d * pages[i] : truth->a + truth->b * pages[i];
		double w = truth->repeats / (sigma(truth, y) * sigma(truth, y));

		if (pages[i] < from || pages[i] > to || (level && truth->flat && i))
			continue;
		s += w;
		sx += w * pages[i];
		sxx += w * pages[i] * pages[i];
	}
	return level && truth->flat ? 1 / s : (sxx - 2 * x * sx + x * x * s) / (s * sxx - sx * sx);
}

/* Coverage 930 to 970 of 1000, and a mean width within 1.3 of what known noise would give. */
static void check_coverage(const struct truth *truth, double split)
{
	double end = truth->flat ? 512 : split, start = truth->flat ? 1 : 2 * split;
	double x = (truth->c - truth->a) / (truth->b - truth->d), width = 0, theory;
	struct fit_point rising[MOST], level[MOST];
	u64 seed, random;
	int inside = 0;

	theory = 2 * 1.96 / (truth->b - truth->d) *
		 sqrt(known_variance(truth, 0, 1, end, x) + known_variance(truth, 1, start, 512, x));
	for (seed = 1; seed <= TRIALS; seed++) {
		size_t n, m;
		struct crossing c;

		random = seed * 1000003;
		n = draw(truth, 0, 1, end, &random, rising);
		m = draw(truth, 1, start, 512, &random, level);
		statistics_cross(rising, n, level, m, truth->flat, &c);
		assert_int_equal(c.kind, CROSSING_AT);
		assert_true(c.x.low <= c.x.value && c.x.value <= c.x.high);
		inside += c.x.low <= x && x <= c.x.high;
		width += (c.x.high - c.x.low) / TRIALS;
	}
	print_message("n* %.1f: %d of %d inside, width %.2f, in theory %.2f (%.2f)\n", x, inside, TRIALS,
		      width, theory, width / theory);
	assert_in_range(inside, 930, 970);
	assert_true(width / theory < 1.3 && width / theory > 1 / 1.3);
}

/* As in ring 0: all n one by one, and a full flush that has no n. */
static void coverage_ring0(void **state)
{
	const struct truth truth = { 3000, 200, 14000, 0, 300, 0, 5, 1 };

	(void)state;
	check_coverage(&truth, 0);
}

/* Noise of 3 % of what is measured: 512 pages are thirty times as noisy as one. */
static void coverage_growing_noise(void **state)
{
	const struct truth truth = { 3000, 200, 14000, 0, 0.03, 1, 5, 1 };

	(void)state;
	check_coverage(&truth, 0);
}

/* As from a process: one by one up to 32, fully from 64 on, and n* beyond the first. */
static void coverage_user(void **state)
{
	const struct truth truth = { 2000, 400, 24000, 60, 250, 0, 3, 0 };

	(void)state;
	check_coverage(&truth, 32);
}

static void coverage_few_pages(void **state)
{
	const struct truth truth = { 500, 250, 2300, 30, 0.02, 1, 3, 0 };

	(void)state;
	check_coverage(&truth, 32);
}

/* A break-even lost in noise has no interval in most trials, and one that is wrong in few. */
static void lost_in_noise(void **state)
{
	const struct truth truth = { 14000, 5, 14200, 0, 3000, 0, 3, 1 };
	struct fit_point rising[MOST], level[MOST];
	int seed, parallel = 0, wrong = 0;

	(void)state;
	for (seed = 1; seed <= TRIALS; seed++) {
		u64 random = seed;
		size_t n = draw(&truth, 0, 1, 512, &random, rising);
		size_t m = draw(&truth, 1, 1, 512, &random, level);
		struct crossing c;

		statistics_cross(rising, n, level, m, 1, &c);
		parallel += c.kind == CROSSING_PARALLEL;
		wrong += c.kind == CROSSING_AT && !(c.x.low <= 40 && 40 <= c.x.high);
	}
	assert_true(parallel > TRIALS / 2);
	assert_true(wrong < TRIALS * 7 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student),
		cmocka_unit_test(line_by_hand),
		cmocka_unit_test(exact_points),
		cmocka_unit_test(without_crossing),
		cmocka_unit_test(coverage_ring0),
		cmocka_unit_test(coverage_growing_noise),
		cmocka_unit_test(coverage_user),
		cmocka_unit_test(coverage_few_pages),
		cmocka_unit_test(lost_in_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
