// SPDX-License-Identifier: GPL-2.0
/* The self-check of counters: what is known, and who is refused. */
#include "counter_check.h"

#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- judgement ---- */

static void judge(struct counting *counting, size_t i, int good, char *seen)
{
	counting->check[i] = seen;
	counting->refused[i] = !good;
	if (good)
		counting_log(counting, "self-check of %s: good: %s", counting->event[i].name, seen);
	else
		counting_tell(counting, "not counted: event %s: self-check: REFUSED: %s",
			      counting->event[i].name, seen);
}

static void judge_walks(struct counting *counting, size_t i, double beyond, double one_page)
{
	int good = beyond >= CHECK_WALKS_LEAST && beyond <= CHECK_WALKS_MOST &&
		   fabs(one_page) <= CHECK_WALKS_NONE;

	judge(counting, i, good,
	      xasprintf("%.3f a touch in %d pages (expected %.1f to %.0f), %.3f in one page "
			"(expected 0)", beyond, CHECK_PAGES, CHECK_WALKS_LEAST, CHECK_WALKS_MOST,
			one_page));
}

static void judge_faults(struct counting *counting, size_t i, double fresh)
{
	judge(counting, i, fresh >= 1 && fresh <= 1.1,
	      xasprintf("%.3f a fresh page (expected 1)", fresh));
}

static int is_page_faults(const struct event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_PAGE_FAULTS;
}

static int has_core_events(const struct counting *counting)
{
	size_t i;

	for (i = 0; i < counting->events; i++)
		if (counting->event[i].is_core && !*counting->event[i].missing)
			return 1;
	return 0;
}

/* Is there an event that a load tells something about? */
static int is_needed(const struct counting *counting, enum check_load load)
{
	size_t i;

	if (load == CHECK_INSTRUCTIONS)
		return has_core_events(counting);
	for (i = 0; i < counting->events; i++)
		if (!*counting->event[i].missing &&
		    (load == CHECK_FRESH ? is_page_faults(&counting->event[i])
					 : counting->event[i].is_walk))
			return 1;
	return 0;
}

static int target_ended(int result)
{
	return result == -EPIPE || result == -ETIMEDOUT || result == -EINTR;
}

static void check_instructions(struct counting *counting, int result, double ratio)
{
	if (result == -ENOTSUP)
		return;
	if (result)
		counting_give_up(counting,
				 "the self-check's retired instructions could not be counted (%s)",
				 perf_reason(result));
	else if (!(fabs(ratio - 1) <= CHECK_SHARE))
		counting_give_up(
			counting,
			"the self-check counted %.4f times the retired instructions of a loop "
			"whose length is known: this PMU is not to be trusted",
			ratio);
	else
		counting_log(
			counting,
			"self-check of retired instructions: good: %.4f times what the loop has",
			ratio);
}

int counter_check(struct counting *counting, check_fn *run, void *context)
{
	double counts[CHECK_LOADS][MAX_EVENTS] = { 0 };
	int result[CHECK_LOADS];
	size_t i;
	int load;

	if (counting->checked || counting->why_not || !counting->events)
		return 0;
	for (load = 0; load < CHECK_LOADS; load++) {
		result[load] =
			is_needed(counting, load) ? run(context, load, counts[load]) : -ENOTSUP;
		if (target_ended(result[load]))
			return result[load];
	}
	counting->checked = 1;
	check_instructions(counting, result[CHECK_INSTRUCTIONS], counts[CHECK_INSTRUCTIONS][0]);
	for (i = 0; i < counting->events && !counting->why_not; i++) {
		if (*counting->event[i].missing)
			continue;
		if (counting->event[i].is_walk && !result[CHECK_BEYOND] && !result[CHECK_ONE_PAGE])
			judge_walks(counting, i, counts[CHECK_BEYOND][i],
				    counts[CHECK_ONE_PAGE][i]);
		else if (is_page_faults(&counting->event[i]) && !result[CHECK_FRESH])
			judge_faults(counting, i, counts[CHECK_FRESH][i]);
	}
	return 0;
}

/* ---- as cases ---- */

int check_case(enum check_load load, struct ts_case *c)
{
	struct ts_error error;

	ts_case_init(c);
	c->op = TS_OP_NONE;
	c->at = TS_AT_NONE;
	c->guest = TS_4K;
	c->phase = TS_ACCESS;
	c->order = TS_CHASE;
	c->iterations = 50;
	switch (load) {
	case CHECK_INSTRUCTIONS:
		c->leaves = c->touches = 16;
		c->iterations = 1000;
		break;
	case CHECK_BEYOND:
		c->leaves = c->touches = CHECK_PAGES;
		c->frames = TS_SCATTERED; /* AMD keeps contiguous pages in one entry */
		break;
	case CHECK_ONE_PAGE:
		c->leaves = 1;
		c->touches = 64;
		c->iterations = 1000;
		break;
	default:
		return -ENOTSUP;
	}
	return ts_case_finish(c, &error) ? -EINVAL : 0;
}

/* A load, DEC and JNZ for each touch; two MOV before, two fences of two, DEC and JNZ behind. */
double check_case_instructions(const struct ts_case *c)
{
	return 3.0 * c->touches + 2 + 4 + 2;
}
