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
	u8 repeats_differ; /* in refills or mix_refills */
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

/* A sentence for the first reason of a list that is explained; the list itself if none is. */
const char *judge_explain(const char *reasons);

/* Measure of a phase: refills or cycles of an outcome. */
double outcome_value(const struct outcome *outcome);

/*
 * Verdict over the 4k and the 2m cells of one phase and host page; *why says in one sentence what it rests on, or
 * why there is none. Targets tcg and model never get one.
 */
enum verdict cells_verdict(const struct cells *cells, u64 phase, const char *host, const char **why);

#endif
