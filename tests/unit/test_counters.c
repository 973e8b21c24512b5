// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of the measured loops: the slope between N and 2N iterations, the asm that reads the
 * counters, and the number of instructions that the self-check computes with.
 *
 * Three sources of truth:
 * - a pass written here in C, whose counters go up by numbers typed here;
 * - the real passes in this process. RDPMC faults in user mode (CR4.PCE is 0), and the handler of
 *   the signal answers in its place, with counters that go up by a rate for each iteration;
 * - the CPU itself, which executes the real pass of the self-check one instruction at a time
 *   under ptrace: how many it steps is how many there are.
 */
#include "truth.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ring 0's part of the core, which is in no user program. */
#include "passes.c"
#include "counters.c"
#include "measure.c"
#include "fake_pmc.h"

/* ---- a pass in C ---- */

#define MAX_CALLS 16

static struct {
	u64 iterations[MAX_CALLS], counters[MAX_CALLS];
	u32 calls;
	u64 value[TS_MAX_COUNTERS], rate[TS_MAX_COUNTERS], extra; /* extra: events of a pass beside its iterations */
	u64 cycles;
	u64 noise; /* on top of the bits that a counter has */
} fake;

static u64 fake_pass(const struct ts_pass *pass)
{
	u64 i, mask = (1ULL << 48) - 1;

	assert_true(fake.calls < MAX_CALLS);
	fake.iterations[fake.calls] = pass->iterations;
	fake.counters[fake.calls++] = pass->scratch->counters;
	for (i = 0; i < TS_MAX_COUNTERS; i++) {
		u64 begin = fake.value[i];

		fake.value[i] = (begin + fake.rate[i] * pass->iterations + fake.extra) & mask;
		if (i < pass->scratch->counters) {
			pass->scratch->begin[i] = begin | fake.noise;
			pass->scratch->end[i] = fake.value[i] | (fake.noise << 1);
		}
	}
	return fake.cycles;
}

static u64 count_fake(u64 n, const struct ts_counters *counters, struct ts_counts *counts)
{
	struct ts_scratch scratch = { 0 };
	struct ts_pass pass = { .scratch = &scratch, .iterations = n };
	u64 cycles;

	fake.calls = 0;
	cycles = ts_count(fake_pass, &pass, counters, counts);
	assert_int_equal(pass.iterations, n);
	assert_int_equal(scratch.counters, 0);
	return cycles;
}

static void slope(void **state)
{
	struct ts_counters counters = { .n = 3, .width = 48, .counting = 1 };
	struct ts_counts counts;

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.rate[0] = 7;
	fake.rate[2] = 50;
	fake.value[2] = 123456789;
	fake.extra = 1000;
	fake.cycles = 4321;
	ts_counts_init(&counts, &counters);
	assert_int_equal(counts.n, 3);
	assert_int_equal(count_fake(100, &counters, &counts), 4321);
	/* One iteration ahead, uncounted; then N and 2N. */
	assert_int_equal(fake.calls, 3);
	assert_int_equal(fake.iterations[0], 1);
	assert_int_equal(fake.counters[0], 0);
	assert_int_equal(fake.iterations[1], 100);
	assert_int_equal(fake.iterations[2], 200);
	assert_int_equal(fake.counters[2], 3);
	assert_int_equal(counts.count[0], 700);
	assert_int_equal(counts.count[1], 0);
	assert_int_equal(counts.count[2], 5000);
	/* A second chunk is added. */
	count_fake(11, &counters, &counts);
	assert_int_equal(counts.count[0], 777);
	assert_int_equal(counts.count[2], 5550);
	assert_int_equal(counts.lost[0] + counts.lost[1] + counts.lost[2], 0);
}

/* A pass of N that met more than the one of 2N: the difference as it is, below zero. */
static u64 falling_pass(const struct ts_pass *pass)
{
	pass->scratch->begin[0] = 1000;
	pass->scratch->end[0] = pass->iterations == 100 ? 1090 : 1020;
	return 1;
}

static void negative(void **state)
{
	struct ts_counters counters = { .n = 1, .width = 48, .counting = 1 };
	struct ts_scratch scratch = { 0 };
	struct ts_pass pass = { .scratch = &scratch, .iterations = 100 };
	struct ts_counts counts;

	(void)state;
	ts_counts_init(&counts, &counters);
	ts_count(falling_pass, &pass, &counters, &counts);
	assert_int_equal(counts.count[0], -70);
	assert_int_equal(counts.lost[0], 0);
}

