// SPDX-License-Identifier: GPL-2.0
/* Controls, fracture index and verdict. */
#include "judge.h"

#include "compare.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- single rows ---- */

int judge_twin_must_be_new(const struct ts_case *c)
{
	const struct ts_op *op = &ts_ops[c->op];

	return op->class != TS_CLASS_NONE && (!c->global || op->drops_global);
}

/* A full flush that has to drop every leaf of the set. */
static int is_full_control(const struct row *row)
{
	return row->class == TS_CLASS_FULL && ts_must(&row->c, 0) == row->c.leaves;
}

void judge_row(struct row *row)
{
	u64 mix = ts_mix_leaves(row->c.mix);

	if (!row->r.has_refills)
		return;
	if (row->c.op == TS_OP_NONE && (row->r.refills || (mix && row->r.mix_refills)))
		row_reason(row, "control-none");
	if (is_full_control(row) &&
	    (row->r.refills != row->c.leaves || (mix && row->r.mix_refills != mix)))
		row_reason(row, "control-full");
}

/* ---- grouping ---- */

static struct ts_case cell_key(const struct row *row)
{
	struct ts_case c = row->c;

	c.op = c.at = c.count = c.repeat = 0;
	return c;
}

static int in_cell(const struct cell *cell, const struct row *row)
{
	struct ts_case a = cell_key(cell->key), b = cell_key(row);

	return !memcmp(&a, &b, sizeof(a)) && !strcmp(cell->key->host, row->host) &&
	       !strcmp(cell->key->target, row->target) && !strcmp(cell->key->accel, row->accel) &&
	       !strcmp(cell->key->cpu, row->cpu) && !strcmp(cell->key->run, row->run);
}

/* Which cells there are, by hash; places hold the index of a cell + 1. Never more than half full. */
struct cell_index {
	size_t *place, mask;
};

static u64 hash_bytes(u64 hash, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	while (n--)
		hash = (hash ^ *at++) * 0x100000001b3ULL; /* FNV-1a */
	return hash;
}

static u64 hash_cell(const struct row *row)
{
	struct ts_case c = cell_key(row);
	u64 hash = hash_bytes(0xcbf29ce484222325ULL, &c, sizeof(c));

	hash = hash_bytes(hash, row->host, strlen(row->host));
	hash = hash_bytes(hash, row->run, strlen(row->run));
	return hash ^ hash >> 32;
}

static struct cell *find_cell(struct cells *cells, struct cell_index *index, const struct row *row)
{
	size_t at = hash_cell(row) & index->mask;
	struct cell *cell;

	for (; index->place[at]; at = (at + 1) & index->mask)
		if (in_cell(&cells->cell[index->place[at] - 1], row))
			return &cells->cell[index->place[at] - 1];
	index->place[at] = cells->count + 1;
	if (!(cells->count & (cells->count - 1))) /* full: its room is a power of two */
		cells->cell = xrealloc(cells->cell, (cells->count ? 2 * cells->count : 1) * sizeof(*cell));
	cell = &cells->cell[cells->count++];
	memset(cell, 0, sizeof(*cell));
	cell->key = row;
	return cell;
}

static struct outcome *find_outcome(struct cell *cell, const struct row *row)
{
	struct outcome *outcome;
	size_t i;

	for (i = 0; i < cell->outcomes; i++) {
		const struct ts_case *c = &cell->outcome[i].row[0]->c;

		if (c->op == row->c.op && c->at == row->c.at && c->count == row->c.count)
			return &cell->outcome[i];
	}
	cell->outcome = xrealloc(cell->outcome, (cell->outcomes + 1) * sizeof(*outcome));
	outcome = &cell->outcome[cell->outcomes++];
	memset(outcome, 0, sizeof(*outcome));
	return outcome;
}

