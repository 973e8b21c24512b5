// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of two runs side by side: the same case is the same in every axis but repeat, iterations and seed, on the same
 * host page. What is beyond noise is decided over all of them together (difference.c).
 *
 * Times and events of two runs of an unchanged machine differ by more than the repeats within each: the next run lies
 * on other physical pages, beside other neighbours. So with one run a side nothing that was timed is said to have
 * changed, only that it lies apart. With three runs a side each run is one value, its median. Refills are
 * exact and the same in every run; there one run is enough.
 */
#include "compare.h"

#include "event_table.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sides ---- */

static void find_events(struct compared_side *side)
{
	size_t i;

	side->event = xcalloc(side->rows.extras, sizeof(*side->event));
	for (i = 0; i < side->rows.extras; i++)
		if (event_column(&side->rows, i))
			side->event[side->events++] = i;
}

void compare_join(struct compared_side *side)
{
	size_t i, count = 0;

	for (i = 0; i < side->runs; i++)
		count += side->part[i].count;
	side->rows = side->part[0];
	side->rows.row = xcalloc(count, sizeof(*side->rows.row));
	side->rows.count = 0;
	for (i = 0; i < side->runs; i++) {
		memcpy(side->rows.row + side->rows.count, side->part[i].row,
		       side->part[i].count * sizeof(*side->rows.row));
		side->rows.count += side->part[i].count;
	}
	for (i = 0; i < count; i++)
		side->rows.row[i].run = side->rows.row[0].run; /* cells keep runs apart */
	side->stamp = environment_stamp(&side->rows, side->json[0]);
	cells_build(&side->rows, &side->cells);
	find_events(side);
}

/* Which of the side's runs a row is from. */
static size_t run_of(const struct compared_side *side, const struct row *row)
{
	size_t i = row - side->rows.row, run = 0;

	while (i >= side->part[run].count)
		i -= side->part[run++].count;
	return run;
}

/* Index of an event's column, or -1. */
static long find_event(const struct compared_side *side, const char *name)
{
	size_t i;

	for (i = 0; i < side->events; i++)
		if (!strcmp(side->rows.extra_names[side->event[i]], name))
			return side->event[i];
	return -1;
}

/* ---- may they be compared ---- */

/* The first event that one side has and the other has not. */
static const char *odd_event(const struct compared_side *a, const struct compared_side *b)
{
	size_t i;

	for (i = 0; i < a->events; i++)
		if (find_event(b, a->rows.extra_names[a->event[i]]) < 0)
			return a->rows.extra_names[a->event[i]];
	return NULL;
}

static int same_columns(const struct rows *a, const struct rows *b)
{
	size_t i = 0;

	while (i < a->extras && i < b->extras && !strcmp(a->extra_names[i], b->extra_names[i]))
		i++;
	return i == a->extras && i == b->extras;
}

char *compare_side_obstacle(const struct compared_side *side)
{
	size_t i;

	for (i = 0; i < side->runs; i++)
		if (!side->part[i].count)
			return xasprintf("%s has no rows", side->name[i]);
	for (i = 1; i < side->runs; i++) {
		const struct row *first = side->part[0].row, *row = side->part[i].row;

		if (strcmp(first->target, row->target) || strcmp(first->accel, row->accel) ||
		    !same_columns(&side->part[0], &side->part[i]))
			return xasprintf("%s and %s, of the same side, are of different targets or have different columns",
					 side->name[0], side->name[i]);
	}
	return NULL;
}

