/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The break-even of tlb_single_page_flush_ceiling, out of the rows of a run: up to how many pages is
 * flushing them one by one cheaper than flushing everything, for each working set that has to be
 * touched again afterwards? Pure: rows in, result out; ceiling_table.c prints it.
 *
 * Costs are net TSC cycles of one flush with what it makes the working set cost afterwards:
 *   one by one   s + b n     n pages, n >= 1
 *   full         f + d n     d is what a system call of n pages costs anyway; 0 for instructions
 * and n* is where the two lines cross.
 */
#ifndef TS_CEILING_H
#define TS_CEILING_H

#include "flushes.h"
#include "judge.h"

#include <jansson.h>
#include <stdio.h>

/* The answer of a run on stdout: break-even and ceiling, or the one line that says why there is none. */
int ceiling_answer(const char *run, struct problem *problem);

#define CEILING_STANDARD 33 /* Linux since 2014 (commit a5102476a24b) */
#define CEILING_MOST TS_MAX_COUNT

/* The op that flushes page by page, and the one that flushes everything. */
struct ceiling_pair {
	u8 single, full; /* enum ts_op_id; the same one for system calls, where the kernel decides */
	u8 also;	 /* what each page costs beside single, by phase op; TS_OP_NONE: nothing */
	const char *stands_for;
};

enum ceiling_outcome {
	CEILING_NOT_TOLD,   /* why says what is missing */
	CEILING_BREAK_EVEN, /* at n* pages */
	CEILING_FULL,	    /* a full flush is cheaper from the first page on */
	CEILING_SINGLE,	    /* one by one is cheaper for every number of pages measured */
	CEILING_EQUAL,	    /* no difference beyond noise */
	CEILING_REVERSED,   /* more pages are cheaper one by one: no ceiling says that */
};

/* One working set: guest page, host page and lines to touch again. */
struct ceiling_cell {
	const struct row *key; /* any row of it */
	const struct ceiling_pair *pair;
	double lines; /* 0: the flush alone, whatever the guest's pages */
	struct fit_point *single, *full; /* x pages, y net cycles; every repeat is a point */
	size_t singles, fulls;
	int flat;	 /* a full flush has no number of pages */
	double baseline; /* an iteration without flush, subtracted; NAN when there was none */
	double most_single, least_full; /* pages; least_full 0 when flat */
	struct crossing fit;
	enum ceiling_outcome outcome;
	struct interval pages; /* n*; low and high NAN when too few points give no interval */
	double beyond; /* pages from the largest n flushed one by one up to n*; 0 when measured */
	double below;  /* pages from n* up to the smallest n flushed fully; 0 when measured */
	double f; /* of what a full flush makes the set cost, what the first page costs already; or NAN */
	char *why; /* one sentence for every outcome but break-even */
};

/* One recommendation for each host page. */
struct ceiling_advice {
	const char *host;
	const struct ceiling_pair *pair;
	struct interval ceiling; /* with every n* at the lower and at the upper end of its interval */
	double loss, loss_standard; /* cycles that the worst flush loses: at ceiling, at 33 */
	int keep;    /* 33 loses hardly more: leave it */
	size_t sets; /* working sets that it rests on */
};

struct ceiling {
	struct cells cells; /* what the cells below point into */
	struct ceiling_cell *cell;
	size_t count;
	struct ceiling_advice *advice;
	size_t advices;
	size_t used, left; /* rows that lines and controls are made of: those that count, those not valid */
	char reasons[160]; /* of those left out, joined by + */
	int untrusted;	   /* every row is valid by itself, but the kernel's entry flushes */
	char *refusal;	   /* why there is no cell with an outcome; 0 when there is one */
	const char *remedy; /* what would help; 0 when nothing is known to */
	int refusal_code;  /* enum exit_code for it */
};