static void add_row(struct outcome *outcome, const struct row *row)
{
	if (!(outcome->n & (outcome->n - 1))) /* full: its room is a power of two */
		outcome->row = xrealloc(outcome->row, (outcome->n ? 2 * outcome->n : 1) * sizeof(*outcome->row));
	outcome->row[outcome->n++] = row;
}

/* ---- medians over repeats ---- */

/*
 * A median hides an outlier, which with two or three repeats is as much evidence as the others. Repeats of a quiet
 * machine lie within a few per cent; 20 are no matter of physical pages or of an interrupt.
 */
#define REPEATS_APART 0.2

int repeats_differ(double *values, size_t n, double step)
{
	double low = INFINITY, high = -INFINITY;
	size_t i;

	for (i = 0; i < n; i++) {
		low = fmin(low, values[i]);
		high = fmax(high, values[i]);
	}
	return high - low > step && high - low > REPEATS_APART * fabs(statistics_median(values, n));
}

/* Refills are counts of a few dozen leaves and exact: any difference is one. */
static int counts_differ(double *values, size_t n)
{
	size_t i;

	for (i = 1; i < n; i++)
		if (values[i] != values[0])
			return 1;
	return 0;
}

static int cycles_differ(double *values, size_t n)
{
	return repeats_differ(values, n, COMPARE_TIMER_STEP);
}

/* Median of one number over the rows that have it; *differ is set when differ_by says so (0: nobody asks). */
static double median_of(const struct outcome *outcome, int has(const struct row *row),
			u64 get(const struct row *row), int differ_by(double *values, size_t n), u8 *differ)
{
	double *values = xcalloc(outcome->n, sizeof(double)), median = NAN;
	size_t i, n = 0;

	for (i = 0; i < outcome->n; i++)
		if (has(outcome->row[i]))
			values[n++] = get(outcome->row[i]);
	if (n && differ_by)
		*differ |= differ_by(values, n);
	if (n)
		median = statistics_median(values, n);
	free(values);
	return median;
}

static int has_refills(const struct row *row) { return row->r.has_refills; }
static u64 get_refills(const struct row *row) { return row->r.refills; }
static int has_mix(const struct row *row) { return row->r.has_mix; }
static u64 get_mix(const struct row *row) { return row->r.mix_refills; }
static int has_cycles(const struct row *row) { return row->r.has_cycles; }
static u64 get_cycles(const struct row *row) { return row->r.cycles; }

/* Reasons of a + joined list, one by one. */
static void merge_reasons(char *into, size_t size, const char *list)
{
	struct row sum = { .valid = "" };
	char *copy = xstrdup(list), *save = NULL, *word;

	snprintf(sum.valid, sizeof(sum.valid), "%s", into);
	for (word = strtok_r(copy, "+", &save); word; word = strtok_r(NULL, "+", &save))
		if (strcmp(word, "ok"))
			row_reason(&sum, word);
	free(copy);
	snprintf(into, size, "%.*s", (int)size - 1, sum.valid);
}

static void sum_up(struct outcome *outcome)
{
	int refill = outcome->row[0]->c.phase == TS_REFILL; /* its cycles are shown nowhere */
	u8 *differ = &outcome->repeats_differ;
	size_t i;

	outcome->refills = median_of(outcome, has_refills, get_refills, counts_differ, differ);
	outcome->mix_refills = median_of(outcome, has_mix, get_mix, counts_differ, differ);
	outcome->cycles = median_of(outcome, has_cycles, get_cycles, refill ? NULL : cycles_differ, differ);
	strcpy(outcome->valid, "ok");
	for (i = 0; i < outcome->n; i++)
		if (!i || strcmp(outcome->row[i]->valid, outcome->row[i - 1]->valid))
			merge_reasons(outcome->valid, sizeof(outcome->valid), outcome->row[i]->valid);
}

double outcome_value(const struct outcome *outcome)
{
	return outcome->row[0]->c.phase == TS_REFILL ? outcome->refills : outcome->cycles;
}

/* ---- the three that F is made of ---- */

