// SPDX-License-Identifier: GPL-2.0
/*
 * Counting: groups over a kernel of the test's own, which fails in every way that a real one has,
 * then the real one with software events; slopes, the self-check, and a target's own counters
 * behind a line.
 */
#include "counter_check.h"
#include "counting_link.h"
#include "counting_perf.h"
#include "util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define START 1000 /* what a case counts besides its iterations */

/* ---- a kernel of our own ---- */

static struct {
	struct perf_event_attr attr[2 * MAX_EVENTS];
	int opened, open, started;
	int fail_at, error; /* the open() that fails, from 0; -1: none */
	int room;	    /* events that a group may have; 0: any number */
	u64 lacks;	    /* config of an event that there is not; 0: none */
	int interrupts;	    /* so many calls are interrupted first */
	int eof, backwards; /* read() gives 0 bytes; the last counter goes back */
	int read_error;
	u64 enabled, running; /* nanoseconds from one reading to the next */
	u64 now_enabled, now_running;
	u64 value[MAX_EVENTS];
} kernel;

static void new_kernel(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.fail_at = -1;
	kernel.enabled = kernel.running = 1000;
}

static int fake_open(struct perf_event_attr *attr, pid_t thread, int group)
{
	assert_true(thread == 4711 || !thread); /* 0: the trial on our own */
	assert_int_equal(group, kernel.open ? 100 : -1);
	if (kernel.interrupts && kernel.interrupts--)
		return -EINTR;
	if (kernel.opened == kernel.fail_at)
		return -kernel.error;
	if (kernel.lacks && attr->config == kernel.lacks)
		return -ENOENT;
	if (kernel.room && kernel.open == kernel.room)
		return -EINVAL;
	assert_true(kernel.opened < 2 * MAX_EVENTS);
	kernel.attr[kernel.opened++] = *attr;
	return 100 + kernel.open++;
}

static int fake_control(int fd, unsigned long request, unsigned long argument)
{
	if (request == PERF_EVENT_IOC_ID) {
		*(u64 *)argument = 9000 - fd; /* not in the order of the events */
		return 0;
	}
	assert_int_equal(fd, 100);
	assert_int_equal(argument, PERF_IOC_FLAG_GROUP);
	assert_int_equal(request, PERF_EVENT_IOC_ENABLE);
	if (kernel.interrupts && kernel.interrupts--)
		return -EINTR;
	kernel.started = 1;
	return 0;
}

/*
 * The layout of perf_event_open(2): nr, time_enabled, time_running, { value, id } each; last event
 * first.
 */
static ssize_t fake_read(int fd, void *buffer, size_t size)
{
	u64 *word = buffer;
	int i;

	assert_int_equal(fd, 100);
	assert_true(size >= 24 + 16u * kernel.open);
	if (kernel.interrupts && kernel.interrupts--)
		return -EINTR;
	if (kernel.read_error)
		return -kernel.read_error;
	if (kernel.eof)
		return 0;
	word[0] = kernel.open;
	word[1] = kernel.now_enabled += kernel.enabled;
	word[2] = kernel.now_running += kernel.running;
	for (i = 0; i < kernel.open; i++) {
		word[3 + 2 * i] = kernel.value[kernel.open - 1 - i];
		word[4 + 2 * i] = 9000 - (100 + kernel.open - 1 - i);
	}
	if (kernel.backwards) /* it wraps before the next reading */
		kernel.value[kernel.open - 1] = (u64)-1;
	return 24 + 16 * kernel.open;
}

static void fake_close(int fd)
{
	(void)fd;
	kernel.open--;
}

static const struct perf_ops fake = { fake_open, fake_read, fake_control, fake_close };

static const struct event three[] = {
	{ .name = "WALKS", .type = PERF_TYPE_RAW, .config = 0x0e08, .is_core = 1, .is_walk = 1 },
	{ .name = "HITS", .type = PERF_TYPE_RAW, .config = 0x2008, .is_core = 1 },
	{ .name = "context-switches",
	  .type = PERF_TYPE_SOFTWARE,
	  .config = PERF_COUNT_SW_CONTEXT_SWITCHES },
};

/* ---- groups ---- */

