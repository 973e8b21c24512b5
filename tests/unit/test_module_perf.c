// SPDX-License-Identifier: GPL-2.0
/*
 * The module's use of perf, compiled into this process over a fake of the kernel's functions: every
 * way in which perf can refuse, and whether each event that was opened is released.
 *
 * perf_event_attr is the real one, of the headers of this system. RDPMC is answered as in
 * fake_pmc.h.
 */
#include "fake_pmc.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "passes.c"
#include "counters.c"
#include "../../host-module/perf.h"
#include "protocol.h"

/* ---- the kernel ---- */

#define TS_HOST_H /* the fake stands for it */
#define PERF_EVENT_STATE_ERROR -2 /* what a pinned event becomes when there is no room for it */
#define PERF_EVENT_STATE_ACTIVE 1
#define THIS_CPU 3

struct perf_event {
	int state, oncpu;
	struct {
		int idx, event_base_rdpmc;
	} hw;
	u8 open;
};

static struct {
	struct perf_event event[64];
	struct perf_event_attr attr[64];
	u32 opened, released;
	u32 refuse;	/* the n-th opening from now on, from 1; 0 for none */
	long error;	/* with this */
	u32 no_room;	/* the n-th opening gets no counter */
	u32 elsewhere;	/* the n-th opening is on another CPU */
	u32 alloc;	/* the n-th allocation fails */
	int irqs_off;
	u32 logged;
} kernel;

#define ERR_PTR(error) ((struct perf_event *)(long)(error))
#define PTR_ERR(pointer) ((long)(pointer))
#define IS_ERR(pointer) ((unsigned long)(pointer) >= -4095UL)
#define READ_ONCE(x) (*(volatile __typeof__(x) *)&(x))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define pr_info_once(...) (kernel.logged++, printf("# " __VA_ARGS__))
#define local_irq_disable() assert_int_equal(kernel.irqs_off++, 0)
#define local_irq_enable() assert_int_equal(--kernel.irqs_off, 0)

/* Where an instruction may fault and where to go on, in a table of its own. */
#define _ASM_EXTABLE(from, to) \
	".pushsection extable, \"aw\"\n.quad " #from ", " #to "\n.popsection\n"
extern const greg_t __start_extable[], __stop_extable[];

static int smp_processor_id(void)
{
	assert_int_equal(kernel.irqs_off, 1);
	return THIS_CPU;
}

static u8 ts_alloc_fails(void)
{
	return kernel.alloc && !--kernel.alloc;
}

/* Sleeps in the kernel. Counters are handed out as perf may do it: from the last to the first, and a fixed one. */
static struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
							   void *task, void *overflow, void *context)
{
	struct perf_event *event = &kernel.event[kernel.opened];

	assert_int_equal(kernel.irqs_off, 0);
	assert_int_equal(cpu, THIS_CPU);
	assert_null(task);
	assert_null(overflow);
	assert_null(context);
	if (kernel.refuse && !--kernel.refuse)
		return ERR_PTR(kernel.error);
	kernel.attr[kernel.opened++] = *attr;
	event->open = 1;
	event->oncpu = kernel.elsewhere && !--kernel.elsewhere ? THIS_CPU + 1 : THIS_CPU;
	event->state = kernel.no_room && !--kernel.no_room ? PERF_EVENT_STATE_ERROR : PERF_EVENT_STATE_ACTIVE;
	event->hw.idx = kernel.opened - 1;
	event->hw.event_base_rdpmc = pmc.index[(kernel.opened + 5) % TS_MAX_COUNTERS];
	return event;
}

static int perf_event_release_kernel(struct perf_event *event)
{
	assert_int_equal(kernel.irqs_off, 0);
	assert_int_equal(event->open, 1);
	event->open = 0;
	kernel.released++;
	return 0;
}

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the kernel does without it */
#include "../../host-module/perf.c"

/* ---- the tests ---- */

static struct ts_perf perf;

static int set_up(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	memset(&perf, 0, sizeof(perf));
	perf.cpu = THIS_CPU;
	perf.pmu = (struct ts_pmu){ .kind = TS_PMU_INTEL, .version = 4, .general = 8, .usable = 8,
				    .width = 48, .instructions = 1 };
	return 0;
}

static void instructions_are_counted(void)
{
	u32 i;

	handle();
	for (i = 0; i < TS_MAX_COUNTERS; i++)
		pmc.rate[i] = 6; /* of the pass of the self-check: test_counters.c */
}

