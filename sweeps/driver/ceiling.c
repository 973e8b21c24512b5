// SPDX-License-Identifier: GPL-2.0
/*
 * From rows to break-evens.
 *
 * One page by one page the cost is a line from n = 1 on only. Where large pages are fractured the first
 * one drops (nearly) everything and the next find nothing left to drop: a step from 0 to 1, and then
 * the price of the instruction. So the fit knows no n = 0, the step is in its intercept, and F is
 * what that step is of what a full flush costs. F = 1 does not make full flushes cheaper: that n*
 * tells.
 *
 * What a break-even of this kind leaves out: see the scope that ceiling_table.c prints.
 */
#include "ceiling_points.h"
#include "environment.h"
#include "reason.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which an advice takes them: the first that a run has. */
static const struct ceiling_pair pairs[] = {
	{ TS_OP_MPROTECT, TS_OP_MPROTECT, 0, "user memory, this machine's kernel" },
	{ TS_OP_MADVISE, TS_OP_MADVISE, 0, "user memory, this machine's kernel" },
	{ TS_OP_MUNMAP, TS_OP_MUNMAP, 0, "user memory, this machine's kernel" },
	{ TS_OP_INVLPG, TS_OP_CR3, 0, "user memory under a kernel without PTI" },
	{ TS_OP_INVLPG, TS_OP_CR3, TS_OP_INVPCID_ADDR, "user memory under PTI (the times of both added)" },
	{ TS_OP_INVLPG, TS_OP_INVPCID_ALL, 0, "kernel memory" },
	{ TS_OP_INVLPG, TS_OP_PGE, 0, "kernel memory on a CPU without INVPCID" },
	{ TS_OP_INVPCID_ADDR, TS_OP_INVPCID_ALL, 0, "INVPCID alone, which no Linux uses" },
};

const char *ceiling_single_name(const struct ceiling_pair *pair)
{
	return pair->also ? "invlpg+invpcid-addr" : ts_ops[pair->single].name;
}

/* ---- one cell ---- */

char *ceiling_set_text(const struct ceiling_cell *cell)
{
	const struct ts_case *c = &cell->key->c;

	if (!cell->lines)
		return xstrdup(ceiling_is_call(cell->pair) ? "the call alone" : "the flush alone");
	return xasprintf("%.0f lines%s", cell->lines,
			 c->touches != c->leaves ? ", 4K apart" : "");
}

const char *ceiling_page_name(const struct ceiling_cell *cell)
{
	return cell->flat && !cell->lines ? "any" : ts_page_names[cell->key->c.guest];
}

const char *ceiling_outcome_name(enum ceiling_outcome outcome)
{
	static const char *const names[] = {
		[CEILING_NOT_TOLD] = "not told", [CEILING_BREAK_EVEN] = "break-even",
		[CEILING_FULL] = "full cheaper", [CEILING_SINGLE] = "one by one cheaper",
		[CEILING_EQUAL] = "no difference", [CEILING_REVERSED] = "reversed",
	};

	return names[outcome];
}

/* What is missing for the two lines; 0 when nothing is. */
static char *why_not(const struct ceiling_cell *cell)
{
	const char *single = ceiling_single_name(cell->pair), *full = ts_ops[cell->pair->full].name;

	if (!cell->singles && !cell->fulls && ceiling_is_call(cell->pair))
		return xasprintf("no valid %s row that has op_cycles and a valid twin of equal pages and repeat",
				 single);
	if (!cell->singles && ceiling_is_call(cell->pair))
		return xasprintf("no valid %s row was flushed page by page (class selective): the kernel's ceiling was "
				 "below the smallest number of pages, or it flushes everything for a single page",
				 single);
	if (!cell->singles)
		return xasprintf("no valid row of op %s", single);
	if (cell->fit.kind != CROSSING_UNKNOWN)
		return NULL;
	if (!cell->fulls && ceiling_is_call(cell->pair))
		return xasprintf("no valid full flush: no row of %s has more pages than the kernel's ceiling; "
				 "--count with larger numbers has", single);
	if (!cell->fulls)
		return xasprintf("no valid full flush (op %s) beside %s", full, single);
	if (!cell->flat && cell->fit.level.n < 2)
		return xasprintf("op %s: full flushes of one number of pages (%.0f) or %s of one (%.0f) make no line; "
				 "it takes two different ones on both sides of the kernel's ceiling", full,
				 cell->full[0].x, single, cell->single[0].x);
	return xasprintf("op %s: one number of pages only (%.0f); a line needs two", single,
			 cell->single[0].x);
}