/* Counter 1 wraps at its width in the pass of 2N, the others do not; what stands above the width is no count. */
static void wraps(void **state)
{
	struct ts_counters counters = { .n = 3, .width = 48, .counting = 1 };
	struct ts_counts counts;

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.noise = 1ULL << 48;
	fake.rate[0] = fake.rate[1] = fake.rate[2] = 10;
	fake.value[1] = (1ULL << 48) - 2500;
	fake.value[2] = (1ULL << 48) - 3011; /* 1, 100 and 200 iterations: the last value is 2^48 - 1 */
	ts_counts_init(&counts, &counters);
	count_fake(100, &counters, &counts);
	assert_int_equal(counts.lost[0], 0);
	assert_int_equal(counts.lost[1], 1);
	assert_int_equal(counts.lost[2], 0);
	assert_int_equal(counts.count[0], 1000);
	assert_int_equal(counts.count[2], 1000);
	/* Lost in one chunk is lost in the row. */
	count_fake(100, &counters, &counts);
	assert_int_equal(counts.lost[1], 1);
}

/* 2^(width - 4) cycles are so long that a counter may have come around to above where it was. */
static void too_long(void **state)
{
	struct ts_counters counters = { .n = 1, .width = 40, .counting = 1 };
	struct ts_counts counts;

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.cycles = (1ULL << 36) - 1;
	ts_counts_init(&counts, &counters);
	count_fake(1, &counters, &counts);
	assert_int_equal(counts.lost[0], 0);
	fake.cycles = 1ULL << 36;
	count_fake(1, &counters, &counts);
	assert_int_equal(counts.lost[0], 1);
}

static void not_counting(void **state)
{
	struct ts_counters counters = { .n = 2, .width = 64, .counting = 0 };
	struct ts_counts counts;

	(void)state;
	memset(&fake, 0, sizeof(fake));
	ts_counts_init(&counts, &counters);
	count_fake(5, &counters, &counts);
	assert_int_equal(fake.counters[1], 0); /* nothing is read that may belong to someone else */
	assert_int_equal(counts.lost[0], 1);
	assert_int_equal(counts.lost[1], 1);
}

/* ---- the real passes, RDPMC answered by a signal handler ---- */

static struct ts_counters all_counters(void)
{
	struct ts_counters counters = { .n = TS_MAX_COUNTERS, .width = 48, .counting = 1 };

	memcpy(counters.index, pmc.index, sizeof(pmc.index));
	return counters;
}

#define LINES 5

/* Measures a case of op none on a few lines of this process. */
static void measure_here(const char *text, struct ts_cpu *cpu, struct ts_result *result)
{
	static u64 line[LINES][8] __attribute__((aligned(64)));
	static u32 samples[2 * TS_MAX_SAMPLES];
	static u64 entry, *leaf = &entry, touch[LINES];
	struct ts_expansion e = { .touches = LINES, .touch = touch };
	struct ts_window window = { .e = &e, .leaf = { &leaf, &leaf } };
	struct ts_error error;
	u32 i;

	assert_int_equal(ts_case_parse(text, &e.c, &error), TS_OK);
	for (i = 0; i < LINES; i++) {
		touch[i] = (u64)(unsigned long)line[i];
		line[i][0] = (u64)(unsigned long)line[(i + 1) % LINES];
	}
	e.set[0].va = touch[0];
	ts_measure(&window, cpu, samples, result);
}

static void real_passes(void **state)
{
	static const char *const cases[] = {
		"op=none phase=op iterations=37",
		"op=none phase=access iterations=37 order=chase access=read",
		"op=none phase=access iterations=37 order=chase access=write",
		"op=none phase=both iterations=37 order=sequential access=read",
		"op=none phase=both iterations=37 order=sequential access=write",
	};
	struct ts_counters counters;
	struct ts_cpu cpu = { .counters = &counters };
	struct ts_result result;
	u64 before, all;
	u32 i, k;

	(void)state;
	handle();
	counters = all_counters();
	for (i = 0; i < TS_COUNT(cases); i++) {
		pmc.reads = 0;
		before = __builtin_ia32_rdtsc();
		measure_here(cases[i], &cpu, &result);
		all = __builtin_ia32_rdtsc() - before;
		assert_int_equal(pmc.unknown, 0);
		assert_int_equal(pmc.reads, 2 * 2 * TS_MAX_COUNTERS); /* two passes, around each */
		assert_int_equal(result.counts.n, TS_MAX_COUNTERS);
		for (k = 0; k < TS_MAX_COUNTERS; k++) {
			assert_int_equal(result.counts.lost[k], 0);
			assert_int_equal(result.counts.count[k], 37 * (100 + k));
		}
		/* Cycles are still those of the loop: not more than all of it took, nor the last count. */
		assert_true(result.has_cycles && result.cycles > 0 && result.cycles * 37 <= all);
	}
}

