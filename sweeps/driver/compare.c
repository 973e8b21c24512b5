// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of two runs side by side: the same case is the same in every axis but repeat, iterations and seed, on the same
 * host page. What is beyond noise is decided over all of them together (difference.c).
 */
#include "compare.h"

#include "event_table.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- events ---- */

void compare_find_events(struct compared_run *run)
{
	size_t i;

	run->event = xcalloc(run->rows.extras, sizeof(*run->event));
	for (i = 0; i < run->rows.extras; i++)
		if (event_column(&run->rows, i))
			run->event[run->events++] = i;
}

/* Index of an event's column in a run, or -1. */
static long find_event(const struct compared_run *run, const char *name)
{
	size_t i;

	for (i = 0; i < run->events; i++)
		if (!strcmp(run->rows.extra_names[run->event[i]], name))
			return run->event[i];
	return -1;
}

/* ---- may they be compared ---- */

/* The first event that one run has and the other has not. */
static const char *odd_event(const struct compared_run *a, const struct compared_run *b)
{
	size_t i;

	for (i = 0; i < a->events; i++)
		if (find_event(b, a->rows.extra_names[a->event[i]]) < 0)
			return a->rows.extra_names[a->event[i]];
	return NULL;
}

char *compare_obstacle(const struct comparison *comparison)
{
	const struct compared_run *a = &comparison->run[0], *b = &comparison->run[1];
	const char *event;

	if (!a->rows.count || !b->rows.count)
		return xasprintf("%s has no rows", a->rows.count ? b->name : a->name);
	if (strcmp(a->rows.row->target, b->rows.row->target))
		return xasprintf("they are of different targets, %s and %s", a->rows.row->target,
				 b->rows.row->target);
	if (strcmp(a->rows.row->accel, b->rows.row->accel))
		return xasprintf("they were executed by different means, %s and %s", a->rows.row->accel,
				 b->rows.row->accel);
	if (!*a->stamp != !*b->stamp)
		return xasprintf("one is of hardware, the other is not (%s)", *a->stamp ? a->stamp : b->stamp);
	event = odd_event(a, b) ?: odd_event(b, a);
	return event ? xasprintf("only one of them counted %s", event) : NULL;
}

/* ---- matching ---- */

struct entry {
	struct ts_case key;
	const struct outcome *outcome;
};

static struct ts_case match_key(const struct outcome *outcome)
{
	struct ts_case c = outcome->row[0]->c;

	c.repeat = c.iterations = c.seed = 0;
	return c;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = memcmp(&x->key, &y->key, sizeof(x->key));

	return order ? order : strcmp(x->outcome->row[0]->host, y->outcome->row[0]->host);
}

/* All outcomes of a run in order of their keys; the caller frees. */
static struct entry *entries_of(const struct compared_run *run, size_t *n)
{
	struct entry *entry;
	size_t i, j;

	*n = 0;
	for (i = 0; i < run->cells.count; i++)
		*n += run->cells.cell[i].outcomes;
	entry = xcalloc(*n, sizeof(*entry));
	*n = 0;
	for (i = 0; i < run->cells.count; i++)
		for (j = 0; j < run->cells.cell[i].outcomes; j++) {
			entry[*n].outcome = &run->cells.cell[i].outcome[j];
			entry[*n].key = match_key(entry[*n].outcome);
			++*n;
		}
	qsort(entry, *n, sizeof(*entry), compare_entries);
	return entry;
}

static void add_only(struct comparison *comparison, int which, const struct outcome *outcome)
{
	size_t n = comparison->onlys[which]++;

	comparison->only[which] = xrealloc(comparison->only[which], (n + 1) * sizeof(*comparison->only[which]));
	comparison->only[which][n] = outcome;
}

/* ---- one case ---- */

/* Values of a measure over the repeats that have it; event < 0: cycles. Returns how many. */
static size_t values_of(const struct outcome *outcome, long event, double *values)
{
	size_t i, n = 0;

	for (i = 0; i < outcome->n; i++) {
		const struct row *row = outcome->row[i];

		if (event >= 0 && row->extra[event] && *row->extra[event])
			values[n++] = strtod(row->extra[event], NULL);
		else if (event < 0 && row->r.has_cycles)
			values[n++] = row->r.cycles;
	}
	return n;
}

static struct compared *add_compared(struct comparison *comparison, const struct outcome *a,
				     const struct outcome *b, const char *measure)
{
	size_t n = comparison->count++;
	struct compared *compared;

	if (!(n & (n - 1))) /* full: its room is a power of two */
		comparison->compared = xrealloc(comparison->compared,
						(n ? 2 * n : 1) * sizeof(*comparison->compared));
	compared = &comparison->compared[n];
	*compared = (struct compared){ .a = a, .b = b, .measure = measure,
				       .repeats = { a->n, b->n }, .difference = { .p = 1, .low = NAN, .high = NAN } };
	return compared;
}

static int is_emulated(const struct outcome *outcome)
{
	return row_has_reason(outcome->row[0], "emulated-cpu");
}

