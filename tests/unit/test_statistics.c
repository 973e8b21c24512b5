// SPDX-License-Identifier: GPL-2.0
/* Medians, quantiles, fracture index, its interval, and the verdict. */
#include "statistics.h"
#include "verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) < 1e-9))
		fail_msg("%g is not %g", a, b);
}

static void medians(void **state)
{
	double one[] = { 7 }, odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };
	u32 lower[] = { 4, 1, 3, 2 }, same[] = { 5, 5, 5, 5, 5 };

	(void)state;
	assert_near(statistics_median(one, 1), 7);
	assert_near(statistics_median(odd, 3), 2);
	assert_near(statistics_median(even, 4), 2.5);
	assert_int_equal(statistics_median_u32(lower, 4), 2);
	assert_int_equal(statistics_median_u32(same, 5), 5);
}

static void quantiles(void **state)
{
	double ten[] = { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 };

	(void)state;
	assert_near(statistics_quantile(ten, 10, 0), 0);
	assert_near(statistics_quantile(ten, 10, 1), 9);
	assert_near(statistics_quantile(ten, 10, 0.25), 2.25);
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/*
 * The selection against a sort, over every small length, with few and with many different values.
 */
static void selection_agrees_with_sort(void **state)
{
	u32 a[64], b[64];
	u64 random = 3;
	size_t n, i;
	int round;

	(void)state;
	for (round = 0; round < 2000; round++) {
		n = 1 + statistics_random(&random) % 64;
		for (i = 0; i < n; i++)
			a[i] = b[i] = statistics_random(&random) % (round % 2 ? 4 : 1000000);
		qsort(b, n, sizeof(*b), compare);
		assert_int_equal(statistics_median_u32(a, n), b[(n - 1) / 2]);
	}
}

static void index_of_fracture(void **state)
{
	(void)state;
	assert_near(fracture_index(10, 10, 50), 0);
	assert_near(fracture_index(50, 10, 50), 1);
	assert_near(fracture_index(20, 10, 50), 0.25);
	assert_near(fracture_index(0, 10, 50), -0.25);
	assert_true(isnan(fracture_index(20, 10, 10)));
}

#define N 400
static u32 none[N], selective[N], full[N];

/*
 * Noise of +-spread around three levels, and one round in fifty that a tick made ten times as long.
 */
static void fill(double x_none, double x_selective, double x_full, u32 spread, u64 seed)
{
	size_t i;

	for (i = 0; i < N; i++) {
		u32 slow = i % 50 == 49 ? 10 : 1;

		none[i] = slow * (x_none + statistics_random(&seed) % (2 * spread + 1) - spread);
		selective[i] = slow * (x_selective +
				       statistics_random(&seed) % (2 * spread + 1) - spread);
		full[i] = slow * (x_full + statistics_random(&seed) % (2 * spread + 1) - spread);
	}
}

static void interval_holds_the_truth(void **state)
{
	const struct rounds rounds = { selective, none, full, N };
	struct interval f, contrast;
	int seed, inside = 0;

	(void)state;
	for (seed = 0; seed < 100; seed++) {
		fill(3000, 3000 + 0.3 * 9000, 12000, 2000, seed);
		fracture_interval(&rounds, 1, &f, &contrast);
		assert_true(f.low <= f.value && f.value <= f.high);
		assert_true(contrast.low <= contrast.value && contrast.value <= contrast.high);
		assert_true(f.high - f.low < 0.15);
		inside += f.low <= 0.3 && 0.3 <= f.high;
	}
	/* 95 % are expected; fewer than 85 of 100 would have a probability below 10^-4. */
	assert_in_range(inside, 85, 100);
}

static void interval_is_repeatable(void **state)
{
	const struct rounds rounds = { selective, none, full, N };
	struct interval f, g, contrast;

	(void)state;
	fill(3000, 5000, 12000, 1000, 5);
	fracture_interval(&rounds, 7, &f, &contrast);
	fracture_interval(&rounds, 7, &g, &contrast);
	assert_memory_equal(&f, &g, sizeof(f));
	fracture_interval(&rounds, 8, &g, &contrast);
	assert_near(f.value, g.value);
	assert_true(f.low != g.low || f.high != g.high);
}

static void negative_controls(void **state)
{
	struct rounds rounds = { none, none, full, N };
	struct interval f, contrast;

	(void)state;
	fill(3000, 0 + 3000, 12000, 1000, 9);
	fracture_interval(&rounds, 1, &f, &contrast);
	assert_near(f.value, 0);
	assert_near(f.high, 0);
	rounds.selective = full;
	fracture_interval(&rounds, 1, &f, &contrast);
	assert_near(f.value, 1);
	assert_near(f.low, 1);
}

static void no_contrast(void **state)
{
	struct rounds rounds = { selective, none, none, N };
	struct interval f, contrast;

	(void)state;
	fill(3000, 4000, 12000, 1000, 9);
	fracture_interval(&rounds, 1, &f, &contrast);
	assert_true(isnan(f.value) && isnan(f.low) && isnan(f.high));
	assert_near(contrast.value, 0);
	rounds.n = 1;
	rounds.full = full;
	fracture_interval(&rounds, 1, &f, &contrast);
	assert_near(f.low, f.high);
}

static struct interval exact(double f)
{
	return (struct interval){ f, f, f };
}

static void levels(void **state)
{
	const struct interval wide_low = { 0.2, 0.1, 0.3 }, wide_high = { 0.55, 0.45, 0.65 };
	struct interval f;

	(void)state;
	f = exact(0);
	assert_int_equal(verdict_level(&f), 0);
	f = exact(0.25);
	assert_int_equal(verdict_level(&f), 0);
	f = exact(0.26);
	assert_int_equal(verdict_level(&f), -1);
	f = exact(0.5);
	assert_int_equal(verdict_level(&f), 1);
	f = exact(1.5);
	assert_int_equal(verdict_level(&f), 1);
	f = exact(1.51);
	assert_int_equal(verdict_level(&f), -1);
	f = exact(-0.3);
	assert_int_equal(verdict_level(&f), -1);
	f = exact(NAN);
	assert_int_equal(verdict_level(&f), -1);
	assert_int_equal(verdict_level(NULL), -1);
	assert_int_equal(verdict_level(&wide_low), -1);
	assert_int_equal(verdict_level(&wide_high), -1);
}

static void verdicts(void **state)
{
	const struct interval zero = exact(0), one = exact(1), between = exact(0.4);
	int i, j;

	(void)state;
	assert_int_equal(verdict_of(&zero, &zero), VERDICT_INTACT);
	assert_int_equal(verdict_of(&zero, &one), VERDICT_LARGE_ONLY);
	assert_int_equal(verdict_of(&one, &one), VERDICT_WHOLE);
	assert_int_equal(verdict_of(&one, &zero), VERDICT_ODD);
	assert_int_equal(verdict_of(&between, &one), VERDICT_UNDECIDED);
	assert_int_equal(verdict_of(&zero, &between), VERDICT_UNDECIDED);
	assert_int_equal(verdict_of(NULL, &one), VERDICT_UNDECIDED);
	assert_int_equal(verdict_of(&zero, NULL), VERDICT_UNDECIDED);
	for (i = 0; i < VERDICTS; i++)
		for (j = 0; j < i; j++) {
			assert_string_not_equal(verdict_name(i), verdict_name(j));
			assert_string_not_equal(verdict_sentence(i), verdict_sentence(j));
		}
}

/* Cycles a line on an AMD Zen 5 machine: 96 first-level entries, 4096 second-level ones (CPUID). */
static void cliffs_of_a_curve(void **state)
{
	static const double curve[][2] = {
		{ 8, 2.6 }, { 16, 1.3 }, { 32, 0 }, { 48, 0 }, { 64, 0 }, { 72, 0.3 }, { 96, 3.7 },
		{ 128, 4.1 }, { 192, 4.1 }, { 256, 4.1 }, { 512, 4.3 }, { 1024, 4.1 },
		{ 2048, 4.3 }, { 3072, 5.7 }, { 4096, 9.1 }, { 6144, 145.7 }, { 8192, 138.9 },
	};
	struct reach_point point[TS_COUNT(curve)];
	struct cliff cliff[4];
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(curve); i++)
		point[i] = (struct reach_point){ curve[i][0], curve[i][1], 0.3 };
	assert_int_equal(statistics_cliffs(point, TS_COUNT(curve), cliff, 4), 2);
	assert_near(cliff[0].from, 72);
	assert_near(cliff[0].to, 96);
	assert_int_equal(cliff[0].certainty, CLIFF_CLEAR);
	assert_near(cliff[1].from, 4096);
	assert_near(cliff[1].to, 6144);
	assert_near(cliff[1].rise, 145.7 - 4.3);
	assert_int_equal(statistics_cliffs(point, TS_COUNT(curve), cliff, 0), 2);
}

