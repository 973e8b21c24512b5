// SPDX-License-Identifier: GPL-2.0
/*
 * From rows to costs: which rows count, and what a flush costs by them.
 *
 * Ring 0 (targets kvm and module): phase `both`, one loop around flush and touches, and not `op`
 * plus `retouch`. What counts is an iteration as a whole, with the TLB in the state that such flushes
 * keep it in: the flush works on a filled TLB, and what it leaves unfinished is paid for by the
 * touches. `op` has no set to flush and is the row for no working set at all. An iteration without
 * flush is subtracted from all; n* does not depend on it. In both loops the pages flushed are mapped
 * but were touched once only, since an iteration touches nothing but the set.
 *
 * Target user: a system call of n pages and the pass behind it, less the same of its twin, which
 * flushes nothing. What is left is the flush and the work on n page table entries; that work is the
 * same whether the kernel flushes one by one or fully, so that it is in the slope of both lines and
 * cancels in n*. The kernel decides by its own ceiling which line a row belongs to: n* may well lie
 * beyond the pages that it flushed one by one, and then both lines are continued to where they meet.
 * For no working set the call alone is taken, with the smallest set in the TLB.
 */
#include "ceiling_points.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ceiling_is_call(const struct ceiling_pair *pair)
{
	return !!(ts_ops[pair->single].needs & TS_SYSCALLS);
}

/* ---- rows ---- */

/*
 * Reasons that concern F or the host page's name, and no cost. Of an imported row nobody asked for a host page (no
 * host_how), nor saw what executed it.
 */
static int is_harmless(const struct row *row, const char *reason)
{
	static const char *const harmless[] = { "ok", "unstable" };
	size_t i;

	if (!strcmp(reason, "backing"))
		return *row->host_how != '\0';

	for (i = 0; i < TS_COUNT(harmless); i++)
		if (!strcmp(reason, harmless[i]))
			return 1;
	return 0;
}

/*
 * May the row's cost be used? A full flush that costs no more than none (no-contrast) is an answer,
 * unless the reason is that every system call flushes.
 */
static int is_usable(const struct row *row)
{
	char *copy = xstrdup(row->valid), *save = NULL, *word;
	int usable = row->r.has_cycles;

	for (word = strtok_r(copy, "+", &save); word; word = strtok_r(NULL, "+", &save))
		usable &= is_harmless(row, word) || !strcmp(word, "no-contrast");
	free(copy);
	return usable;
}

/* Are system calls timed in the cell? */
static int has_calls(const struct cell *cell)
{
	size_t i;

	for (i = 0; i < cell->outcomes; i++)
		if (ts_ops[cell->outcome[i].row[0]->c.op].needs & TS_SYSCALLS)
			return 1;
	return 0;
}

/* Rows that would be part of a line or its control. Of calls that is the pass without one, too: ceiling_entry_flushes(). */
static int is_cost(const struct cell *cell, const struct row *row)
{
	int is_call = !!(ts_ops[row->c.op].needs & TS_SYSCALLS);

	if (row->c.mix || row->c.code)
		return 0;
	if (row->c.phase == TS_RETOUCH)
		return is_call || (row->c.op == TS_OP_NONE && has_calls(cell));
	return (row->c.phase == TS_BOTH || row->c.phase == TS_OP) && !is_call;
}

/* Counts a row that is a cost; what keeps it from being used is added to the reasons in *sum. */
static void count_row(const struct row *row, struct ceiling *ceiling, struct row *sum)
{
	char *copy, *save = NULL, *word;

	if (is_usable(row)) {
		ceiling->used++;
		return;
	}
	ceiling->left++;
	copy = xstrdup(row->valid);
	for (word = strtok_r(copy, "+", &save); word; word = strtok_r(NULL, "+", &save))
		if (!is_harmless(row, word))
			row_reason(sum, word);
	free(copy);
}

void ceiling_count_rows(struct ceiling *ceiling)
{
	struct row sum = { .valid = "ok" };
	size_t i, j, k;

	for (i = 0; i < ceiling->cells.count; i++) {
		const struct cell *cell = &ceiling->cells.cell[i];

		for (j = 0; j < cell->outcomes; j++)
			for (k = 0; k < cell->outcome[j].n; k++)
				if (is_cost(cell, cell->outcome[j].row[k]))
					count_row(cell->outcome[j].row[k], ceiling, &sum);
	}
	snprintf(ceiling->reasons, sizeof(ceiling->reasons), "%s", sum.valid);
}

/* ---- points ---- */

/* The row of an op with a number of pages and of one repeat; 0 if there is none that can be used. */
static const struct row *find_row(const struct cell *cell, u64 op, u64 count, u64 repeat)
{
	size_t i, j;

	for (i = 0; i < cell->outcomes; i++) {
		const struct outcome *o = &cell->outcome[i];

		if (o->row[0]->c.op != op || (count && o->row[0]->c.count != count))
			continue;
		for (j = 0; j < o->n; j++)
			if (o->row[j]->c.repeat == repeat && is_usable(o->row[j]))
				return o->row[j];
	}
	return NULL;
}

