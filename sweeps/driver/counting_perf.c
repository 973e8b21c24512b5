// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's counters (sources host and process): opening them, switching the NMI watchdog off
 * where it is in the way, and the slope.
 *
 * The slope (host): everything that a guest does for a case is counted, its start, the flush's
 * twin, the lines of the protocol. The case with twice the iterations does the same and N
 * iterations more: what it counts more is theirs. The row itself was measured before, uncounted:
 * whatever happens the first time only (pages of the host, code that TCG translates) is over then.
 */
#include "counting_perf.h"

#include "host_state.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WATCHDOG "/proc/sys/kernel/nmi_watchdog"

/*
 * Do the counters take the group at all? A pinned group of our own thread is on them at once, or in
 * error.
 */
static int try_group(struct counting *counting, const struct perf_ops *ops, struct problem *p)
{
	struct perf_group group;
	struct perf_counts counts;
	size_t open;
	int result =
		perf_group_open(&group, ops, counting->event, counting->events, 0, PERF_USER, p);

	if (result)
		return result;
	result = perf_group_start(&group) ?: perf_group_read(&group, &counts);
	open = group.open;
	perf_group_close(&group);
	if (result)
		problem(p, EXIT_FAILED,
			"the group of %zu events never runs: not enough free counters; ask for "
			"fewer with --event, or end other users of the PMU%s",
			open,
			geteuid() ? " (as root, the NMI watchdog is switched off)" : "");
	return result;
}

static int watchdog_off(struct counting *counting)
{
	char *on = read_text(WATCHDOG);
	int is_on = on && *on == '1';
	struct problem p;

	free(on);
	if (!is_on || geteuid())
		return -ENOENT;
	if (host_state_hold(&p) || host_state_set(WATCHDOG, 0, NULL, &p)) {
		counting_log(counting, "the NMI watchdog could not be switched off: %s", p.text);
		return -EACCES;
	}
	free(counting->watchdog);
	counting->watchdog = xstrdup("switched off for the run");
	counting_log(counting, "NMI watchdog %s: it held a counter that the events need",
		     counting->watchdog);
	return 0;
}

/* From the trial to the counting group. */
static int open_group(struct counting *counting, const struct perf_ops *ops, pid_t thread,
		      enum perf_side side, struct problem *p)
{
	int result = try_group(counting, ops, p) ?:
		     perf_group_open(&counting->group, ops, counting->event, counting->events,
				     thread, side, p);

	if (!result && perf_group_start(&counting->group))
		result = problem(p, EXIT_FAILED, "the group of events cannot be started");
	return result;
}

/*
 * Marks the events that cannot be opened even when they are alone, whatever became of their group.
 * Returns how many those are; each is told with its reason.
 */
static size_t find_missing(struct counting *counting, const struct perf_ops *ops, pid_t thread,
			   enum perf_side side)
{
	struct perf_group group;
	struct problem p;
	size_t i, found = 0;

	for (i = 0; i < counting->events; i++) {
		struct event *event = &counting->event[i];

		if (*event->missing)
			continue;
		if (!perf_group_open(&group, ops, event, 1, thread, side, &p)) {
			perf_group_close(&group);
			continue;
		}
		snprintf(event->missing, sizeof(event->missing), "%.399s", p.text);
		counting_tell(counting, "not counted: %s", event->missing);
		found++;
	}
	return found;
}

void counting_open(struct counting *counting, const struct perf_ops *ops, pid_t thread,
		   enum perf_side side)
{
	struct problem p;
	int result;

	if (counting->why_not || !counting->events)
		return;
	perf_group_close(&counting->group);
	result = open_group(counting, ops, thread, side, &p);
	if (result && find_missing(counting, ops, thread, side))
		result = open_group(counting, ops, thread, side, &p);
	if (result && !watchdog_off(counting))
		result = open_group(counting, ops, thread, side, &p);
	if (result)
		counting_give_up(counting, "%s", p.text);
	else
		counting_log(counting, "%zu events of thread %d in one pinned group%s",
			     counting->group.open, (int)thread,
			     side == PERF_GUEST ? ", guest only" : "");
}

void counting_close(struct counting *counting)
{
	perf_group_close(&counting->group);
}

int counting_start(struct counting *counting, struct perf_counts *before)
{
	return perf_group_read(&counting->group, before);
}

int counting_stop(struct counting *counting, const struct perf_counts *before, double *counts)
{
	u64 difference[MAX_EVENTS];
	struct perf_counts after;
	int result = perf_group_read(&counting->group, &after)
			     ?: perf_counts_between(before, &after, counting->events, difference);
	size_t i;

	for (i = 0; i < counting->events && !result; i++)
		counts[i] = difference[i];
	return result;
}

int counting_run(struct counting *counting, count_fn *measure, void *context,
		 const struct ts_case *c, struct row *row, double *counts, struct problem *p)
{
	struct perf_counts before;
	int error = counting_start(counting, &before), result = measure(context, c, row, p);

	if (!error)
		error = counting_stop(counting, &before, counts);
	if (!result && error)
		row_reason(row, perf_reason(error));
	return result;
}

void counting_difference(size_t n, const double *once, const double *twice, double *slope)
{
	size_t i;

	for (i = 0; i < n; i++)
		slope[i] = twice[i] - once[i];
}

int counting_slope(struct counting *counting, count_fn *measure, void *context, struct row *row,
		   struct problem *p)
{
	double once[MAX_EVENTS], twice[MAX_EVENTS], slope[MAX_EVENTS];
	struct ts_case longer = row->c;
	struct row counted = { .valid = "ok" };
	int result;

	if (!counting_wants(counting, &row->c))
		return 0;
	longer.iterations *= 2;
	result = counting_run(counting, measure, context, &longer, &counted, twice, p)
			 ?: counting_run(counting, measure, context, &row->c, &counted, once, p);
	if (result)
		return result;
	if (!row_is_valid(&counted)) {
		row_reason(row, counted.valid);
		return 0;
	}
	counting_difference(counting->events, once, twice, slope);
	counting_set(counting, slope, row->c.iterations);
	return 0;
}