/* Cycles or an event; nothing when neither run has it. */
static void compare_means(struct comparison *comparison, const struct outcome *a, const struct outcome *b,
			  const char *measure, long event_a, long event_b)
{
	double *values[2] = { xcalloc(a->n, sizeof(double)), xcalloc(b->n, sizeof(double)) };
	size_t n[2] = { values_of(a, event_a, values[0]),
			values_of(b, event_b, values[1]) };
	int cycles = event_a < 0;
	struct compared *c = n[0] || n[1] ? add_compared(comparison, a, b, measure) : NULL;
	size_t i;

	for (i = 0; c && i < 2; i++) {
		c->value[i] = n[i] ? statistics_median(values[i], n[i]) : NAN;
		c->repeats[i] = n[i];
	}
	if (c && (!n[0] || !n[1]))
		c->untold = "measured in one run only";
	else if (c && cycles && (is_emulated(a) || is_emulated(b)))
		c->untold = "an emulator's own cycles";
	else if (c && (n[0] < COMPARE_REPEATS || n[1] < COMPARE_REPEATS))
		c->untold = "fewer than 3 repeats";
	else if (c)
		difference_of_means(values[0], n[0], values[1], n[1], cycles ? COMPARE_TIMER_STEP : 0,
				    fmax(COMPARE_MARGIN * fabs(c->value[0]), cycles ? COMPARE_TIMER_STEP : 0),
				    &c->difference);
	free(values[0]);
	free(values[1]);
}

/* Iterations of an outcome, and those whose refills were not the median over all. */
static size_t count_iterations(const struct outcome *outcome, int mix, size_t *off)
{
	size_t i, all = 0;
	double median = mix ? outcome->mix_refills : outcome->refills;

	*off = 0;
	for (i = 0; i < outcome->n; i++) {
		const struct row *row = outcome->row[i];
		u64 value = mix ? row->r.mix_refills : row->r.refills;

		if (!(mix ? row->r.has_mix : row->r.has_refills))
			continue;
		all += row->c.iterations;
		*off += value == median ? row->r.off_median : row->c.iterations;
	}
	return all;
}

static void compare_refills(struct comparison *comparison, const struct outcome *a, const struct outcome *b,
			    int mix)
{
	double x = mix ? a->mix_refills : a->refills, y = mix ? b->mix_refills : b->refills;
	size_t off_a, off_b, all_a = count_iterations(a, mix, &off_a), all_b = count_iterations(b, mix, &off_b);
	struct compared *c;

	if (isnan(x) && isnan(y))
		return;
	c = add_compared(comparison, a, b, mix ? "mix_refills" : "refills");
	c->value[0] = x;
	c->value[1] = y;
	if (isnan(x) || isnan(y))
		c->untold = "measured in one run only";
	else
		difference_of_medians(x, all_a, off_a, y, all_b, off_b, &c->difference);
}

static void compare_case(struct comparison *comparison, const struct outcome *a, const struct outcome *b)
{
	const struct compared_run *run = comparison->run;
	size_t i;

	compare_refills(comparison, a, b, 0);
	compare_refills(comparison, a, b, 1);
	compare_means(comparison, a, b, "cycles", -1, -1);
	for (i = 0; i < run[0].events; i++) {
		const char *name = run[0].rows.extra_names[run[0].event[i]];
		long other = find_event(&run[1], name);

		if (other >= 0)
			compare_means(comparison, a, b, name, run[0].event[i], other);
	}
}

/* ---- all of them ---- */

static void decide(struct comparison *comparison)
{
	struct difference **difference = xcalloc(comparison->count, sizeof(*difference));
	size_t i;

	for (i = 0; i < comparison->count; i++)
		if (!comparison->compared[i].untold)
			difference[comparison->told++] = &comparison->compared[i].difference;
	difference_decide(difference, comparison->told, COMPARE_CONFIDENCE);
	for (i = 0; i < comparison->count; i++)
		comparison->changed += comparison->compared[i].difference.changed;
	free(difference);
}

void compare_runs(struct comparison *comparison)
{
	size_t n[2], i = 0, j = 0;
	struct entry *entry[2];
	int order;

	entry[0] = entries_of(&comparison->run[0], &n[0]);
	entry[1] = entries_of(&comparison->run[1], &n[1]);
	while (i < n[0] || j < n[1]) {
		order = i == n[0] ? 1 : j == n[1] ? -1 : compare_entries(&entry[0][i], &entry[1][j]);
		if (order < 0)
			add_only(comparison, 0, entry[0][i++].outcome);
		else if (order > 0)
			add_only(comparison, 1, entry[1][j++].outcome);
		else
			compare_case(comparison, entry[0][i++].outcome, entry[1][j++].outcome);
	}
	decide(comparison);
	free(entry[0]);
	free(entry[1]);
}

void compare_free(struct comparison *comparison)
{
	int i;

	for (i = 0; i < 2; i++) {
		free(comparison->only[i]);
		free(comparison->run[i].event);
		cells_free(&comparison->run[i].cells);
		rows_free(&comparison->run[i].rows);
		json_decref(comparison->run[i].json);
	}
	free(comparison->compared);
}
