/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reach: latency against the number of lines, out of the cells of a run that measure nothing but op
 * none.
 *
 * Cells that differ only in the number of lines make a curve. The packed curve (lines side by side,
 * 64 in a page) needs hardly any translation: it is the caches' and the timer's share. A
 * first-level cache of 512 or 768 lines is full in the middle of what is asked about a TLB, so that
 * only what is left of a curve over the packed one (net) may be read as the TLB's, and cliffs are
 * looked for there alone.
 */
#ifndef TS_REACH_H
#define TS_REACH_H

#include "judge.h"

#include <jansson.h>
#include <stdio.h>

/* One number of lines of a curve. Cycles are TSC cycles a line, medians over the repeats. */
struct reach_sample {
	double lines;
	double cycles;	   /* NAN: declined */
	double spread;	   /* half the distance of the repeats' quartiles; NAN for a single one */
	double low, high;  /* the quartiles */
	double net;	   /* over the packed curve; NAN when one of the two is missing */
	double net_spread; /* what net is uncertain by: both spreads, timer, edge */
	double edge;	   /* what packed rises by here, a cache being about full; 0 elsewhere */
	const char *valid; /* ok, or reasons of the rows or the packed ones: net carries no cliff */
	double *value;	   /* repeats */
	size_t values;
};

struct reach_curve {
	const struct row *key; /* any row of it */
	char *name;	       /* "4K pages", "2M pages, 4K apart", "packed" */
	int packed;
	const struct reach_curve *base; /* the packed curve under it, or 0 */
	struct reach_sample *sample;	/* in ascending order of lines */
	size_t samples;
};

/* The curves of one run, target and host page: packed ones last, small pages first. */
struct reach_set {
	const struct row *key; /* any row of it */
	int emulated;	       /* the CPU is: its cycles are not to be shown */
	struct reach_curve *curve;
	size_t curves;
};

struct reach {
	struct reach_set *set;
	size_t count;
};

/* A set is made where at least one curve has two numbers of lines. It points into cells. */
void reach_build(const struct cells *cells, struct reach *reach);
void reach_free(struct reach *reach);

/* The point of a curve (which may be 0) at so many lines, or 0. */
const struct reach_sample *reach_at(const struct reach_curve *curve, double lines);

/* What stands behind its cycles: ! not valid, ~ the repeats differ by more than REACH_STEP, else a blank. */
char reach_mark(const struct reach_sample *sample);

/*
 * Why a curve of large pages ends before others of its set: a line in a page of its own takes memory, of which a plan
 * asks for only so much. A sentence, which the caller frees; 0 for other curves.
 */
char *reach_end_text(const struct reach_set *set, const struct reach_curve *curve);

/* Is the cell part of a curve? */
int reach_owns(const struct reach *reach, const struct cell *cell);
/* The cells that are part of none; they stay those of `cells`, only the list is the caller's to free. */
struct cells reach_rest(const struct cells *cells, const struct reach *reach);

#define REACH_STEP 1.0 /* cycles a line: what a packed curve rises by at a cache's edge, at least */
#define REACH_CLIFFS 8 /* more than a TLB has levels */

/*
 * Cliffs of a curve, at most REACH_CLIFFS of them: of net, or of the cycles of a packed curve.
 * Points that are declined or not valid take no part.
 */
size_t reach_cliffs(const struct reach_curve *curve, struct cliff cliff[REACH_CLIFFS]);
/* Up to how many lines they were looked for; NAN when there are fewer than two points. */
double reach_searched(const struct reach_curve *curve);
/* "48 to 64, 1536 to 2048 (doubtful)", "none up to 8192" or "not told"; the caller frees. */
char *reach_cliffs_text(const struct reach_curve *curve);
/* The curve of that name on that host page, or 0. */
const struct reach_curve *reach_same_curve(const struct reach *reach, const char *host, const char *name);
const char *reach_certainty(const struct cliff *cliff);

enum reach_answer { REACH_NOT_TOLD, REACH_ONE_ENTRY, REACH_PIECES };

/*
 * Is a large page cached in pieces of 4K? Compares a curve of large pages with lines 4K apart to
 * the one of 4K pages, where the latter has its cliffs. *why is one sentence; the caller frees it.
 */
enum reach_answer reach_answer(const struct reach_set *set, const struct reach_curve *large,
			       char **why);
/* Is there such a question about this curve? */
int reach_asks(const struct reach_curve *curve);

/* One table for each set, its cliffs and answers; fits 100 columns. */
void reach_print(FILE *out, const struct reach *reach);

/* The same as JSON, null without sets; the caller owns it. Schema in the man page. */
json_t *reach_json(const struct reach *reach);

#endif