/*
 * Which page a selective flush hits, from the least to the most related to the set; the anomaly is a
 * flush of an unrelated page, so the first one there is wins. In-set and same-2m have leaves to drop of
 * their own and never decide.
 */
static int unrelated_rank(const struct outcome *outcome)
{
	switch (outcome->row[0]->c.at) {
	case TS_AT_FAR:
		return 3;
	case TS_AT_MAPPED:
		return 2;
	case TS_AT_NEXT_2M:
		return 1;
	}
	return 0;
}

static int better_selective(const struct outcome *a, const struct outcome *b)
{
	const struct ts_case *x = &a->row[0]->c, *y = b ? &b->row[0]->c : NULL;

	if (a->row[0]->class != TS_CLASS_SELECTIVE || !unrelated_rank(a) || isnan(outcome_value(a)))
		return 0;
	if (!y || x->op != y->op)
		return !y || x->op < y->op;
	if (unrelated_rank(a) != unrelated_rank(b))
		return unrelated_rank(a) > unrelated_rank(b);
	return x->count < y->count;
}

/* An op that does nothing: none, or the selective op's twin, which stands behind none in the op table. */
static int is_none(const struct outcome *a, const struct cell *cell)
{
	u64 op = a->row[0]->c.op;

	if (op == TS_OP_NONE)
		return 1;
	return cell->selective && op == cell->selective->row[0]->c.op + 1 &&
	       ts_ops[op].needs & TS_SYSCALLS && ts_ops[op].class == TS_CLASS_NONE &&
	       a->row[0]->c.count == cell->selective->row[0]->c.count;
}

static void pick(struct cell *cell)
{
	size_t i;

	for (i = 0; i < cell->outcomes; i++)
		if (better_selective(&cell->outcome[i], cell->selective))
			cell->selective = &cell->outcome[i];
	for (i = 0; i < cell->outcomes; i++) {
		const struct outcome *o = &cell->outcome[i];

		if (isnan(outcome_value(o)))
			continue;
		if (is_none(o, cell))
			cell->none = o; /* the twin rather than none: it enters the kernel, too */
		if (!cell->full && is_full_control(o->row[0]))
			cell->full = o;
		if (!cell->full && o->row[0]->class == TS_CLASS_FULL &&
		    ts_ops[o->row[0]->c.op].needs & TS_SYSCALLS)
			cell->full = o;
	}
}

/* ---- F ---- */

static int compare_repeats(const void *a, const void *b)
{
	u64 x = (*(const struct row *const *)a)->c.repeat, y = (*(const struct row *const *)b)->c.repeat;

	return (x > y) - (x < y);
}

/* The rows of an outcome in order of repeat; the caller frees. */
static const struct row **by_repeat(const struct outcome *outcome)
{
	const struct row **row = xcalloc(outcome->n, sizeof(*row));

	memcpy(row, outcome->row, outcome->n * sizeof(*row));
	qsort(row, outcome->n, sizeof(*row), compare_repeats);
	return row;
}

static const struct row *of_repeat(const struct row *const *row, size_t n, u64 repeat)
{
	const struct row like = { .c.repeat = repeat }, *key = &like;
	const struct row *const *found = bsearch(&key, row, n, sizeof(*row), compare_repeats);

	return found ? *found : NULL;
}

/*
 * F of one repeat. Refills: (selective - must) / (full - must), must being what the selective flush has to
 * drop by itself; cycles: against the control, since a pass costs something without any flush.
 */
static double f_of_repeat(const struct cell *cell, const struct row *none, const struct row *selective,
			  const struct row *full)
{
	if (!none || !full)
		return NAN;
	if (cell->key->c.phase == TS_REFILL)
		return none->r.has_refills && selective->r.has_refills && full->r.has_refills ?
			       fracture_index(selective->r.refills, ts_must(&selective->c, 0),
					      full->r.refills) :
			       NAN;
	return none->r.has_cycles && selective->r.has_cycles && full->r.has_cycles ?
		       fracture_index(selective->r.cycles, none->r.cycles, full->r.cycles) :
		       NAN;
}

