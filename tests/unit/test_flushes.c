// SPDX-License-Identifier: GPL-2.0
/*
 * Records of tlb:tlb_flush: lines as tracefs and perf script write them, sums, times, lost events, and what is no
 * such record.
 */
#include "flushes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_text_as(const char *text, size_t size, struct flushes *flushes, struct problem *p)
{
	FILE *file = fmemopen((void *)text, size, "r");
	int result;

	memset(p, 0, sizeof(*p));
	assert_non_null(file);
	result = flushes_read_stream(file, "record", flushes, p);
	fclose(file);
	return result;
}

static void read_good(const char *text, struct flushes *flushes)
{
	struct problem p;

	if (read_text_as(text, strlen(text), flushes, &p))
		fail_msg("%s", p.text);
}

static void refused(const char *text, const char *part)
{
	struct flushes flushes;
	struct problem p;

	assert_int_equal(read_text_as(text, strlen(text), &flushes, &p), -22);
	assert_int_equal(p.exit_code, EXIT_INPUT);
	if (!strstr(p.text, part))
		fail_msg("\"%s\" does not say \"%s\"", p.text, part);
	assert_null(flushes.path);
}

static u64 count_of(const struct flushes *flushes, long pages, long reason)
{
	size_t i;

	for (i = 0; i < flushes->sums; i++)
		if (flushes->sum[i].pages == pages && flushes->sum[i].reason == reason)
			return flushes->sum[i].count;
	return 0;
}

static void tracefs(void **state)
{
	struct flushes flushes;

	(void)state;
	read_good("# tracer: nop\n"
		  "#\n"
		  "# entries-in-buffer/entries-written: 5/5   #P:2\n"
		  "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
		  "CPU:1 [LOST 17 EVENTS]\n"
		  "              sh-112     [000] d..1.     7.500000: tlb_flush: pages:-1 reason:flush on task switch (0)\n"
		  "       a (b) c-112     [001] d..1.     7.600000: tlb_flush: pages:8 reason:local mm shootdown (3)\n"
		  "          <idle>-0     [001] d..1.     7.700000: sched_switch: prev_comm=sh\n"
		  "              sh-112     [000] d..1.     9.250000: tlb_flush: pages:8 reason:local mm shootdown (3)\n"
		  "              sh-112     [000] d..1.     8.000000: tlb_flush: pages:8 reason:remote shootdown (1)\n"
		  "              sh-112     [000] d..1.     8.000001: tlb_flush: pages:99 reason:remote ipi send (4)\n",
		  &flushes);
	assert_int_equal(flushes.lines, 4);
	assert_int_equal(flushes.sums, 4);
	assert_int_equal(count_of(&flushes, -1, 0), 1);
	assert_int_equal(count_of(&flushes, 8, 3), 2);
	assert_int_equal(count_of(&flushes, 8, 1), 1);
	assert_int_equal(count_of(&flushes, 99, 4), 1);
	assert_int_equal(flushes.most, 8); /* a request is no flush */
	assert_int_equal(flushes.lost, 17);
	assert_true(fabs(flushes.seconds - 1.75) < 1e-9);
	assert_string_equal(flushes.sum[0].text, "flush on task switch");
	flushes_free(&flushes);
}

static void perf_script(void **state)
{
	struct flushes flushes;

	(void)state;
	read_good("make  1234 [001]   812.000500:       tlb:tlb_flush: pages:1 reason:local mm shootdown (3)\r\n"
		  "\tffffffff81070000 flush_tlb_func+0x1 ([kernel.kallsyms])\n"
		  "\n"
		  "my prog  1234 [001]   813.500500:       tlb:tlb_flush: pages:33 reason:local mm shootdown (3)\n",
		  &flushes);
	assert_int_equal(flushes.lines, 2);
	assert_int_equal(flushes.most, 33);
	assert_true(fabs(flushes.seconds - 1.5) < 1e-9);
	flushes_free(&flushes);
}