static enum ts_status set(const char *line, struct ts_error *error)
{
	struct ts_events events;

	assert_int_equal(ts_events_parse(line, &events, error), TS_OK);
	return ts_perf_set(&perf, &events, error);
}

/* Nothing open, nothing counting. */
static void assert_nothing(void)
{
	assert_int_equal(kernel.opened, kernel.released);
	assert_int_equal(perf.n, 0);
	assert_int_equal(perf.counters.n, 0);
	assert_int_equal(perf.counters.counting, 0);
	assert_int_equal(perf.pmu.used, 0);
	assert_int_equal(kernel.irqs_off, 0);
}

static void sets_and_ends(void **state)
{
	static const u64 config[] = { 0xc0, 0xc0, 0xe08, 0x1001008 }; /* the self-check's, then the two */
	struct ts_error error;
	u32 i;

	(void)state;
	instructions_are_counted();
	assert_int_equal(set("0xe08,0x1001008", &error), TS_OK);
	assert_int_equal(kernel.opened, 4);
	assert_int_equal(kernel.released, 2);
	for (i = 0; i < 4; i++) {
		assert_int_equal(kernel.attr[i].type, 4); /* PERF_TYPE_RAW */
		assert_int_equal(kernel.attr[i].size, sizeof(struct perf_event_attr));
		assert_true(kernel.attr[i].config == config[i]);
		assert_true(kernel.attr[i].pinned && !kernel.attr[i].disabled);
		assert_true(kernel.attr[i].exclude_user && !kernel.attr[i].exclude_kernel);
		assert_int_equal(kernel.attr[i].sample_period, 0);
	}
	assert_int_equal(perf.pmu.used, 2);
	assert_int_equal(perf.counters.n, 2);
	assert_int_equal(perf.counters.width, 48);
	assert_int_equal(perf.counters.counting, 1);
	assert_int_equal(perf.counters.index[0], kernel.event[2].hw.event_base_rdpmc);
	assert_int_equal(perf.counters.index[1], kernel.event[3].hw.event_base_rdpmc);
	/* Others in their place, then none. */
	assert_int_equal(set("0x3c", &error), TS_OK);
	assert_int_equal(kernel.opened - kernel.released, 1);
	assert_int_equal(set("none", &error), TS_OK);
	assert_nothing();
	assert_int_equal(set("1,2,3,4,5,6,7,8", &error), TS_OK);
	ts_perf_release(&perf);
	assert_nothing();
	ts_perf_release(&perf);
	assert_nothing();
}

/* What perf does between two slices shows at the next one. */
static void refreshes(void **state)
{
	struct ts_error error;

	(void)state;
	instructions_are_counted();
	assert_int_equal(set("0xe08,0xe49", &error), TS_OK);
	kernel.irqs_off = 1;
	kernel.event[2].hw.event_base_rdpmc = 0x40000001;
	ts_perf_refresh(&perf);
	assert_int_equal(perf.counters.counting, 1);
	assert_int_equal(perf.counters.index[0], 0x40000001);
	kernel.event[3].state = PERF_EVENT_STATE_ERROR;
	ts_perf_refresh(&perf);
	assert_int_equal(perf.counters.counting, 0);
	kernel.event[3].state = PERF_EVENT_STATE_ACTIVE;
	kernel.event[3].hw.idx = -1;
	ts_perf_refresh(&perf);
	assert_int_equal(perf.counters.counting, 0);
	kernel.event[3].hw.idx = 0;
	kernel.event[2].oncpu = -1;
	ts_perf_refresh(&perf);
	assert_int_equal(perf.counters.counting, 0);
	kernel.event[2].oncpu = THIS_CPU;
	ts_perf_refresh(&perf);
	assert_int_equal(perf.counters.counting, 1);
	kernel.irqs_off = 0;
	ts_perf_release(&perf);
	kernel.irqs_off = 1;
	ts_perf_refresh(&perf); /* without events: nothing to look at, nothing counts */
	kernel.irqs_off = 0;
	assert_nothing();
}