/* No counters, or a phase that has no loop: nothing is read. */
static void without_counters(void **state)
{
	struct ts_counters counters, none = { 0 };
	struct ts_cpu cpu = { .counters = &none };
	struct ts_result result;

	(void)state;
	handle();
	counters = all_counters();
	measure_here("op=none phase=op iterations=37", &cpu, &result);
	assert_int_equal(result.counts.n, 0);
	cpu.counters = NULL;
	measure_here("op=none phase=access iterations=37", &cpu, &result);
	assert_int_equal(result.counts.n, 0);
	assert_true(result.has_cycles && result.cycles > 0);
	cpu.counters = &counters;
	measure_here("op=none phase=retouch iterations=37", &cpu, &result);
	assert_int_equal(result.counts.n, 0);
	measure_here("op=none phase=refill iterations=37", &cpu, &result);
	assert_int_equal(result.counts.n, 0);
	assert_int_equal(pmc.reads, 0);
}

/* An owner that lets others in between chunks of 7: perf may then move counters, or take one away. */
static struct ts_counters moving;
static u32 pauses, lost_at;

static void move_counters(void *context)
{
	u32 i, last = pmc.index[TS_MAX_COUNTERS - 1];

	(void)context;
	for (i = TS_MAX_COUNTERS; --i > 0;)
		pmc.index[i] = pmc.index[i - 1];
	pmc.index[0] = last;
	memcpy(moving.index, pmc.index, sizeof(pmc.index));
	moving.counting = ++pauses != lost_at;
}

static void chunks(void **state)
{
	struct ts_cpu cpu = { .counters = &moving, .pause = move_counters, .chunk = 7 };
	struct ts_result result;
	u32 k;

	(void)state;
	handle();
	moving = all_counters();
	pauses = lost_at = 0;
	measure_here("op=none phase=access iterations=37", &cpu, &result);
	assert_int_equal(pauses, 6); /* 5 * 7 + 2 */
	for (k = 0; k < TS_MAX_COUNTERS; k++)
		assert_int_equal(result.counts.count[k], 37 * (100 + k));
	pauses = 0;
	lost_at = 3;
	measure_here("op=none phase=access iterations=37", &cpu, &result);
	for (k = 0; k < TS_MAX_COUNTERS; k++)
		assert_int_equal(result.counts.lost[k], 1);
	assert_true(result.has_cycles);
}

/* ---- the self-check ---- */

static u32 check_with(u64 rate, u64 last_rate, s64 *seen)
{
	struct ts_counters counters = all_counters();
	s64 expected;
	u32 i, wrong;

	for (i = 0; i < TS_MAX_COUNTERS; i++)
		pmc.rate[i] = i == TS_MAX_COUNTERS - 1 ? last_rate : rate;
	wrong = ts_counters_check(&counters, seen, &expected);
	assert_int_equal(expected, 6000);
	return wrong;
}

static void self_check(void **state)
{
	struct ts_counters counters;
	s64 seen, expected;

	(void)state;
	handle();
	assert_int_equal(check_with(6, 6, &seen), TS_MAX_COUNTERS);
	assert_int_equal(check_with(0, 6, &seen), 0); /* stands still */
	assert_int_equal(seen, 0);
	assert_int_equal(check_with(6, 7, &seen), TS_MAX_COUNTERS - 1); /* another event */
	assert_int_equal(seen, 7000);
	assert_int_equal(check_with(6, 5, &seen), TS_MAX_COUNTERS - 1);
	assert_int_equal(seen, 5000);
	counters = all_counters();
	counters.counting = 0;
	assert_int_equal(ts_counters_check(&counters, &seen, &expected), 0);
	assert_int_equal(seen, 0);
}

/* A pass of n iterations in a child that is stepped: how many instructions until it ends. */
static long steps(u64 n)
{
	struct ts_scratch scratch = { 0 };
	struct ts_pass pass = { .scratch = &scratch, .iterations = n };
	long count = 0;
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		raise(SIGSTOP);
		ts_pass_op(TS_OP_NONE)(&pass);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	while (WIFSTOPPED(status)) {
		assert_return_code(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		count++;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("ptrace is not allowed here\n");
		skip();
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return count;
}

static void instructions_of_an_iteration(void **state)
{
	(void)state;
	assert_int_equal(steps(200) - steps(100), 100 * TS_CHECK_INSTRUCTIONS);
	assert_int_equal(steps(1001) - steps(1), 6000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slope),
		cmocka_unit_test(negative),
		cmocka_unit_test(wraps),
		cmocka_unit_test(too_long),
		cmocka_unit_test(not_counting),
		cmocka_unit_test(real_passes),
		cmocka_unit_test(without_counters),
		cmocka_unit_test(chunks),
		cmocka_unit_test(self_check),
		cmocka_unit_test(instructions_of_an_iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