/* What the fit says, and its sentence unless that is a break-even. */
static void judge(struct ceiling_cell *cell)
{
	const struct crossing *fit = &cell->fit;
	const struct interval *gap = &fit->gap;

	cell->pages = fit->x;
	cell->why = why_not(cell);
	if (cell->why)
		return;
	if (fit->kind == CROSSING_REVERSED) {
		cell->outcome = CEILING_REVERSED;
		cell->why = xstrdup("one by one, more pages cost less than in a full flush, which no ceiling can "
				    "make use of; look for a disturbed measurement");
	} else if (fit->kind == CROSSING_PARALLEL) {
		cell->outcome = gap->low > 0 ? CEILING_SINGLE : gap->high < 0 ? CEILING_FULL : CEILING_EQUAL;
		cell->why = xasprintf("cost per page does not differ by more than noise%s",
				      gap->low > 0 ? ", and one by one is cheaper in all that was measured" :
				      gap->high < 0 ? ", and a full flush is cheaper in all that was measured" :
						      ", nor does the rest: no difference is claimed");
		cell->pages = (struct interval){ NAN, NAN, NAN };
	} else if (fit->x.value < 1 && !(fit->x.high >= 1)) {
		cell->outcome = CEILING_FULL;
		cell->why = xstrdup("a full flush is cheaper than flushing one page");
	} else {
		cell->outcome = CEILING_BREAK_EVEN;
		cell->beyond = fmax(0, fit->x.value - cell->most_single);
		cell->below = cell->flat ? 0 : fmax(0, cell->least_full - fit->x.value);
	}
}

/* Collects and fits one cell; it is dropped when nothing of the pair is in it. */
static void add_cell(struct ceiling *ceiling, const struct ceiling_collector *collector)
{
	struct ceiling_cell cell = {
		.key = collector->cell->key, .pair = collector->pair, .flat = !ceiling_is_call(collector->pair),
		.f = NAN, .pages = { NAN, NAN, NAN },
	};
	size_t i, j;

	if (!ceiling_has_op(collector->cell, cell.pair->single))
		return;
	if (cell.pair->also && !(collector->also && ceiling_has_op(collector->also, cell.pair->also)))
		return;
	if (!ceiling_has_op(collector->cell, cell.pair->full) &&
	    (ceiling_has_full(collector->cell) || cell.pair->full != TS_OP_CR3))
		return; /* without any full flush one pair says so, in the name of all */
	cell.lines = collector->alone || cell.key->c.phase == TS_OP ? 0 : cell.key->c.touches;
	cell.baseline = ceiling_baseline(collector);
	for (i = 0; i < collector->cell->outcomes; i++)
		for (j = 0; j < collector->cell->outcome[i].n; j++)
			ceiling_add_row(collector, collector->cell->outcome[i].row[j], &cell);
	if (ceiling_entry_flushes(collector))
		cell.singles = cell.fulls = 0;
	statistics_cross(cell.single, cell.singles, cell.full, cell.fulls, cell.flat, &cell.fit);
	judge(&cell);
	if (ceiling_entry_flushes(collector)) {
		free(cell.why);
		ceiling->untrusted = 1;
		cell.why = xstrdup("a system call that flushes nothing makes the set cost much of what a full flush "
				   "makes it cost, so that the entry into the kernel flushes by itself");
	}
	ceiling->cell = xrealloc(ceiling->cell, (ceiling->count + 1) * sizeof(cell));
	ceiling->cell[ceiling->count++] = cell;
}

static int fits(const struct cell *cell, const struct ceiling_pair *pair)
{
	const struct ts_case *c = &cell->key->c;

	if (c->mix || c->code)
		return 0;
	return ceiling_is_call(pair) ? c->phase == TS_RETOUCH : c->phase == TS_BOTH || c->phase == TS_OP;
}