/* Numbers that nothing can be: no rate is made of them, and sizes beyond every ceiling are one. */
static void out_of_bounds(void **state)
{
	struct flushes flushes;
	char *endless = malloc(100000);

	(void)state;
	read_good("CPU:1 [LOST 99999999999999999999 EVENTS]\nCPU:1 [LOST -5 EVENTS]\n"
		  "sh-1 [000] d..1. 1.000000000: tlb_flush: pages:513 reason:local mm shootdown (3)\n"
		  "sh-1 [000] d..1. 1.000000001: tlb_flush: pages:9223372036854775807 reason:local mm shootdown (3)\n",
		  &flushes);
	assert_int_equal(flushes.lost, 0);
	assert_int_equal(flushes.sums, 1);
	assert_int_equal(flushes.sum[0].count, 2);
	assert_int_equal(flushes.sum[0].pages, 513);
	assert_true(isnan(flushes.seconds)); /* a nanosecond */
	flushes_free(&flushes);
	refused("sh-1 [000] 1.5: tlb_flush: pages:1 reason:caf\xc3 (3)\n", "record:1:");
	refused("sh-1 [000] 1.5: tlb_flush: pages:1 reason:y (64)\n", "record:1:");
	memset(endless, ' ', 99999);
	endless[99999] = '\0';
	refused(endless, "record:1:");
	free(endless);
}

/* Without a time in seconds there are counts, and no rate is invented. */
static void without_time(void **state)
{
	struct flushes flushes;

	(void)state;
	read_good("sh-1 [000] d..1. 1234567: tlb_flush: pages:1 reason:local mm shootdown (3)\n"
		  "sh-1 [000] d..1. 2234567: tlb_flush: pages:1 reason:local mm shootdown (3)\n", &flushes);
	assert_int_equal(flushes.lines, 2);
	assert_true(isnan(flushes.seconds));
	flushes_free(&flushes);
	read_good("sh-1 [000] d..1. 1.5: tlb_flush: pages:1 reason:local mm shootdown (3)\n", &flushes);
	assert_true(isnan(flushes.seconds)); /* one event spans nothing */
	flushes_free(&flushes);
	read_good("tlb_flush: pages:1 reason:x (3)", &flushes);
	assert_int_equal(flushes.lines, 1);
	flushes_free(&flushes);
}

static void what_is_none(void **state)
{
	static const char zero[] = "PERFILE2\0\0\n";
	struct flushes flushes;
	struct problem p;

	(void)state;
	refused("", "record: no tlb_flush event");
	refused("hello\n", "record: no tlb_flush event");
	refused("sh-1 [000] d..1. 1.5: tlb_flush: pages:9 reason:remote ipi send (4)\n", "no tlb_flush event");
	refused("# tracer: nop\nsh-1 [000] 1.5: tlb_flush: pages:", "record:2:");
	refused("sh-1 [000] 1.5: tlb_flush: pages:x reason:y (3)\n", "record:1:");
	refused("sh-1 [000] 1.5: tlb_flush: pages:-2 reason:y (3)\n", "record:1:");
	refused("sh-1 [000] 1.5: tlb_flush: pages:99999999999999999999 reason:y (3)\n", "record:1:");
	refused("sh-1 [000] 1.5: tlb_flush: pages:1 reason:local mm shoo\n", "record:1:");
	refused("sh-1 [000] 1.5: tlb_flush: pages:1 reason:y (3\n", "record:1:");
	refused("sh-1 [000] 1.5: tlb_flush: pages:1 reason:y (-3)\n", "record:1:");
	assert_int_equal(read_text_as(zero, sizeof(zero) - 1, &flushes, &p), -22);
	assert_non_null(strstr(p.text, "record:1: a zero byte"));
	assert_int_equal(flushes_read("/nonexistent", &flushes, &p), -22);
	assert_non_null(strstr(p.text, "/nonexistent"));
	assert_int_equal(flushes_read("/tmp", &flushes, &p), -22); /* a directory */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tracefs),
		cmocka_unit_test(perf_script),
		cmocka_unit_test(without_time),
		cmocka_unit_test(out_of_bounds),
		cmocka_unit_test(what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