/* A bound that the target computed from its own iterations (columns f_low, f_high), or the fallback. */
static double bound(const struct rows *rows, const struct row *row, const char *column, double fallback)
{
	const char *text = row_extra(rows, row, column);

	return text && *text ? strtod(text, NULL) : fallback;
}

static void find_f(const struct rows *rows, struct cell *cell)
{
	const struct row **none, **full;
	size_t i, n = 0;
	double *values, f, low, high;

	cell->f = (struct interval){ NAN, NAN, NAN };
	if (!cell->none || !cell->selective || !cell->full)
		return;
	values = xcalloc(cell->selective->n, sizeof(double));
	none = by_repeat(cell->none);
	full = by_repeat(cell->full);
	for (i = 0; i < cell->selective->n; i++) {
		const struct row *row = cell->selective->row[i];

		f = row_has_reason(row, "no-contrast") ? NAN :
			f_of_repeat(cell, of_repeat(none, cell->none->n, row->c.repeat), row,
				    of_repeat(full, cell->full->n, row->c.repeat));
		if (isnan(f))
			continue;
		low = bound(rows, row, "f_low", f);
		high = bound(rows, row, "f_high", f);
		cell->f.low = n ? fmin(cell->f.low, low) : low;
		cell->f.high = n ? fmax(cell->f.high, high) : high;
		values[n++] = f;
	}
	if (n)
		cell->f.value = statistics_median(values, n);
	free(none);
	free(full);
	free(values);
}

/* Order of the op table; within an op from the least related page to the set itself, then by count. */
static int compare_outcomes(const void *a, const void *b)
{
	const struct ts_case *x = &((const struct outcome *)a)->row[0]->c;
	const struct ts_case *y = &((const struct outcome *)b)->row[0]->c;

	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->at != y->at)
		return x->at > y->at ? -1 : 1;
	return x->count < y->count ? -1 : x->count > y->count;
}

static void judge_cell(const struct rows *rows, struct cell *cell)
{
	const struct outcome *parts[3];
	size_t i;

	qsort(cell->outcome, cell->outcomes, sizeof(*cell->outcome), compare_outcomes);
	for (i = 0; i < cell->outcomes; i++)
		sum_up(&cell->outcome[i]);
	pick(cell);
	find_f(rows, cell);
	strcpy(cell->valid, "ok");
	parts[0] = cell->none;
	parts[1] = cell->selective;
	parts[2] = cell->full;
	for (i = 0; i < 3; i++)
		merge_reasons(cell->valid, sizeof(cell->valid),
			      parts[i] ? parts[i]->valid : "control-missing");
	if (parts[0] && parts[1] && parts[2] && isnan(cell->f.value))
		merge_reasons(cell->valid, sizeof(cell->valid), "no-contrast");
}

void cells_build(const struct rows *rows, struct cells *cells)
{
	struct cell_index index = { NULL, 1 };
	size_t i;

	memset(cells, 0, sizeof(*cells));
	while (index.mask <= 2 * rows->count)
		index.mask = 2 * index.mask + 1;
	index.place = xcalloc(index.mask + 1, sizeof(size_t));
	for (i = 0; i < rows->count; i++) {
		struct cell *cell = find_cell(cells, &index, &rows->row[i]);

		add_row(find_outcome(cell, &rows->row[i]), &rows->row[i]);
	}
	free(index.place);
	for (i = 0; i < cells->count; i++)
		judge_cell(rows, &cells->cell[i]);
}

void cells_free(struct cells *cells)
{
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		for (j = 0; j < cells->cell[i].outcomes; j++)
			free(cells->cell[i].outcome[j].row);
		free(cells->cell[i].outcome);
	}
	free(cells->cell);
	memset(cells, 0, sizeof(*cells));
}
