/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From rows to cells: rows that differ only in op, at, count and repeat belong together, and are judged
 * together. Controls are op none (must refill nothing) and a full flush (must refill every leaf that
 * it has to drop); without both there is no fracture index, and without valid ones no verdict.
 */
#ifndef TS_JUDGE_H
#define TS_JUDGE_H

#include "row.h"
#include "statistics.h"
#include "verdict.h"

/* All repeats of one op of a cell. */
struct outcome {
	const struct row **row; /* in file order; row[0] stands for op, at, count and class */
	size_t n;
	double refills, mix_refills, cycles; /* medians over the repeats; NAN when not measured */
	u8 repeats_differ; /* refills: at all; cycles: beyond noise, see repeats_differ() */
	char valid[160];   /* ok, or all reasons of its rows */
};

struct cell {
	const struct row *key; /* any row of it */
	struct outcome *outcome;
	size_t outcomes;
	/* The three that F is made of; 0 when not there. */
	const struct outcome *none, *selective, *full;
	struct interval f; /* NAN when it cannot be had; over repeats, or as the target gave it */
	char valid[160];   /* why f carries no verdict, or ok */
};

struct cells {
	struct cell *cell;
	size_t count;
};

void cells_build(const struct rows *rows, struct cells *cells);
void cells_free(struct cells *cells);

/* Adds control-none or control-full to a row that is a control itself and fails. */
void judge_row(struct row *row);

/* Does the op, run on leaf 0, have to make a new frame visible? */
int judge_twin_must_be_new(const struct ts_case *c);

/*
 * Do n >= 1 repeats lie further apart than noise: from the least to the most by more than 20 per cent of their
 * median, and by more than a step of what measured them? Reorders them.
 */
int repeats_differ(double *values, size_t n, double step);

/* Measure of a phase: refills or cycles of an outcome. */
double outcome_value(const struct outcome *outcome);

/* Are the cell's cycles an emulator's own? They would only look like a result. */
int cell_is_emulated(const struct cell *cell);
/* Is there anything of a phase to be shown? */
int cells_show_phase(const struct cells *cells, u64 phase);
/* The outcome of the same op, at the same place, of as many pages; 0 when the cell has none. */
const struct outcome *cell_same_op(const struct cell *cell, const struct outcome *like);
/* The cell that differs from like in nothing but the phase, or 0. */
const struct cell *cells_with_phase(const struct cells *cells, const struct cell *like, u64 phase);
/* The cell of a leaf size that a verdict rests on: plain pages, 16 or more of them; 0 when there is none. */
const struct cell *cells_verdict_cell(const struct cells *cells, u64 phase, const char *host, u64 guest);

/*
 * Verdict over the 4k and the 2m cells of one phase and host page; *why says in one sentence what it rests on, or
 * why there is none. Targets tcg and model never get one.
 */
enum verdict cells_verdict(const struct cells *cells, u64 phase, const char *host, const char **why);

#endif