/* Cycles of a system call, and of the pass behind it unless it is the call alone; or NAN. */
static double call_cost(const struct ceiling_collector *collector, const struct row *row)
{
	const char *text = row_extra(collector->rows, row, "op_cycles");
	char *end;
	double cycles = strtod(text, &end);

	if (end == text || *end || !(cycles > 0 && cycles < INFINITY))
		return NAN;
	return cycles + (collector->alone ? 0 : row->r.cycles);
}

/*
 * What the pair's other op costs by itself for a row's pages, or NAN. Both are serialising, so that their times
 * add: 200 cycles of INVLPG and 350 of INVPCID came to 550 a page (D. Hansen on 5 December 2017, Skylake).
 */
static double other_cost(const struct ceiling_collector *collector, const struct row *row)
{
	const struct row *other = find_row(collector->also, collector->pair->also, row->c.count, row->c.repeat);
	const struct row *none = find_row(collector->also, TS_OP_NONE, 0, row->c.repeat);

	return other ? (double)other->r.cycles - (none ? (double)none->r.cycles : 0) : NAN;
}

/* Net cost of a row, or NAN: what it costs beyond the control. */
static double net_cost(const struct ceiling_collector *collector, const struct row *row, double baseline)
{
	const struct row *twin;

	if (!ceiling_is_call(collector->pair))
		return row->r.cycles - (isnan(baseline) ? 0 : baseline) +
		       (collector->pair->also && row->c.op == collector->pair->single ?
				other_cost(collector, row) : 0);
	twin = find_row(collector->cell, row->c.op + 1, row->c.count, row->c.repeat);
	return twin ? call_cost(collector, row) - call_cost(collector, twin) : NAN;
}

/* Median of the iterations without any flush; NAN when there is none. */
double ceiling_baseline(const struct ceiling_collector *collector)
{
	double *values = NULL, median = NAN;
	size_t i, j, n = 0;

	for (i = 0; i < collector->cell->outcomes && !ceiling_is_call(collector->pair); i++) {
		const struct outcome *o = &collector->cell->outcome[i];

		if (o->row[0]->c.op != TS_OP_NONE)
			continue;
		values = xrealloc(values, (n + o->n) * sizeof(*values));
		for (j = 0; j < o->n; j++)
			if (is_usable(o->row[j]))
				values[n++] = o->row[j]->r.cycles;
	}
	if (n)
		median = statistics_median(values, n);
	free(values);
	return median;
}

static void add_point(struct fit_point **point, size_t *n, double x, double y)
{
	*point = xrealloc(*point, (*n + 1) * sizeof(**point));
	(*point)[(*n)++] = (struct fit_point){ x, y };
}

void ceiling_add_row(const struct ceiling_collector *collector, const struct row *row, struct ceiling_cell *cell)
{
	double cost = is_usable(row) ? net_cost(collector, row, cell->baseline) : NAN;

	if (isnan(cost))
		return;
	if (row->c.op == cell->pair->single && row->class == TS_CLASS_SELECTIVE) {
		add_point(&cell->single, &cell->singles, row->c.count, cost);
		cell->most_single = fmax(cell->most_single, row->c.count);
	} else if (row->c.op == cell->pair->full && row->class == TS_CLASS_FULL) {
		add_point(&cell->full, &cell->fulls, row->c.count, cost);
		if (!cell->flat && (!cell->least_full || row->c.count < cell->least_full))
			cell->least_full = row->c.count;
	}
}

int ceiling_has_op(const struct cell *cell, u64 op)
{
	size_t i;

	for (i = 0; i < cell->outcomes; i++)
		if (cell->outcome[i].row[0]->c.op == op)
			return 1;
	return 0;
}

/* Does it have any full flush? */
int ceiling_has_full(const struct cell *cell)
{
	size_t i;

	for (i = 0; i < cell->outcomes; i++)
		if (cell->outcome[i].row[0]->class == TS_CLASS_FULL)
			return 1;
	return 0;
}

#define ENTRY_SHARE 0.35 /* as in user_measure.c */
#define ENTRY_LEAST 0.25 /* of the pass without a call: less is noise, or a set beyond the TLB */

/* Median of the passes behind an op of a class with the fewest pages; NAN when there is none. */
static double fewest_pass(const struct cell *cell, u64 op, enum ts_class class)
{
	u64 fewest = ~0ULL;
	double pass = NAN;
	size_t i;

	for (i = 0; i < cell->outcomes; i++) {
		const struct outcome *o = &cell->outcome[i];

		if (o->row[0]->c.op != op || o->row[0]->class != class || o->row[0]->c.count >= fewest)
			continue;
		fewest = o->row[0]->c.count;
		pass = o->cycles;
	}
	return pass;
}

int ceiling_entry_flushes(const struct ceiling_collector *collector)
{
	u64 op = collector->pair->single;
	double idle = fewest_pass(collector->cell, TS_OP_NONE, TS_CLASS_NONE);
	double twin = fewest_pass(collector->cell, op + 1, TS_CLASS_NONE);
	double full = fewest_pass(collector->cell, op, TS_CLASS_FULL);

	return ceiling_is_call(collector->pair) && twin - idle > ENTRY_LEAST * idle &&
	       twin - idle > ENTRY_SHARE * (full - idle);
}
