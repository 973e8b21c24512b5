// SPDX-License-Identifier: GPL-2.0
/*
 * What a journal says of a change, whenever its writer was killed. The whole way, with a real pool
 * and real kills, is the lab's (pool.job).
 */
#include "truth.h"

#include "host_state.h"

#define POOL "/proc/sys/vm/nr_hugepages"

/* Each step of taking 40 pages and 30 more of which the kernel gave 21: journal, number in the file, change. */
static const struct {
	const char *journal;
	long now, change;
} steps[] = {
	{ "", 7, 0 },
	{ "? " POOL " 7 4", 7, 0 }, /* killed in mid-line: nothing was written yet */
	{ "? " POOL " 7 47\n", 7, 0 },
	{ "? " POOL " 7 47\n", 30, 23 }, /* killed while the kernel was allocating */
	{ "? " POOL " 7 47\n", 47, 40 },
	{ "? " POOL " 7 47\n+ " POOL " 4", 47, 40 },
	{ "? " POOL " 7 47\n+ " POOL " 40\n", 47, 40 },
	{ "? " POOL " 7 47\n+ " POOL " 40\n? " POOL " 47 77\n", 47, 40 },
	{ "? " POOL " 7 47\n+ " POOL " 40\n? " POOL " 47 77\n", 68, 61 },
	{ "? " POOL " 7 47\n+ " POOL " 40\n? " POOL " 47 77\n+ " POOL " 21\n", 68, 61 },
};

static void every_step(void **state)
{
	(void)state;
	for (size_t i = 0; i < TS_COUNT(steps); i++)
		assert_int_equal(host_state_change(steps[i].journal, POOL, steps[i].now),
				 steps[i].change);
}

/* Others' changes stay: a completed change counts as noted, an open one never beyond what it was going to do. */
static void others_change_it_too(void **state)
{
	(void)state;
	assert_int_equal(host_state_change("? " POOL " 7 47\n+ " POOL " 40\n", POOL, 100), 40);
	assert_int_equal(host_state_change("? " POOL " 7 47\n", POOL, 100), 40);
	assert_int_equal(host_state_change("? " POOL " 7 47\n", POOL, 3), 0);
}

/* A number that is lowered, as the NMI watchdog's switch. */
static void down(void **state)
{
	(void)state;
	assert_int_equal(host_state_change("? /w 1 0\n", "/w", 1), 0);
	assert_int_equal(host_state_change("? /w 1 0\n", "/w", 0), -1);
	assert_int_equal(host_state_change("? /w 1 0\n+ /w -1\n", "/w", 0), -1);
}

static void other_paths(void **state)
{
	(void)state;
	assert_int_equal(host_state_change("? /a 0 5\n+ /a 5\n? /ab 1 9\n+ /ab 8\n", "/a", 5), 5);
	assert_int_equal(host_state_change("? /a 0 5\n+ /a 5\n? /ab 1 9\n+ /ab 8\n", "/ab", 9), 8);
	assert_int_equal(host_state_change("? /a 0 5\n+ /a 5\n", "/b", 5), 0);
}

static void garbage(void **state)
{
	(void)state;
	assert_int_equal(host_state_change("\n?\n+\n? /a\n? /a x y\n+ /a\n/a 5\n", "/a", 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step),	 cmocka_unit_test(others_change_it_too),
		cmocka_unit_test(down),		 cmocka_unit_test(other_paths),
		cmocka_unit_test(garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