/* Were several pages flushed one by one anywhere in these rows? Else there is nothing to build. */
int ceiling_asked(const struct rows *rows);
/* rows stay the caller's and have to live as long; json: their run.json, or 0. Rows of an emulator are refused. */
void ceiling_build(const struct rows *rows, const json_t *json, struct ceiling *ceiling);
void ceiling_free(struct ceiling *ceiling);

/* Net cycles of one flush by the fitted lines, without the work that both ways have in common (d n). */
double ceiling_single(const struct ceiling_cell *cell, double pages);
double ceiling_full(const struct ceiling_cell *cell);

/* Second half of ceiling_build(): the advice, out of the cells. */
void ceiling_advise(struct ceiling *ceiling);

#define CEILING_CONTRAST 5 /* standard errors: a difference below that is none */

/* Does it have lines that say something? */
int ceiling_tells(const struct ceiling_cell *cell);
/* Is it among those that an advice rests on? */
int ceiling_counts(const struct ceiling_cell *cell, const struct ceiling_advice *advice);

/* The advice for kernels under PTI, if its ops were measured for a host page; 0 otherwise. */
int ceiling_advice_pti(const struct ceiling *ceiling, const char *host, struct ceiling_advice *advice);

/* Cycles that the worst flush of all sets of an advice loses under a ceiling. */
double ceiling_worst_flush(const struct ceiling *ceiling, const struct ceiling_advice *advice, double at);

/* ---- weighted by recorded flushes ---- */

/* Cycles that the recorded flushes cost in all, if the ceiling had been this. */
double ceiling_expected(const struct ceiling_cell *cell, const struct flushes *flushes, double ceiling);

/* A range of ceilings that are all the same for a record, since no flush of it lies between. */
struct ceiling_choice {
	double from, to; /* to: CEILING_MOST when no recorded flush is larger */
	double cost;	 /* cycles; or of the worst set, what it loses */
};

/* The best for one cell. */
struct ceiling_choice ceiling_best(const struct ceiling_cell *cell, const struct flushes *flushes);
/* The one whose worst working set loses least against the best for that set. */
struct ceiling_choice ceiling_best_of_all(const struct ceiling *ceiling,
					  const struct ceiling_advice *advice,
					  const struct flushes *flushes);
/* What the worst set of an advice loses at a ceiling. */
double ceiling_worst(const struct ceiling *ceiling, const struct ceiling_advice *advice,
		     const struct flushes *flushes, double at);

/*
 * The number that an advice comes to, weighed by a record if there is one (flushes may be 0). *keep:
 * it is 33, since no other is much better.
 */
double ceiling_advised(const struct ceiling *ceiling, const struct ceiling_advice *advice,
		       const struct flushes *flushes, int *keep);

/* ---- out ---- */

/* What is known beside the rows. */
struct ceiling_context {
	const char *name;	       /* of the run, for headings */
	const struct flushes *flushes; /* or 0 */
	double tsc_hz;		       /* NAN when not recorded */
};

/* Text for a terminal. */
void ceiling_print(FILE *out, const struct ceiling *ceiling, const struct ceiling_context *context);
/* The part of it about a record, which there is as text only. */
void ceiling_print_weighed(FILE *out, const struct ceiling *ceiling,
			   const struct ceiling_context *context);
/* The same as JSON; the caller owns it. Schema in the man page. */
json_t *ceiling_json(const struct ceiling *ceiling, const struct ceiling_context *context);

/* What flushes page by page: "invlpg", "invlpg+invpcid-addr". */
const char *ceiling_single_name(const struct ceiling_pair *pair);
/* "one by one is cheaper ..." in two words, for tables and JSON. */
const char *ceiling_outcome_name(enum ceiling_outcome outcome);
/* "4k"; "any" where no page of a set is touched. */
const char *ceiling_page_name(const struct ceiling_cell *cell);
/* "4k, 256 lines", "the flush alone"; caller frees. */
char *ceiling_set_text(const struct ceiling_cell *cell);

#endif