static int same_place(const struct row *a, const struct row *b)
{
	return !strcmp(a->run, b->run) && !strcmp(a->target, b->target) && !strcmp(a->host, b->host);
}

/* Is it the smallest set of its guest page, the one whose calls are taken alone? */
static int is_smallest(const struct cells *cells, const struct cell *cell, const struct ceiling_pair *pair)
{
	size_t i;

	for (i = 0; i < cells->count; i++) {
		const struct cell *other = &cells->cell[i];

		if (fits(other, pair) && ceiling_has_op(other, pair->single) && same_place(other->key, cell->key) &&
		    other->key->c.guest == cell->key->c.guest &&
		    other->key->c.touches < cell->key->c.touches)
			return 0;
	}
	return 1;
}

/* The cell of the flush alone (phase op) at a place; 0 if there is none. */
static const struct cell *flush_alone(const struct cells *cells, const struct row *at)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (cells->cell[i].key->c.phase == TS_OP && same_place(cells->cell[i].key, at))
			return &cells->cell[i];
	return NULL;
}

static void add_pair(const struct rows *rows, const struct ceiling_pair *pair, struct ceiling *ceiling)
{
	struct ceiling_collector collector = { .rows = rows, .pair = pair };
	size_t i;

	for (i = 0; i < ceiling->cells.count; i++) {
		collector.cell = &ceiling->cells.cell[i];
		if (!fits(collector.cell, pair))
			continue;
		collector.also = pair->also ? flush_alone(&ceiling->cells, collector.cell->key) : NULL;
		collector.alone = ceiling_is_call(pair) && is_smallest(&ceiling->cells, collector.cell, pair);
		if (collector.alone)
			add_cell(ceiling, &collector);
		collector.alone = 0;
		add_cell(ceiling, &collector);
	}
}

/* By pair, host page in the order of the rows, guest page, lines. */
static int compare_cells(const void *a, const void *b)
{
	const struct ceiling_cell *x = a, *y = b;

	if (x->pair != y->pair)
		return x->pair < y->pair ? -1 : 1;
	if (strcmp(x->key->host, y->key->host))
		return x->key->sequence < y->key->sequence ? -1 : 1;
	if (x->key->c.guest != y->key->c.guest)
		return x->key->c.guest < y->key->c.guest ? -1 : 1;
	return (x->lines > y->lines) - (x->lines < y->lines);
}

/* ---- costs ---- */

double ceiling_single(const struct ceiling_cell *cell, double pages)
{
	return cell->fit.rising.intercept + (cell->fit.rising.slope - cell->fit.level.slope) * pages;
}

double ceiling_full(const struct ceiling_cell *cell)
{
	return cell->fit.level.intercept;
}

int ceiling_tells(const struct ceiling_cell *cell)
{
	return cell->outcome == CEILING_BREAK_EVEN || cell->outcome == CEILING_FULL ||
	       cell->outcome == CEILING_SINGLE;
}

/* ---- F ---- */

/* The cell without a working set that belongs to one with; 0 if there is none. */
static const struct ceiling_cell *alone_of(const struct ceiling *ceiling, const struct ceiling_cell *cell)
{
	size_t i;

	for (i = 0; i < ceiling->count; i++) {
		const struct ceiling_cell *other = &ceiling->cell[i];

		if (other->pair == cell->pair && !other->lines && same_place(other->key, cell->key) &&
		    (!ceiling_is_call(cell->pair) || other->key->c.guest == cell->key->c.guest) &&
		    other->fit.kind != CROSSING_UNKNOWN)
			return other;
	}
	return NULL;
}