static void cliffs_need_more_than_noise(void **state)
{
	struct reach_point point[] = { { 8, 0, 1 }, { 16, 3, 1 }, { 32, 3, 1 } };
	struct cliff cliff;

	(void)state;
	assert_int_equal(statistics_cliffs(point, 3, &cliff, 1), 1);
	assert_int_equal(cliff.certainty, CLIFF_DOUBTFUL);
	point[1].cycles = point[2].cycles = 5;
	assert_int_equal(statistics_cliffs(point, 3, &cliff, 1), 1);
	assert_int_equal(cliff.certainty, CLIFF_LIKELY);
	point[0].spread = point[1].spread = point[2].spread = NAN;
	assert_int_equal(statistics_cliffs(point, 3, &cliff, 1), 1);
	assert_int_equal(cliff.certainty, CLIFF_DOUBTFUL);
	point[1].cycles = point[2].cycles = 0.9;
	assert_int_equal(statistics_cliffs(point, 3, &cliff, 1), 0);
	assert_int_equal(statistics_cliffs(point, 1, &cliff, 1), 0);
	assert_int_equal(statistics_cliffs(point, 0, &cliff, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(selection_agrees_with_sort),
		cmocka_unit_test(index_of_fracture),
		cmocka_unit_test(interval_holds_the_truth),
		cmocka_unit_test(interval_is_repeatable),
		cmocka_unit_test(negative_controls),
		cmocka_unit_test(no_contrast),
		cmocka_unit_test(levels),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(cliffs_of_a_curve),
		cmocka_unit_test(cliffs_need_more_than_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
