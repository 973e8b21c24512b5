// SPDX-License-Identifier: GPL-2.0
/*
 * Differences and noise: Student's distribution against printed tables, Welch's and Holm's arithmetic by hand, and how
 * often the whole is wrong over thousands of made-up runs whose truth is known.
 */
#include "difference.h"
#include "statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static void assert_close(double a, double b, double error)
{
	if (!(fabs(a - b) <= error))
		fail_msg("%.9g is not %.9g", a, b);
}

/* Two-sided 5 %, 1 % and 0.1 % points, as in any printed table of t. */
static void student_as_printed(void **state)
{
	static const struct {
		double freedom, five, one, tenth;
	} table[] = {
		{ 1, 12.706, 63.657, 636.619 }, { 2, 4.303, 9.925, 31.599 }, { 4, 2.776, 4.604, 8.610 },
		{ 10, 2.228, 3.169, 4.587 }, { 30, 2.042, 2.750, 3.646 }, { 120, 1.980, 2.617, 3.373 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_close(student_quantile(0.05, table[i].freedom), table[i].five, 0.0006);
		assert_close(student_quantile(0.01, table[i].freedom), table[i].one, 0.0006);
		assert_close(student_quantile(0.001, table[i].freedom), table[i].tenth, 0.0006);
		assert_close(student_tails(student_quantile(0.03, table[i].freedom), table[i].freedom), 0.03, 1e-9);
	}
	/* One degree of freedom is Cauchy's distribution: 1 - 2 atan(t) / pi. */
	assert_close(student_tails(3, 1), 1 - 2 * atan(3) / M_PI, 1e-12);
	assert_close(student_tails(0, 7), 1, 1e-12);
}

/*
 * 1 2 3 against 6 8 10: means 2 and 8, variances 1 and 4. Error sqrt(1/3 + 4/3) = 1.2910; freedom
 * (5/3)^2 / ((1/3)^2 / 2 + (4/3)^2 / 2) = 2.9412; t = 6 / 1.2910 = 4.6476.
 */
static void welch_by_hand(void **state)
{
	const double a[] = { 1, 2, 3 }, b[] = { 6, 8, 10 };
	struct difference d, *list[] = { &d };

	(void)state;
	difference_of_means(a, 3, b, 3, 0, 0, &d);
	assert_close(d.value, 6, 1e-12);
	assert_close(d.error, 1.29099, 1e-5);
	assert_close(d.freedom, 2.94118, 1e-5);
	assert_close(d.p, student_tails(4.64758, 2.94118), 1e-5);
	difference_decide(list, 1, 0.95);
	assert_true(d.changed);
	assert_close(d.low, 6 - student_quantile(0.05, 2.94118) * 1.29099, 1e-3);
	assert_close(d.high, 6 + student_quantile(0.05, 2.94118) * 1.29099, 1e-3);
	/* With a margin of 3 the interval (1.85 to 10.15) does not lie beyond it. */
	difference_of_means(a, 3, b, 3, 0, 3, &d);
	difference_decide(list, 1, 0.95);
	assert_false(d.changed);
}

/* A timer with steps of 12 makes a variance of 12 of its own, however alike the repeats look. */
static void rounding_is_noise(void **state)
{
	const double a[] = { 84, 84, 84 }, b[] = { 96, 96, 96 };
	struct difference d;

	(void)state;
	difference_of_means(a, 3, b, 3, 12, 0, &d);
	assert_close(d.error, sqrt(12.0 / 3 + 12.0 / 3), 1e-12);
	difference_of_means(a, 3, b, 3, 0, 0, &d);
	assert_true(d.error == 0 && d.p == 0);
	difference_of_means(a, 3, b, 3, 0, 12, &d); /* no more than the margin */
	assert_true(d.p == 1);
}

/*
 * 20 iterations, none off: 2^-20 by chance, on both sides 2^-19. With 10 of 20 off nothing can be said. With 3 of 20
 * off: (1 + 20 + 190 + 1140) / 2^20.
 */
static void medians_by_sign(void **state)
{
	struct difference d, *list[] = { &d };

	(void)state;
	difference_of_medians(0, 20, 0, 16, 20, 0, &d);
	assert_close(d.p, 2 / 1048576.0, 1e-12);
	difference_decide(list, 1, 0.95);
	assert_true(d.changed && d.low == 16 && d.high == 16);
	difference_of_medians(0, 20, 3, 16, 20, 0, &d);
	assert_close(d.p, 1352 / 1048576.0, 1e-12);
	difference_of_medians(0, 20, 10, 16, 20, 0, &d);
	assert_true(d.p == 1);
	difference_decide(list, 1, 0.95);
	assert_true(!d.changed && d.low == 0 && d.high == 16);
	difference_of_medians(5, 20, 0, 5, 20, 0, &d);
	assert_true(d.p == 1 && d.value == 0);
}

/* Holm's own kind of example: at 5 %, 0.01 <= 0.05/4 and 0.015 <= 0.05/3, but 0.03 > 0.05/2 stops it, so 0.04 stays. */
static void holm_by_hand(void **state)
{
	const double p[] = { 0.04, 0.01, 0.03, 0.015 };
	const int changed[] = { 0, 1, 0, 1 };
	struct difference d[4], *list[4];
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		d[i] = (struct difference){ .value = 1, .error = 1, .freedom = 10, .p = p[i] };
		list[i] = &d[i];
	}
	difference_decide(list, 4, 0.95);
	for (i = 0; i < 4; i++)
		assert_int_equal(d[i].changed, changed[i]);
	assert_close(d[1].high - d[1].value, student_quantile(0.05 / 4, 10), 1e-9);
	assert_close(d[3].high - d[3].value, student_quantile(0.05 / 3, 10), 1e-9);
	assert_close(d[0].high - d[0].value, student_quantile(0.05 / 2, 10), 1e-9);
	assert_close(d[2].high - d[2].value, student_quantile(0.05 / 2, 10), 1e-9);
}