static void the_leader_is_pinned(void **state)
{
	static const struct {
		enum perf_side side;
		int host, guest, kernel,
			in_kernel; /* excluded; in_kernel: for events that happen there */
	} sides[] = { { PERF_USER, 0, 1, 1, 0 },
		      { PERF_GUEST, 1, 0, 0, 0 },
		      { PERF_ALL, 0, 0, 0, 0 } };
	struct perf_group group;
	struct problem p;
	size_t i, j;

	(void)state;
	for (i = 0; i < TS_COUNT(sides); i++) {
		new_kernel();
		assert_int_equal(perf_group_open(&group, &fake, three, 3, 4711, sides[i].side, &p),
				 0);
		for (j = 0; j < 3; j++) {
			const struct perf_event_attr *attr = &kernel.attr[j];

			assert_int_equal(attr->size, sizeof(*attr));
			assert_int_equal(attr->config, three[j].config);
			assert_int_equal(attr->pinned, j == 0);
			assert_int_equal(attr->disabled, j == 0);
			/*
			 * values 1, 2, 4, 8 in include/uapi/linux/perf_event.h: both times, id,
			 * group
			 */
			assert_int_equal(attr->read_format, 15);
			assert_int_equal(attr->exclude_host, sides[i].host);
			assert_int_equal(attr->exclude_guest, sides[i].guest);
			assert_int_equal(attr->exclude_kernel,
					 j == 2 ? sides[i].in_kernel : sides[i].kernel);
		}
		perf_group_close(&group);
		assert_int_equal(kernel.open, 0);
	}
}

static void refusals_tell_what_to_do(void **state)
{
	static const struct {
		int at, error;
		const char *says;
	} refusals[] = {
		{ 0, EACCES, "perf_event_paranoid" },
		{ 0, EPERM, "seccomp" },
		{ 0, ENOENT, "pmu=on" },
		{ 1, EMFILE, "ulimit -n" },
		{ 2, EBUSY, "profilers" },
		{ 1, EINVAL, "fewer" },
		{ 0, EINVAL, "Invalid argument" },
		{ 0, ESRCH, "ended" },
		{ 0, ENOSYS, "kernel" },
		{ 0, EOPNOTSUPP, "cannot count" },
	};
	struct perf_group group;
	struct problem p;
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(refusals); i++) {
		new_kernel();
		kernel.fail_at = refusals[i].at;
		kernel.error = refusals[i].error;
		assert_int_equal(perf_group_open(&group, &fake, three, 3, 4711, PERF_GUEST, &p),
				 -EINVAL);
		assert_non_null(strstr(p.text, three[refusals[i].at].name));
		if (!strstr(p.text, refusals[i].says))
			fail_msg("\"%s\" does not say \"%s\"", p.text, refusals[i].says);
		assert_int_equal(kernel.open, 0);
	}
	assert_int_equal(perf_group_open(&group, &fake, three, 0, 4711, PERF_GUEST, &p), -EINVAL);
}

static void interrupted_calls_are_repeated(void **state)
{
	struct perf_group group;
	struct perf_counts counts;
	struct problem p;

	(void)state;
	new_kernel();
	kernel.interrupts = 2;
	assert_int_equal(perf_group_open(&group, &fake, three, 3, 4711, PERF_GUEST, &p), 0);
	kernel.interrupts = 2;
	assert_int_equal(perf_group_start(&group), 0);
	kernel.interrupts = 2;
	assert_int_equal(perf_group_read(&group, &counts), 0);
	perf_group_close(&group);
	assert_int_equal(perf_group_read(&group, &counts), -ENODATA);
	assert_int_equal(perf_group_start(&group), -ENODATA);
}

static void counts_belong_to_their_events(void **state)
{
	struct perf_group group;
	struct perf_counts before, after;
	struct problem p;
	u64 difference[3];

	(void)state;
	new_kernel();
	assert_int_equal(perf_group_open(&group, &fake, three, 3, 4711, PERF_GUEST, &p), 0);
	kernel.value[0] = 5;
	kernel.value[1] = 1ULL << 40;
	assert_int_equal(perf_group_read(&group, &before), 0);
	kernel.value[0] = 55;
	kernel.value[1] += 7;
	assert_int_equal(perf_group_read(&group, &after), 0);
	assert_int_equal(perf_counts_between(&before, &after, 3, difference), 0);
	assert_int_equal(difference[0], 50);
	assert_int_equal(difference[1], 7);
	assert_int_equal(difference[2], 0);
	perf_group_close(&group);
}