char *compare_obstacle(const struct comparison *comparison)
{
	const struct compared_side *a = &comparison->side[0], *b = &comparison->side[1];
	const char *event;

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

/* Where a plan has several seeds or numbers of iterations, these tell its cases apart, too. */
static void tell_apart(struct entry *entry, size_t n)
{
	size_t i, end;
	int several;

	for (i = 0; i < n; i = end) {
		for (end = i + 1; end < n && !compare_entries(&entry[i], &entry[end]); end++)
			;
		several = end - i > 1;
		for (; several && i < end; i++) {
			entry[i].key.iterations = entry[i].outcome->row[0]->c.iterations;
			entry[i].key.seed = entry[i].outcome->row[0]->c.seed;
		}
	}
	qsort(entry, n, sizeof(*entry), compare_entries);
}

/* All outcomes of a side in order of their keys; the caller frees. */
static struct entry *entries_of(const struct compared_side *side, size_t *n)
{
	struct entry *entry;
	size_t i, j;

	*n = 0;
	for (i = 0; i < side->cells.count; i++)
		*n += side->cells.cell[i].outcomes;
	entry = xcalloc(*n, sizeof(*entry));
	*n = 0;
	for (i = 0; i < side->cells.count; i++)
		for (j = 0; j < side->cells.cell[i].outcomes; j++) {
			entry[*n].outcome = &side->cells.cell[i].outcome[j];
			entry[*n].key = match_key(entry[*n].outcome);
			++*n;
		}
	qsort(entry, *n, sizeof(*entry), compare_entries);
	tell_apart(entry, *n);
	return entry;
}

static void add_only(struct comparison *comparison, int which, const struct outcome *outcome)
{
	size_t n = comparison->onlys[which]++;

	comparison->only[which] = xrealloc(comparison->only[which], (n + 1) * sizeof(*comparison->only[which]));
	comparison->only[which][n] = outcome;
}

/* ---- one case ---- */

/* Is there a value of a measure in the row? event < 0: cycles. */
static int value_of(const struct row *row, long event, double *value)
{
	if (event < 0)
		*value = row->r.cycles;
	else if (row->extra[event] && *row->extra[event])
		*value = strtod(row->extra[event], NULL);
	else
		return 0;
	return event >= 0 || row->r.has_cycles;
}

/* Values of a measure over the repeats that have it, or with several runs the median of each. Returns how many. */
static size_t values_of(const struct compared_side *side, const struct outcome *outcome, long event, double *values)
{
	double *here = xcalloc(outcome->n, sizeof(*here));
	size_t run, i, n = 0, all = 0;

	for (run = 0; run < side->runs; run++) {
		for (i = n = 0; i < outcome->n; i++)
			if (run_of(side, outcome->row[i]) == run)
				n += value_of(outcome->row[i], event, &here[n]);
		if (side->runs == 1)
			memcpy(values, here, n * sizeof(*values));
		else if (n)
			values[all++] = statistics_median(here, n);
	}
	free(here);
	return side->runs == 1 ? n : all;
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

/* Cycles or an event; nothing when neither side has it. */
static void compare_means(struct comparison *comparison, const struct outcome *a, const struct outcome *b,
			  const char *measure, long event_a, long event_b)
{
	double *values[2] = { xcalloc(a->n, sizeof(double)), xcalloc(b->n, sizeof(double)) };
	size_t n[2] = { values_of(&comparison->side[0], a, event_a, values[0]),
			values_of(&comparison->side[1], b, event_b, values[1]) };
	int cycles = event_a < 0;
	struct compared *c = n[0] || n[1] ? add_compared(comparison, a, b, measure) : NULL;
	size_t i;

	for (i = 0; c && i < 2; i++) {
		c->value[i] = n[i] ? statistics_median(values[i], n[i]) : NAN;
		c->repeats[i] = n[i];
	}
	if (c && (!n[0] || !n[1]))
		c->untold = "measured on one side only";
	else if (c && cycles && (is_emulated(a) || is_emulated(b)))
		c->untold = "an emulator's own cycles";
	else if (c && (n[0] < COMPARE_REPEATS || n[1] < COMPARE_REPEATS))
		c->untold = comparison->side[0].runs == 1 ? "fewer than 3 repeats" : "in fewer than 3 runs of a side";
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
		c->untold = "measured on one side only";
	else
		difference_of_medians(x, all_a, off_a, y, all_b, off_b, &c->difference);
}

static void compare_case(struct comparison *comparison, const struct outcome *a, const struct outcome *b)
{
	const struct compared_side *side = comparison->side;
	size_t i;

	compare_refills(comparison, a, b, 0);
	compare_refills(comparison, a, b, 1);
	compare_means(comparison, a, b, "cycles", -1, -1);
	for (i = 0; i < side[0].events; i++) {
		const char *name = side[0].rows.extra_names[side[0].event[i]];
		long other = find_event(&side[1], name);

		if (other >= 0)
			compare_means(comparison, a, b, name, side[0].event[i], other);
	}
}

/* ---- all of them ---- */

/* Refills are exact; what is timed or counted has to come from several runs. */
static int is_enough(const struct comparison *comparison, const struct compared *c)
{
	return comparison->side[0].runs > 1 || !strcmp(c->measure, "refills") || !strcmp(c->measure, "mix_refills");
}

static void decide(struct comparison *comparison)
{
	struct difference **difference = xcalloc(comparison->count, sizeof(*difference));
	size_t i;

	for (i = 0; i < comparison->count; i++)
		if (!comparison->compared[i].untold)
			difference[comparison->told++] = &comparison->compared[i].difference;
	difference_decide(difference, comparison->told, COMPARE_CONFIDENCE);
	for (i = 0; i < comparison->count; i++) {
		struct compared *c = &comparison->compared[i];

		c->apart = c->difference.changed && !is_enough(comparison, c);
		c->difference.changed &= !c->apart;
		comparison->changed += c->difference.changed;
		comparison->apart += c->apart;
	}
	free(difference);
}

void compare_runs(struct comparison *comparison)
{
	size_t n[2], i = 0, j = 0;
	struct entry *entry[2];
	int order;

	entry[0] = entries_of(&comparison->side[0], &n[0]);
	entry[1] = entries_of(&comparison->side[1], &n[1]);
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

static void free_side(struct compared_side *side)
{
	size_t i;

	free(side->event);
	cells_free(&side->cells);
	free(side->rows.row);
	for (i = 0; i < side->runs; i++) {
		rows_free(&side->part[i]);
		json_decref(side->json[i]);
	}
	free(side->name);
	free(side->part);
	free(side->json);
}

void compare_free(struct comparison *comparison)
{
	int i;

	for (i = 0; i < 2; i++) {
		free(comparison->only[i]);
		free_side(&comparison->side[i]);
	}
	free(comparison->compared);
}
