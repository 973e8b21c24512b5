/* SPDX-License-Identifier: GPL-2.0 */
/* report.html and guidance.md: the runs they are made of, and the parts of the page. */
#ifndef TS_REPORT_H
#define TS_REPORT_H

#include "environment.h"
#include "figures.h"

/* One run, read and judged. */
struct report_run {
	char *dir, *label; /* label: what it is called in the page, once in it */
	char *data;	   /* rows.csv, as a link from the page */
	struct rows rows;
	struct cells cells, rest; /* all of them; those that are no part of a reach curve */
	struct reach reach;
	struct ceiling ceiling;
	json_t *json; /* run.json, or 0 */
	const char *stamp;
	u64 phase; /* that the verdict is about; TS_PHASES when no flush was measured */
	struct figures figures;
	char *undrawn; /* why there are no pictures, or 0 */
	int failed;    /* that was no lack of gnuplot, but something that went wrong */
};

struct report_options {
	double flush_rate; /* flushes a second that costs are told for */
};

/* ---- report_words.c ---- */

/* What a run asks: by its rows, not by the name of a plan, which an imported run has not. */
enum report_question { ASKS_FLUSH, ASKS_REACH, ASKS_CEILING, ASKS_NONE };
#define REPORT_QUESTIONS ASKS_NONE

enum report_question report_question(const struct report_run *run);
/* The question as a heading. */
const char *report_question_title(enum report_question question);
/* What the run did not measure, with the plans that do: "...", empty when it is all; the caller frees. */
char *report_unasked(const struct report_run *run);
/* The answer: two sentences; the caller frees both. */
void report_answer(const struct report_run *run, char **first, char **second);
/* Host page number i of the phase's cells, each once; 0 beyond the last. */
const char *report_host(const struct report_run *run, size_t i);
/* What a column of rows.csv holds; "" when this program does not know it. */
const char *report_column(const char *name);
/* "rows 3, 7, 11" of outcomes: sequence numbers, for who wants to look them up. The caller frees. */
char *report_rows(const struct outcome *const *outcome, size_t n);

/* ---- report_page.c, report_tables.c, report_side.c, report_plan.c ---- */

void report_page(FILE *out, const struct report_run *runs, size_t n, const char *style,
		 const struct published *published, const struct report_options *options);
void report_fracture_table(FILE *out, const struct report_run *run, u64 phase);
void report_op_tables(FILE *out, const struct report_run *run, u64 phase);
void report_control_table(FILE *out, const struct report_run *run, u64 phase);
void report_published_table(FILE *out, const struct report_run *run, const struct published *published);
void report_loops_table(FILE *out, const struct report_run *run, const struct published *published);
void report_reach_tables(FILE *out, const struct report_run *run);
void report_invalid_table(FILE *out, const struct report_run *run);
/* Which sections of the plan became rows, with the values that are in rows. */
void report_plan(FILE *out, const struct report_run *run);
/* Is it of hardware: the stamp that says why not, "not verified: imported", or yes, as given. */
const char *report_hardware(const struct report_run *run, const char *yes);
void report_side_by_side(FILE *out, const struct report_run *runs, size_t n);

/* ---- report_ceiling.c ---- */

/* All that `tlbscope ceiling` says of the run, or the one sentence why it says nothing. */
void report_ceiling(FILE *out, const struct report_run *run);
/* What its loops do without a flush and with a full one; nothing where every row has a control of its own. */
void report_ceiling_controls(FILE *out, const struct report_run *run);

/* ---- guidance.c, guidance_markdown.c ---- */

/* One thing to set, or to leave. */
struct guidance_point {
	const char *topic;
	char *advice;
	char *evidence;	     /* rows, published figures, or "not measured here" with what would measure it */
	const char *snippet; /* ready to paste, or 0 */
	char *made;	     /* snippet, when it was made for this machine */
};

#define GUIDANCE_POINTS 6

/* All runs of one machine: each point from the first of them that measured it. */
struct guidance {
	const struct report_run *run; /* the first of the machine */
	struct guidance_point point[GUIDANCE_POINTS];
};

/* Are two runs of one machine, and both of hardware or of the same emulation? */
int guidance_same_machine(const struct report_run *a, const struct report_run *b);
/* One for each machine, in the order of the runs; returns how many. */
size_t guidance_build(const struct report_run *runs, size_t n, const struct report_options *options,
		      struct guidance **list);
/* Does nothing follow from it, its rows being no evidence about hardware? And how that is said. */
int guidance_is_idle(const struct guidance *guidance);
extern const char guidance_idle[];
void guidance_free(struct guidance *list, size_t n);
void guidance_markdown(FILE *out, const struct report_run *runs, size_t n,
		       const struct report_options *options);

#endif