/* ---- rows ---- */

static const int per_iteration[] = { 51, 3, 0 };

/* Stands for the guest: every event by its number, for each iteration and once. */
static int guest(void *context, const struct ts_case *c, struct row *row, struct problem *p)
{
	int *calls = context;
	size_t i;

	(void)p;
	row->c = *c;
	++*calls;
	for (i = 0; i < 3; i++)
		kernel.value[i] += START + per_iteration[i] * c->iterations;
	return 0;
}

static void open_counting(struct counting *counting)
{
	struct problem p;

	memset(counting, 0, sizeof(*counting));
	counting->source = COUNT_HOST;
	counting->events = 3;
	memcpy(counting->event, three, sizeof(three));
	assert_int_equal(perf_group_open(&counting->group, &fake, three, 3, 4711, PERF_GUEST, &p),
			 0);
	assert_int_equal(perf_group_start(&counting->group), 0);
	counting_begin_row(counting);
}

static void new_row(struct row *row)
{
	memset(row, 0, sizeof(*row));
	strcpy(row->valid, "ok");
	ts_case_init(&row->c);
	row->c.phase = TS_ACCESS;
	row->c.iterations = 200;
}

static void slopes_are_free_of_the_start(void **state)
{
	struct counting counting;
	struct problem p;
	const char **texts;
	struct row row;
	int calls = 0;

	(void)state;
	new_kernel();
	open_counting(&counting);
	new_row(&row);
	assert_int_equal(counting_slope(&counting, guest, &calls, &row, &p), 0);
	assert_int_equal(calls, 2);
	assert_string_equal(row.valid, "ok");
	assert_true(counting.value[0] == 51 && counting.value[1] == 3 && counting.value[2] == 0);
	texts = counting_texts(&counting, NULL, NULL);
	assert_string_equal(texts[0], "51.0000");
	assert_string_equal(texts[2], "0.0000"); /* counted: none */
	free(texts);
	/* not a loop: nothing is counted, and nothing run */
	counting_begin_row(&counting);
	row.c.phase = TS_REFILL;
	assert_int_equal(counting_slope(&counting, guest, &calls, &row, &p), 0);
	assert_int_equal(calls, 2);
	assert_true(isnan(counting.value[0]));
	counting_free(&counting);
}

static void what_was_not_counted_is_empty(void **state)
{
	static const struct {
		const char *reason;
		int eof, read_error, backwards;
		u64 running; /* of 1000 ns */
	} failures[] = {
		{ "no-counter", 1, 0, 0, 1000 },   { "no-counter", 0, 0, 0, 0 },
		{ "multiplexed", 0, 0, 0, 400 },   { "counter-overflow", 0, 0, 1, 1000 },
		{ "no-counter", 0, EIO, 0, 1000 },
	};
	struct perf_counts ignored;
	struct counting counting;
	struct problem p;
	const char **texts;
	struct row row;
	size_t i;
	int calls = 0;

	(void)state;
	for (i = 0; i < TS_COUNT(failures); i++) {
		new_kernel();
		open_counting(&counting);
		kernel.eof = failures[i].eof;
		if (kernel.eof)
			assert_int_equal(perf_group_read(&counting.group, &ignored), -ENODATA);
		kernel.read_error = failures[i].read_error;
		kernel.backwards = failures[i].backwards;
		kernel.running = failures[i].running;
		new_row(&row);
		assert_int_equal(counting_slope(&counting, guest, &calls, &row, &p), 0);
		assert_string_equal(row.valid, failures[i].reason);
		texts = counting_texts(&counting, NULL, NULL);
		assert_string_equal(texts[0], "");
		assert_string_equal(texts[1], "");
		assert_string_equal(texts[2], "");
		free(texts);
		counting_free(&counting);
	}
}

static void columns_follow_the_targets(void **state)
{
	static const char *const extra[] = { "backing", 0 }, *const texts_of_it[] = { "2m" };
	struct counting counting;
	const char **list;

	(void)state;
	new_kernel();
	open_counting(&counting);
	list = counting_columns(&counting, extra);
	assert_string_equal(list[0], "backing");
	assert_string_equal(list[1], "WALKS");
	assert_string_equal(list[3], "context-switches");
	assert_null(list[4]);
	free(list);
	counting.value[1] = 1.0 / 3;
	counting.refused[0] = 1;
	list = counting_texts(&counting, extra, texts_of_it);
	assert_string_equal(list[0], "2m");
	assert_string_equal(list[2], "0.3333");
	free(list);
	counting_free(&counting);
}