/* ---- thousands of runs ---- */

static double uniform(u64 *state)
{
	return (statistics_random(state) >> 11) / 9007199254740992.0;
}

/* Box and Muller. */
static double normal(u64 *state)
{
	double u = uniform(state);

	return sqrt(-2 * log(u > 0 ? u : 1e-300)) * cos(2 * M_PI * uniform(state));
}

/* A row's median: normal about the mean, and one repeat in eight is disturbed and higher by four deviations. */
static double sample(u64 *state, double mean, double deviation, int disturbed)
{
	double value = mean + deviation * normal(state);

	return disturbed && uniform(state) < 0.125 ? value + 4 * deviation : value;
}

#define CASES 30

/* Share of made-up comparisons of CASES cases, none of which differ, in which any is said to have changed. */
static double false_alarms(size_t repeats, int disturbed, u64 seed)
{
	struct difference d[CASES], *list[CASES];
	double a[8], b[8];
	size_t trial, i, j, alarms = 0, trials = 2000, any;

	for (trial = 0; trial < trials; trial++) {
		for (i = 0; i < CASES; i++) {
			for (j = 0; j < repeats; j++) {
				a[j] = sample(&seed, 1000 * (i + 1), 30, disturbed);
				b[j] = sample(&seed, 1000 * (i + 1), 30, disturbed);
			}
			difference_of_means(a, repeats, b, repeats, 0, 0, &d[i]);
			list[i] = &d[i];
		}
		difference_decide(list, CASES, 0.95);
		for (i = 0, any = 0; i < CASES; i++)
			any |= d[i].changed;
		alarms += any;
	}
	return (double)alarms / trials;
}

/* 5 % with a standard error of 0.5 % in 2000 trials: never more than 6.5 %. */
static void few_false_alarms(void **state)
{
	(void)state;
	assert_true(false_alarms(3, 0, 1) <= 0.065);
	assert_true(false_alarms(5, 0, 2) <= 0.065);
	assert_true(false_alarms(3, 1, 3) <= 0.065);
	assert_true(false_alarms(8, 1, 4) <= 0.065);
}

/* A change by ten deviations in one case of 30, five repeats: seen nearly always, and only it. */
static void changes_are_seen(void **state)
{
	struct difference d[CASES], *list[CASES];
	double a[5], b[5];
	size_t trial, i, j, seen = 0, inside = 0;
	u64 seed = 5;

	(void)state;
	for (trial = 0; trial < 500; trial++) {
		for (i = 0; i < CASES; i++) {
			for (j = 0; j < 5; j++) {
				a[j] = sample(&seed, 1000, 10, 0);
				b[j] = sample(&seed, i == 7 ? 1100 : 1000, 10, 0);
			}
			difference_of_means(a, 5, b, 5, 0, 0, &d[i]);
			list[i] = &d[i];
		}
		difference_decide(list, CASES, 0.95);
		seen += d[7].changed;
		inside += d[7].low <= 100 && 100 <= d[7].high;
	}
	assert_true(seen >= 490);
	assert_true(inside >= 475); /* at a level of 95 % or more */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_as_printed),
		cmocka_unit_test(welch_by_hand),
		cmocka_unit_test(rounding_is_noise),
		cmocka_unit_test(medians_by_sign),
		cmocka_unit_test(holm_by_hand),
		cmocka_unit_test(few_false_alarms),
		cmocka_unit_test(changes_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
