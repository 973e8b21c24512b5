// SPDX-License-Identifier: GPL-2.0
/*
 * Sorting and the median, against qsort() of the C library and against medians found by hand.
 *
 * The lower median of n values is the one with at least half of them not above it and at least
 * half not below it; of the two that qualify for an even n it is the smaller.
 */
#include "truth.h"

#include "stats.h"

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/* Sorts a copy both ways, in a block of exactly n values. */
static void check_sort(const u32 *samples, u32 n)
{
	u32 *ours = malloc(n * sizeof(u32) + 1), *theirs = malloc(n * sizeof(u32) + 1);

	assert_non_null(ours);
	assert_non_null(theirs);
	if (n) {
		memcpy(ours, samples, n * sizeof(u32));
		memcpy(theirs, samples, n * sizeof(u32));
		qsort(theirs, n, sizeof(u32), compare);
	}
	ts_sort(ours, n);
	assert_memory_equal(ours, theirs, n * sizeof(u32));
	free(ours);
	free(theirs);
}

static void test_sort_random(void **state)
{
	static const u64 ranges[] = { 1, 2, 3, 100, 1ULL << 32 };
	u32 samples[300], n, i, range;
	u64 random = 1;

	(void)state;
	for (n = 0; n <= TS_COUNT(samples); n++) {
		for (range = 0; range < TS_COUNT(ranges); range++) {
			for (i = 0; i < n; i++)
				samples[i] = random_below(&random, ranges[range]);
			check_sort(samples, n);
		}
	}
}

static void test_sort_shapes(void **state)
{
	u32 samples[257], shape, i, n = TS_COUNT(samples);

	(void)state;
	for (shape = 0; shape < 5; shape++) {
		for (i = 0; i < n; i++) {
			u32 values[] = { i, n - i, 0xffffffff, i % 2 ? 0 : 0xffffffff,
					 0xffffffff - i };

			samples[i] = values[shape];
		}
		check_sort(samples, n);
		check_sort(samples, n - 1);
	}
}

/* Every order of up to seven values, repeated ones among them. */
static void test_sort_permutations(void **state)
{
	u32 code, rest, i, n, samples[7];

	(void)state;
	for (n = 1; n <= 7; n++) {
		u32 all = 1;

		for (i = 0; i < n; i++)
			all *= n < 5 ? n : 4;
		for (code = 0; code < all; code++) {
			for (i = 0, rest = code; i < n; i++, rest /= n < 5 ? n : 4)
				samples[i] = rest % (n < 5 ? n : 4);
			check_sort(samples, n);
		}
	}
}

static void test_sort_large(void **state)
{
	static u32 samples[65536];
	u64 random = 7;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(samples); i++)
		samples[i] = random_u64(&random) >> 32;
	check_sort(samples, TS_COUNT(samples));
}

static void test_median_by_hand(void **state)
{
	struct {
		u32 n, median, samples[7];
	} table[] = {
		{ 1, 7, { 7 } },
		{ 1, 0xffffffff, { 0xffffffff } },
		{ 2, 3, { 9, 3 } },
		{ 2, 3, { 3, 9 } },
		{ 3, 5, { 9, 1, 5 } },
		{ 4, 2, { 8, 2, 1, 4 } },
		{ 5, 50, { 50, 50, 0, 50, 51 } },
		{ 5, 4, { 4, 4, 4, 4, 4 } },
		{ 6, 0, { 1, 0, 1, 0, 1, 0 } },
		{ 7, 16, { 16, 16, 0, 16, 16, 16, 0xffffffff } },
		{ 3, 0xffffffff, { 0xffffffff, 0, 0xffffffff } },
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++)
		assert_int_equal(ts_median(table[i].samples, table[i].n), table[i].median);
}

/* By the definition: rank, not position; and what it leaves behind is sorted. */
static void test_median_definition(void **state)
{
	u32 samples[99], n, i, round, median, below, above;
	u64 random = 3;

	(void)state;
	for (round = 0; round < 2000; round++) {
		n = 1 + random_below(&random, TS_COUNT(samples));
		for (i = 0; i < n; i++)
			samples[i] = random_below(&random, 1 + random_below(&random, 50));
		median = ts_median(samples, n);
		for (i = below = above = 0; i < n; i++) {
			below += samples[i] < median;
			above += samples[i] > median;
			assert_true(!i || samples[i - 1] <= samples[i]);
		}
		/* Fewer than half lie below the lower median; at most half above it. */
		assert_true(2 * below < n);
		assert_true(2 * above <= n);
		for (i = 0; i < n && samples[i] != median; i++)
			;
		assert_true(i < n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort_random),
		cmocka_unit_test(test_sort_shapes),
		cmocka_unit_test(test_sort_permutations),
		cmocka_unit_test(test_sort_large),
		cmocka_unit_test(test_median_by_hand),
		cmocka_unit_test(test_median_definition),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