/* The trial on this thread tells before the run whether the group fits. */
static void a_group_that_does_not_fit_is_told(void **state)
{
	struct counting counting = { .source = COUNT_HOST, .events = 3 };

	(void)state;
	memcpy(counting.event, three, sizeof(three));
	new_kernel();
	kernel.eof = 1;
	counting_open(&counting, &fake, 4711, PERF_GUEST);
	assert_non_null(strstr(counting.why_not, "never runs"));
	assert_int_equal(kernel.open, 0);
	counting_free(&counting);

	counting = (struct counting){ .source = COUNT_HOST, .events = 3 };
	memcpy(counting.event, three, sizeof(three));
	new_kernel();
	kernel.room = 1;
	counting_open(&counting, &fake, 4711, PERF_GUEST);
	assert_non_null(strstr(counting.why_not, "HITS: not together"));
	assert_int_equal(kernel.open, 0);
	counting_free(&counting);

	counting = (struct counting){ .source = COUNT_HOST, .events = 3 };
	memcpy(counting.event, three, sizeof(three));
	new_kernel();
	counting_open(&counting, &fake, 4711, PERF_GUEST);
	assert_null(counting.why_not);
	assert_int_equal(kernel.open, 3);
	assert_true(kernel.started);
	counting_free(&counting);
	assert_int_equal(kernel.open, 0);
}

/* The events that there are count, each its own; the one that there is not stays empty and says why. */
static void a_missing_event_costs_no_other(void **state)
{
	size_t missing, i;

	(void)state;
	for (missing = 0; missing < 3; missing++) {
		struct counting counting = { .source = COUNT_PROCESS, .events = 3 };
		struct perf_counts before;
		double counts[MAX_EVENTS];

		memcpy(counting.event, three, sizeof(three));
		new_kernel();
		kernel.lacks = three[missing].config;
		counting_open(&counting, &fake, 4711, PERF_USER);
		assert_null(counting.why_not);
		assert_int_equal(kernel.open, 2);
		assert_int_equal(counting_start(&counting, &before), 0);
		kernel.value[0] += 70; /* in the order in which they were opened */
		kernel.value[1] += 9;
		assert_int_equal(counting_stop(&counting, &before, counts), 0);
		counting_set(&counting, counts, 10);
		for (i = 0; i < 3; i++) {
			if (i == missing) {
				assert_true(isnan(counting.value[i]));
				assert_non_null(strstr(counting.event[i].missing, "no such counter"));
				continue;
			}
			assert_true(counting.value[i] == (i == (missing ? 0 : 1) ? 7.0 : 0.9));
			assert_string_equal(counting.event[i].missing, "");
		}
		counting_free(&counting);
		assert_int_equal(kernel.open, 0);
	}
}

/* ---- self-check ---- */

static struct {
	double ratio, beyond, one_page;
	int error;
} pmu;

static int fake_load(void *context, enum check_load load, double *counts)
{
	(void)context;
	if (pmu.error)
		return -pmu.error;
	if (load == CHECK_FRESH)
		return -ENOTSUP;
	counts[0] = load == CHECK_INSTRUCTIONS ? pmu.ratio
		    : load == CHECK_BEYOND     ? pmu.beyond
					       : pmu.one_page;
	counts[1] = 1;
	return 0;
}