/* F out of the lines: what the first page makes the set cost, of what a full flush makes it cost. */
static void find_f(const struct ceiling *ceiling, struct ceiling_cell *cell)
{
	const struct ceiling_cell *alone = cell->lines ? alone_of(ceiling, cell) : NULL;
	double first, all, error;

	if (!alone || cell->fit.kind == CROSSING_UNKNOWN)
		return;
	first = ceiling_single(cell, 1) - ceiling_single(alone, 1);
	all = ceiling_full(cell) - ceiling_full(alone);
	error = hypot(statistics_line_error(&cell->fit.level, 0),
		      statistics_line_error(&alone->fit.level, 0)) +
		hypot(statistics_line_error(&cell->fit.rising, 1),
		      statistics_line_error(&alone->fit.rising, 1));
	if (all > 0 && all > CEILING_CONTRAST * error)
		cell->f = first / all;
}

/* ---- nothing to tell ---- */

/* The sentence for a list of reasons, which judge.c has as "no verdict: ...". */
static const char *explanation(const char *reasons)
{
	const char *sentence = reason_sentence(reasons), *colon = strstr(sentence, "verdict: ");

	return colon ? colon + strlen("verdict: ") : sentence;
}

/* An emulator's cycles, or predictions: whatever outcome the cells have, it is none of hardware. */
static void refuse_emulated(const struct rows *rows, const char *stamp, struct ceiling *c)
{
	c->refusal_code = EXIT_REFUSED;
	c->refusal = xasprintf("target %s is %s: an emulator's cycles give no break-even", rows->row[0].target, stamp);
	c->remedy = "measure on target kvm, module or user; tlbscope doctor says what each of them needs here";
}

/* Why none of the cells has an outcome; nothing when one has. */
static void refuse(const struct rows *rows, struct ceiling *c)
{
	const char *first = NULL;
	size_t i;

	for (i = 0; i < c->count; i++) {
		if (c->cell[i].outcome != CEILING_NOT_TOLD)
			return;
		first = first ? first : c->cell[i].why;
	}
	c->refusal_code = c->left || c->untrusted ? EXIT_REFUSED : EXIT_INPUT;
	c->remedy = "tlbscope run ceiling measures what is needed, on target kvm, module or user";
	if (c->left) {
		c->refusal = xasprintf("%zu of %zu rows that a break-even needs are not valid (%s): %s%s%s", c->left,
				       c->left + c->used, c->reasons, explanation(c->reasons),
				       c->used && first ? "; of the others: " : "", c->used && first ? first : "");
		c->remedy = reason_remedy(c->reasons);
	} else if (!c->used) {
		c->refusal = xasprintf("%zu rows, none of which times flushes of several numbers of pages (phase op or "
				       "both, on target user retouch)", rows->count);
	} else {
		c->refusal = xstrdup(first ? first : "no op flushes page by page");
		if (c->untrusted)
			c->remedy = "measure on target module or kvm, whose flushes need no system call";
	}
}

int ceiling_asked(const struct rows *rows)
{
	size_t i;

	for (i = 0; i < rows->count; i++)
		if (rows->row[i].c.count > 1)
			return 1;
	return 0;
}

void ceiling_build(const struct rows *rows, const json_t *json, struct ceiling *ceiling)
{
	const char *stamp;
	size_t i;

	memset(ceiling, 0, sizeof(*ceiling));
	cells_build(rows, &ceiling->cells);
	ceiling_count_rows(ceiling);
	for (i = 0; i < TS_COUNT(pairs); i++)
		add_pair(rows, &pairs[i], ceiling);
	if (ceiling->count)
		qsort(ceiling->cell, ceiling->count, sizeof(*ceiling->cell), compare_cells);
	for (i = 0; i < ceiling->count; i++)
		find_f(ceiling, &ceiling->cell[i]);
	stamp = environment_stamp(rows, json);
	if (*stamp) {
		refuse_emulated(rows, stamp, ceiling);
	} else {
		ceiling_advise(ceiling);
		refuse(rows, ceiling);
	}
}

void ceiling_free(struct ceiling *ceiling)
{
	size_t i;

	for (i = 0; i < ceiling->count; i++) {
		free(ceiling->cell[i].single);
		free(ceiling->cell[i].full);
		free(ceiling->cell[i].why);
	}
	free(ceiling->cell);
	free(ceiling->advice);
	free(ceiling->refusal);
	cells_free(&ceiling->cells);
	memset(ceiling, 0, sizeof(*ceiling));
}