/* The n-th of six openings (three for the self-check, three for the events) is refused. */
static void every_opening_is_refused(void **state)
{
	static const struct {
		long error;
		enum ts_status status;
		const char *word;
	} table[] = {
		{ -ENOMEM, TS_NO_MEMORY, "events" },
		{ -EINVAL, TS_BAD_COUNTER, ":errno-22" },
		{ -ENOENT, TS_BAD_COUNTER, ":errno-2" },
		{ -EOPNOTSUPP, TS_BAD_COUNTER, ":errno-95" },
		{ -EBUSY, TS_BAD_COUNTER, ":errno-16" },
	};
	struct ts_error error;
	u32 n, i;

	for (i = 0; i < TS_COUNT(table); i++) {
		for (n = 1; n <= 6; n++) {
			set_up(state);
			instructions_are_counted();
			kernel.refuse = n;
			kernel.error = table[i].error;
			assert_int_equal(set("0xe08,0xe49,0x3c", &error), table[i].status);
			assert_non_null(strstr(error.word, table[i].word));
			assert_non_null(error.hint);
			assert_nothing();
		}
	}
	assert_string_equal(error.word, "0x3c:errno-16");
}

/* A pinned event without a counter, one that is on another CPU, an allocation that fails: the n-th. */
static void every_opening_gets_nothing(void **state)
{
	struct ts_error error;
	u32 n, kind;

	for (n = 1; n <= 6; n++) {
		for (kind = 0; kind < 3; kind++) {
			set_up(state);
			instructions_are_counted();
			kernel.no_room = kind == 0 ? n : 0;
			kernel.elsewhere = kind == 1 ? n : 0;
			kernel.alloc = kind == 2 ? n : 0;
			assert_int_equal(set("0xe08,0xe49,0x3c", &error),
					 kind == 2 ? TS_NO_MEMORY : TS_BAD_COUNTER);
			assert_string_equal(error.word, "events");
			assert_nothing();
		}
	}
}

static void a_wrong_counter_is_refused(void **state)
{
	struct ts_error error;

	(void)state;
	instructions_are_counted();
	pmc.rate[(2 + 5) % TS_MAX_COUNTERS] = 0; /* of the second event */
	assert_int_equal(set("0xe08,0xe49,0x3c", &error), TS_BAD_COUNTER);
	assert_string_equal(error.word, "counter-1:0-instead-of-6000");
	assert_nothing();
	/* No event to check with: the events are set as they are. */
	perf.pmu.instructions = 0;
	kernel.opened = kernel.released = 0;
	assert_int_equal(set("0xe08,0xe49,0x3c", &error), TS_OK);
	assert_int_equal(kernel.opened, 3);
	ts_perf_release(&perf);
	assert_nothing();
}

static void rdpmc_faults(void **state)
{
	struct ts_error error;

	(void)state;
	instructions_are_counted();
	assert_int_equal(__stop_extable - __start_extable, 2);
	pmc.resume = __start_extable[1];
	assert_int_equal(set("0xe08", &error), TS_BAD_COUNTER);
	assert_string_equal(error.word, "rdpmc");
	assert_nothing();
}

static void bad_events_open_nothing(void **state)
{
	struct ts_error error;

	(void)state;
	assert_int_equal(set("100000065", &error), TS_OUT_OF_RANGE);
	assert_int_equal(set("400000", &error), TS_OUT_OF_RANGE);
	perf.pmu.usable = 2;
	assert_int_equal(set("1,2,3", &error), TS_OUT_OF_RANGE);
	assert_int_equal(kernel.opened, 0);
	assert_nothing();
}

/* Detection: what CPUID declares, if perf opens one event; none and one line in the log if not. */
static void detects(void **state)
{
	struct ts_error error;

	(void)state;
	ts_perf_detect(&perf, THIS_CPU);
	assert_int_equal(kernel.opened, 1);
	assert_true(kernel.attr[0].config == 0xc0);
	assert_int_equal(kernel.logged, 0);
	assert_nothing();
	kernel.refuse = 1;
	kernel.error = -ENOENT;
	ts_perf_detect(&perf, THIS_CPU);
	assert_int_equal(perf.pmu.kind, TS_PMU_NONE);
	assert_int_equal(perf.pmu.usable, 0);
	assert_int_equal(kernel.logged, 1);
	assert_int_equal(set("0x3c", &error), TS_NO_FEATURE);
	assert_string_equal(error.word, "pmu");
	assert_int_equal(set("none", &error), TS_OK);
	assert_nothing();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(sets_and_ends, set_up),
		cmocka_unit_test_setup(refreshes, set_up),
		cmocka_unit_test_setup(every_opening_is_refused, set_up),
		cmocka_unit_test_setup(every_opening_gets_nothing, set_up),
		cmocka_unit_test_setup(a_wrong_counter_is_refused, set_up),
		cmocka_unit_test_setup(rdpmc_faults, set_up),
		cmocka_unit_test_setup(bad_events_open_nothing, set_up),
		cmocka_unit_test_setup(detects, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