static void counters_that_lie_are_refused(void **state)
{
	static const struct {
		double ratio, beyond, one_page;
		int error, believed, all_refused;
	} machines[] = {
		{ 1.0002, 0.97, 0.001, 0, 1, 0 }, /* a good one */
		{ 1, 2.06, 0, 0, 1, 0 },	  /* nested paging, as in 2016 */
		{ 1, 0, 0, 0, 0, 0 },		  /* opens, and never counts */
		{ 1, 0.97, 0.97, 0, 0, 0 },	  /* counts touches, not walks */
		{ 1, 7.5, 0, 0, 0, 0 },
		{ 0.02, 0.97, 0, 0, 0, 1 }, /* instructions of a fraction of the time */
		{ 0, 0, 0, 0, 0, 1 },
		{ 1, 1, 0, ENODATA, 0, 1 },
	};
	struct counting counting;
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(machines); i++) {
		new_kernel();
		open_counting(&counting);
		pmu.ratio = machines[i].ratio;
		pmu.beyond = machines[i].beyond;
		pmu.one_page = machines[i].one_page;
		pmu.error = machines[i].error;
		assert_int_equal(counter_check(&counting, fake_load, NULL), 0);
		assert_int_equal(!!counting.why_not, machines[i].all_refused);
		counting_set(&counting, (double[]){ 100, 100, 100 }, 1);
		if (!machines[i].all_refused) {
			assert_int_equal(counting.refused[0], !machines[i].believed);
			assert_int_equal(isnan(counting.value[0]), !machines[i].believed);
			assert_non_null(strstr(counting.check[0], "in one page"));
			assert_null(counting.check[1]); /* no load is known for it */
			assert_true(counting.value[1] == 100);
		}
		counting_free(&counting);
	}
	open_counting(&counting);
	pmu.error = EPIPE;
	assert_int_equal(counter_check(&counting, fake_load, NULL), -EPIPE);
	counting_free(&counting);
}

/* Counted by hand in passes.c: TOUCH_chase_read has 2 + 3n, FENCE 2 twice, the loop 2. */
static void the_loops_length_is_known(void **state)
{
	struct ts_case c;

	(void)state;
	assert_int_equal(check_case(CHECK_INSTRUCTIONS, &c), 0);
	assert_int_equal(c.touches, 16);
	assert_true(check_case_instructions(&c) == 2 + 3 * 16 + 2 + 2 + 2);
	assert_int_equal(check_case(CHECK_FRESH, &c), -ENOTSUP);
	assert_int_equal(check_case(CHECK_BEYOND, &c), 0);
	assert_int_equal(c.leaves, 8192);
}

/* ---- the real kernel, software events ---- */

#define FRESH 64

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* A sanitizer's own memory would be fresh, too. */
static __attribute__((no_sanitize_address)) void touch_fresh(char *fresh)
{
	int i;

	for (i = 0; i < FRESH; i++)
		*(volatile char *)(fresh + i * 4096) = 1;
}

