// SPDX-License-Identifier: GPL-2.0
/* Counters of a guest or the module: events told over the line, or slopes of the vCPU's thread. */
#include "counting_link.h"

#include "counter_check.h"
#include "counting_perf.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char no_vpmu[] =
	"the guest has no vPMU: give it one (-cpu host,pmu=on; kvm with enable_pmu=1, Linux 5.18 and "
	"later; or a mediated vPMU, in kernels that have it), or count on the host: --counters host";
static const char no_pmu[] =
	"the module finds no PMU: in a VM it needs -cpu host,pmu=on and kvm with enable_pmu=1";

static int measure(void *link, const struct ts_case *c, struct row *row, struct problem *p)
{
	return link_measure(link, c, row, p);
}

/* ---- a row ---- */

int counting_link_measure(struct counting *counting, struct link *link, const struct ts_case *c,
			  struct row *row, struct problem *p)
{
	int result = link_measure(link, c, row, p);

	if (!result && counting->source != COUNT_HOST)
		counting_take(counting, row);
	return result;
}

int counting_link_slope(struct counting *counting, struct link *link, struct row *row,
			struct problem *p)
{
	return counting->source == COUNT_HOST ? counting_slope(counting, measure, link, row, p) : 0;
}

/* ---- self-check ---- */

struct checked {
	struct counting *counting;
	struct link *link;
	pid_t thread;
	enum perf_side side;
};

/* One load as a case, its counts of a touch in the first `events` of counts. */
static int run_case(struct counting *counting, struct link *link, enum check_load load,
		    double *counts)
{
	struct row row = { .valid = "ok" };
	struct problem p;
	struct ts_case c;
	int result = check_case(load, &c);
	size_t i;

	if (result)
		return -ENOTSUP;
	counting_begin_row(counting);
	result = counting_link_measure(counting, link, &c, &row, &p)
			 ?: counting_link_slope(counting, link, &row, &p);
	if (result)
		return result == -EINVAL ? -ENOTSUP : result; /* its window does not fit */
	if (!row_is_valid(&row))
		return row_has_reason(&row, PERF_REASON_SHARED) ? -EAGAIN : -ENODATA;
	for (i = 0; i < counting->events; i++)
		counts[i] = counting->value[i] / c.touches;
	return 0;
}

static int check_host_instructions(const struct checked *checked, double *ratio)
{
	struct counting own = { .source = COUNT_HOST, .events = 1, .log = checked->counting->log };
	struct ts_case c;
	struct problem p;
	int result;

	own.event[0] =
		(struct event){ "instructions", event_core_type(), EVENT_INSTRUCTIONS, 1, 0, "", "" };
	if (perf_group_open(&own.group, &perf_system, own.event, 1, checked->thread, checked->side,
			    &p))
		return -ENODATA;
	result = perf_group_start(&own.group)
			 ?: run_case(&own, checked->link, CHECK_INSTRUCTIONS, ratio);
	perf_group_close(&own.group);
	check_case(CHECK_INSTRUCTIONS, &c);
	*ratio *= c.touches / check_case_instructions(&c);
	return result;
}

/* Guest and module check the instructions themselves before they answer an events line. */
static int run_load(void *context, enum check_load load, double *counts)
{
	struct checked *checked = context;

	if (load != CHECK_INSTRUCTIONS)
		return run_case(checked->counting, checked->link, load, counts);
	return checked->counting->source == COUNT_HOST && checked->side == PERF_GUEST
		       ? check_host_instructions(checked, counts)
		       : -ENOTSUP;
}

/* ---- start ---- */

static int tell_events(struct counting *counting, struct link *link, const struct hello *hello)
{
	u64 configs[MAX_EVENTS];
	struct problem p;
	size_t i;
	int result;

	if (!*hello_text(hello, "pmu") || !strcmp(hello_text(hello, "pmu"), "none")) {
		counting_give_up(counting, "%s",
				 counting->source == COUNT_MODULE ? no_pmu : no_vpmu);
		return 0;
	}
	for (i = 0; i < counting->events; i++)
		configs[i] = counting->event[i].config;
	free(counting->pmu);
	counting->pmu = NULL;
	result = link_events(link, configs, counting->events, &counting->pmu, &p);
	if (result == -ENOTSUP || result == -EINVAL) {
		counting_give_up(counting, "%s", p.text);
		return 0;
	}
	return result;
}

int counting_link_open(struct counting *counting, struct link *link, const struct hello *hello,
		       pid_t thread, enum perf_side side)
{
	struct checked checked = { counting, link, thread, side };
	int result = 0;

	if (counting->source == COUNT_NONE || counting->why_not || !counting->events)
		return 0;
	if (counting->source == COUNT_HOST)
		counting_open(counting, &perf_system, thread, side);
	else
		result = tell_events(counting, link, hello);
	return result ?: counter_check(counting, run_load, &checked);
}
