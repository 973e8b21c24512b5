// SPDX-License-Identifier: GPL-2.0
/*
 * The list of cases of a plan, and a signal meanwhile. How many there are is counted by hand: the product of the
 * lists' lengths and the repeats.
 */
#include "truth.h"

#include "plan.h"

#include <errno.h>

static const struct plan_filter filter = { "tcg", 0, 1u << TS_REFILL, 0 };

/* What came of a plan. */
static struct planned *list;
static size_t count, skipped;
static struct problem p;

/* The cases of a plan of one section. */
static int cases_of(const char *sweep)
{
	struct section section = { .name = "a" };
	const struct plan plan = { .name = "small", .path = "small.plan", .section = &section, .sections = 1 };
	struct ts_error error;

	assert_int_equal(ts_sweep_parse(sweep, &section.sweep, &error), TS_OK);
	return plan_cases(&plan, &filter, &list, &count, &skipped, &p);
}

static void test_cases(void **state)
{
	(void)state;
	/* 2 ops (at does not apply to cr3, and far alone is left) * 3 leaves * 2 repeats */
	assert_int_equal(cases_of("op=invlpg,cr3 leaves=4,5,6 repeats=2"), 0);
	assert_int_equal(count, 12);
	assert_int_equal(skipped, 0);
	assert_int_equal(list[5].c.repeat, 1);
	assert_int_equal(list[6].c.repeat, 2);
	free(list);
	/* 511 pages in the first 2M region with 4K leaves of the set in it do not fit */
	assert_int_equal(cases_of("op=invlpg at=same-2m count=511 leaves=16"), -EINVAL);
	assert_int_equal(p.exit_code, EXIT_INPUT);
	assert_non_null(strstr(p.text, "conflict"));
}

/* A plan may stand for a million cases: a signal ends the list, not what comes behind it. */
static void test_interrupted(void **state)
{
	(void)state;
	interrupted = 1;
	assert_int_equal(cases_of("op=invlpg,cr3 leaves=4,5,6 repeats=1000"), -EINTR);
	interrupted = 0;
	assert_null(list);
	assert_int_equal(count, 0);
	assert_int_equal(p.exit_code, EXIT_INTERRUPTED);
	assert_non_null(strstr(p.text, "stopped"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