static void software_events_of_this_process(void **state)
{
	static const char *const names[] = { "page-faults", "context-switches", "task-clock" };
	struct perf_counts before, after;
	const struct timespec nap = { 0, 1000000 };
	struct event events[3];
	struct perf_group group;
	struct problem p;
	u64 counted[3];
	double spent;
	char *fresh;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(event_find(NULL, names[i], &events[i], &p), 0);
	if (perf_group_open(&group, &perf_system, events, 3, 0, PERF_USER, &p)) {
		print_message("%s\n", p.text);
		skip();
	}
	fresh = mmap(NULL, FRESH * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	assert_ptr_not_equal(fresh, MAP_FAILED);
	madvise(fresh, FRESH * 4096, MADV_NOHUGEPAGE);
	assert_int_equal(perf_group_start(&group), 0);
	assert_int_equal(perf_group_read(&group, &before), 0);
	spent = cpu_seconds();
	touch_fresh(fresh);
	for (i = 0; i < 10; i++)
		nanosleep(&nap, NULL);
	while (cpu_seconds() - spent < 0.02)
		;
	spent = cpu_seconds() - spent;
	assert_int_equal(perf_group_read(&group, &after), 0);
	assert_int_equal(perf_counts_between(&before, &after, 3, counted), 0);
	assert_in_range(counted[0], FRESH,
			FRESH + 4); /* a page of the stack or of code may be fresh, too */
	assert_true(counted[1] >= 10);
	assert_true(fabs(counted[2] / 1e9 - spent) < 0.2 * spent);
	perf_group_close(&group);
	munmap(fresh, FRESH * 4096);
}

static void the_self_check_counts_fresh_pages(void **state)
{
	const struct count_request request = { .event = { "page-faults", "task-clock" },
					       .events = 2 };
	struct counting counting;
	struct problem p;

	(void)state;
	assert_int_equal(counting_choose(&counting, &request, "user", 1u << COUNT_PROCESS, 1, &p),
			 0);
	assert_int_equal(counting.source, COUNT_PROCESS);
	counting_open(&counting, &perf_system, 0, PERF_USER);
	if (counting.why_not) {
		print_message("%s\n", counting.why_not);
		counting_free(&counting);
		skip();
	}
	assert_int_equal(counter_check(&counting, check_process, &counting), 0);
	assert_null(counting.why_not);
	assert_non_null(strstr(counting.check[0], "a fresh page"));
	assert_false(counting.refused[0]);
	assert_null(counting.check[1]);
	counting_free(&counting);
}

/* ---- hybrid cores ---- */

/* /sys/devices/cpu_core/cpus of a 12-thread part whose P cores are CPU 0 to 3 and 8. */
static void performance_cores_are_kept(void **state)
{
	cpu_set_t set;
	int i;

	(void)state;
	CPU_ZERO(&set);
	for (i = 1; i < 12; i++)
		CPU_SET(i, &set);
	keep_performance_cores(&set, "0-3,8");
	assert_int_equal(CPU_COUNT(&set), 4);
	assert_true(CPU_ISSET(1, &set) && CPU_ISSET(3, &set) && CPU_ISSET(8, &set));
	/* only others allowed: better those than none */
	CPU_ZERO(&set);
	CPU_SET(5, &set);
	keep_performance_cores(&set, "0-3,8");
	assert_int_equal(CPU_COUNT(&set), 1);
	keep_performance_cores(&set, "");
	assert_true(CPU_ISSET(5, &set));
}

/* ---- choice ---- */

static void who_counts_what(void **state)
{
	const u32 both = 1u << COUNT_VPMU | 1u << COUNT_HOST;
	const struct {
		struct count_request request;
		u32 sources;
		int unasked, result;
		enum count_source source;
		const char *says;
	} choices[] = {
		{ { 0, { "r0e08" }, 1 }, both, 1, 0, COUNT_VPMU, 0 },
		{ { "host", { "r0e08", "page-faults" }, 2 }, both, 1, 0, COUNT_HOST, 0 },
		{ { "none", { 0 }, 0 }, both, 1, 0, COUNT_NONE, 0 },
		{ { 0, { 0 }, 0 }, 1u << COUNT_HOST, 0, 0, COUNT_NONE, 0 },
		{ { 0, { "task-clock" }, 1 }, 1u << COUNT_HOST, 0, 0, COUNT_HOST, 0 },
		{ { 0, { "page-faults" }, 1 }, both, 1, -EINVAL, 0, "only the kernel" },
		{ { "module", { 0 }, 0 }, both, 1, -EINVAL, 0, "has: host, vpmu, none" },
		{ { "none", { "r1" }, 1 }, both, 1, -EINVAL, 0, "nobody" },
		{ { "host", { 0 }, 0 }, 1u << COUNT_HOST, 0, -EINVAL, 0, "name events" },
		{ { 0, { "r1", "R1" }, 2 }, 0, 1, -EINVAL, 0, "nobody" },
		{ { "host", { "r1", "r1" }, 2 }, both, 1, -EINVAL, 0, "twice" },
		{ { 0, { "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9" }, 9 },
		  both,
		  1,
		  -EINVAL,
		  0,
		  "more than 8" },
	};
	struct counting counting;
	struct problem p;
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(choices); i++) {
		int result = counting_choose(&counting, &choices[i].request, "kvm",
					     choices[i].sources, choices[i].unasked, &p);

		assert_int_equal(result, choices[i].result);
		if (result && !strstr(p.text, choices[i].says))
			fail_msg("choice %zu: \"%s\"", i, p.text);
		if (!result) {
			assert_int_equal(counting.source, choices[i].source);
			assert_int_equal(counting.events, choices[i].request.events);
		}
		counting_free(&counting);
	}
}

/* ---- the target's own counters ---- */

static struct {
	const char *answers[8];
	char sent[256];
	int at;
} peer;

static int peer_send(void *context, const char *line)
{
	(void)context;
	snprintf(peer.sent, sizeof(peer.sent), "%s", line);
	return 0;
}

static int peer_receive(void *context, double seconds, const char **line)
{
	(void)context;
	(void)seconds;
	if (!peer.answers[peer.at])
		return -EPIPE;
	*line = peer.answers[peer.at++];
	return 0;
}

static struct link new_peer(FILE *log, const char *answer)
{
	memset(&peer, 0, sizeof(peer));
	peer.answers[0] = answer;
	return (struct link){ NULL, peer_send, peer_receive, log, 5, "guest", 0 };
}

static void a_guest_is_told_its_events(void **state)
{
	struct hello hello = { .keys = json_pack("{s:s, s:s}", "pmu", "intel-v2", "counters",
						 "4") };
	FILE *log = fopen("/dev/null", "w");
	struct link link = new_peer(log, "events general=4 width=48 used=2 pmu=intel-v2");
	struct counting counting = { .source = COUNT_VPMU, .events = 2, .checked = 1 };
	struct row row;

	(void)state;
	memcpy(counting.event, three, 2 * sizeof(*three));
	assert_int_equal(counting_link_open(&counting, &link, &hello, 0, PERF_GUEST), 0);
	assert_null(counting.why_not);
	assert_true(!strcmp(peer.sent, "events e08,2008") ||
		    !strcmp(peer.sent, "events 0xe08,0x2008"));
	assert_string_equal(counting.pmu, "general=4 width=48 used=2 pmu=intel-v2");
	/* its counts: of 200 iterations 10200 and 7 */
	new_row(&row);
	row.r.counts = (struct ts_counts){ .n = 2, .count = { 10200, 7 } };
	counting_begin_row(&counting);
	counting_take(&counting, &row);
	assert_true(counting.value[0] == 51 && counting.value[1] == 0.035);
	assert_string_equal(row.valid, "ok");
	/* one of them was lost */
	row.r.counts.lost[1] = 1;
	counting_begin_row(&counting);
	counting_take(&counting, &row);
	assert_true(counting.value[0] == 51 && isnan(counting.value[1]));
	assert_string_equal(row.valid, "no-counter");
	/* none came */
	new_row(&row);
	counting_begin_row(&counting);
	counting_take(&counting, &row);
	assert_true(isnan(counting.value[0]) && isnan(counting.value[1]));
	assert_string_equal(row.valid, "no-counter");
	/* a phase in which nothing is counted */
	new_row(&row);
	row.c.phase = TS_REFILL;
	counting_take(&counting, &row);
	assert_string_equal(row.valid, "ok");
	counting_free(&counting);
	json_decref(hello.keys);
	fclose(log);
}

static void a_guest_without_pmu_is_no_failure(void **state)
{
	static const struct {
		const char *pmu, *answer, *says;
		int result;
	} guests[] = {
		{ "none", NULL, "pmu=on", 0 },
		{ "intel-v2", "error status=no-feature hint=\"no counters\"", "no counters", 0 },
		{ "intel-v2", NULL, NULL, -EPIPE },
	};
	FILE *log = fopen("/dev/null", "w");
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(guests); i++) {
		struct hello hello = { .keys = json_pack("{s:s}", "pmu", guests[i].pmu) };
		struct counting counting = { .source = COUNT_VPMU, .events = 2 };
		struct link link = new_peer(log, guests[i].answer);
		struct row row;

		memcpy(counting.event, three, 2 * sizeof(*three));
		assert_int_equal(counting_link_open(&counting, &link, &hello, 0, PERF_GUEST),
				 guests[i].result);
		if (guests[i].says)
			assert_non_null(strstr(counting.why_not, guests[i].says));
		new_row(&row);
		counting_begin_row(&counting);
		if (counting.why_not)
			counting_take(&counting, &row);
		assert_string_equal(row.valid, "ok"); /* its cycles are as good as ever */
		assert_true(isnan(counting.value[0]));
		counting_free(&counting);
		json_decref(hello.keys);
	}
	fclose(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_leader_is_pinned),
		cmocka_unit_test(refusals_tell_what_to_do),
		cmocka_unit_test(interrupted_calls_are_repeated),
		cmocka_unit_test(counts_belong_to_their_events),
		cmocka_unit_test(slopes_are_free_of_the_start),
		cmocka_unit_test(what_was_not_counted_is_empty),
		cmocka_unit_test(columns_follow_the_targets),
		cmocka_unit_test(a_group_that_does_not_fit_is_told),
		cmocka_unit_test(a_missing_event_costs_no_other),
		cmocka_unit_test(counters_that_lie_are_refused),
		cmocka_unit_test(the_loops_length_is_known),
		cmocka_unit_test(software_events_of_this_process),
		cmocka_unit_test(the_self_check_counts_fresh_pages),
		cmocka_unit_test(performance_cores_are_kept),
		cmocka_unit_test(who_counts_what),
		cmocka_unit_test(a_guest_is_told_its_events),
		cmocka_unit_test(a_guest_without_pmu_is_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
