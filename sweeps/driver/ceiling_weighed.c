// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own flushes, weighed: what they would cost under each ceiling on today's machine. The
 * method is that of the commit which set 33 in 2014: how often each number of pages occurs, times what
 * it costs.
 */
#include "ceiling.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void note(FILE *out, char *text)
{
	print_wrapped(out, text);
	free(text);
}

/* How often each number of pages was flushed one by one, and how many flushes are no larger. */
static void print_sizes(FILE *out, const struct flushes *flushes)
{
	u64 upto = 0;
	long pages = 0, next;
	size_t i;

	for (;;) {
		u64 count = 0;

		for (next = 0, i = 0; i < flushes->sums; i++)
			if (flushes_counts(&flushes->sum[i]) && flushes->sum[i].pages > pages &&
			    (!next || flushes->sum[i].pages < next))
				next = flushes->sum[i].pages;
		if (!next)
			return;
		for (i = 0; i < flushes->sums; i++)
			if (flushes_counts(&flushes->sum[i]) && flushes->sum[i].pages == next)
				count += flushes->sum[i].count;
		pages = next;
		upto += count;
		if (pages < FLUSHES_MANY)
			fprintf(out, "%8ld", pages);
		else
			fprintf(out, "%8s", ">512");
		fprintf(out, " %10llu %7.2f%%\n", count, 100.0 * upto / flushes->lines);
	}
}

/* "123 flushes in 4.5 s": what the record holds, and what it does not. */
static void print_record(FILE *out, const struct flushes *flushes)
{
	u64 full = 0, task = 0, asked = 0;
	size_t i;

	for (i = 0; i < flushes->sums; i++) {
		const struct flush_sum *sum = &flushes->sum[i];

		if (!flushes_counts(sum))
			asked += sum->count;
		else if (sum->pages == FLUSHES_FULL && sum->reason == FLUSHES_TASK_SWITCH)
			task += sum->count;
		else if (sum->pages == FLUSHES_FULL)
			full += sum->count;
	}
	fprintf(out, "\n%s: %llu flushes", flushes->path, flushes->lines);
	if (!isnan(flushes->seconds))
		fprintf(out, " in %.3f s, %.0f a second", flushes->seconds, flushes->lines / flushes->seconds);
	fprintf(out, "\n\n%8s %10s %8s\n", "pages", "flushes", "up to");
	print_sizes(out, flushes);
	note(out, xasprintf("Full whatever the ceiling: %llu at a change of the address space. Full for another reason or for "
		"more pages than the ceiling then was, which the record does not tell: %llu; they count as full "
		"under every ceiling here.%s", task, full,
		flushes->most > CEILING_STANDARD ? "" :
		" No flush of more than 33 pages was seen one by one: what a higher ceiling would do is not in "
		"this record."));
	if (asked)
		note(out, xasprintf("%llu requests to other CPUs are no flushes themselves and do not count.",
				    asked));
	if (flushes->lost)
		note(out, xasprintf("The tracer lost %llu events: the rates are too low by those. A larger buffer "
				    "(buffer_size_kb, perf record -m) loses none.", flushes->lost));
}

/* Cycles as 3 to 4 digits with k or M. */
static const char *cycles_text(char *text, size_t size, double cycles)
{
	if (fabs(cycles) >= 1e7)
		snprintf(text, size, "%.1fM", cycles / 1e6);
	else if (fabs(cycles) >= 1e4)
		snprintf(text, size, "%.1fk", cycles / 1e3);
	else
		snprintf(text, size, "%.0f", cycles);
	return text;
}

#define COLUMNS 8 /* working sets side by side */

/* The cells [from, to) of an advice, as columns; a line for each candidate, then the best. */
static void print_block(FILE *out, const struct ceiling_cell *const *cell, size_t n,
			const struct ceiling_context *context)
{
	static const double candidates[] = { 0, 1, 2, 4, 8, 16, 33, 64, 128, 256, 512 };
	double per = isnan(context->flushes->seconds) ? 1 : context->flushes->seconds;
	struct ceiling_choice best;
	char text[32];
	size_t i, j;

	fprintf(out, "\n%-11s", "ceiling");
	for (j = 0; j < n; j++) {
		char *name = xasprintf("%s %.0f%s", ts_page_names[cell[j]->key->c.guest], cell[j]->lines,
				       cell[j]->lines && cell[j]->key->c.touches != cell[j]->key->c.leaves ?
				       "'" : "");

		fprintf(out, " %10s", cell[j]->flat && !cell[j]->lines ? "none" : name);
		free(name);
	}
	fprintf(out, "\n");
	for (i = 0; i < TS_COUNT(candidates); i++) {
		fprintf(out, "%-11.0f", candidates[i]);
		for (j = 0; j < n; j++)
			fprintf(out, " %10s", cycles_text(text, sizeof(text), ceiling_expected(
				cell[j], context->flushes, candidates[i]) / per));
		fprintf(out, "\n");
		if (candidates[i] >= context->flushes->most && candidates[i] >= CEILING_STANDARD)
			break; /* all larger ones are the same */
	}
	fprintf(out, "%-11s", "best");
	for (j = 0; j < n; j++) {
		best = ceiling_best(cell[j], context->flushes);
		snprintf(text, sizeof(text), best.to > best.from ? "%.0f-%.0f" : "%.0f", best.from, best.to);
		fprintf(out, " %10s", text);
	}
	fprintf(out, "\n%-11s", "cycles");
	for (j = 0; j < n; j++)
		fprintf(out, " %10s", cycles_text(text, sizeof(text),
						  ceiling_best(cell[j], context->flushes).cost / per));
	fprintf(out, "\n");
}

/* Per cent of one core, at 33 and at the best. */
static void print_share(FILE *out, const struct ceiling_cell *const *cell, size_t n,
			const struct ceiling_context *context)
{
	double scale = 100 / context->flushes->seconds / context->tsc_hz;
	size_t j;

	if (isnan(scale))
		return;
	fprintf(out, "%-11s", "% at 33");
	for (j = 0; j < n; j++)
		fprintf(out, " %10.4f", scale * ceiling_expected(cell[j], context->flushes, CEILING_STANDARD));
	fprintf(out, "\n%-11s", "% at best");
	for (j = 0; j < n; j++)
		fprintf(out, " %10.4f", scale * ceiling_best(cell[j], context->flushes).cost);
	fprintf(out, "\n");
}

static void print_advice_blocks(FILE *out, const struct ceiling *c, const struct ceiling_advice *advice,
				const struct ceiling_context *context)
{
	const struct ceiling_cell *cell[COLUMNS];
	size_t i, n = 0;

	fprintf(out, "\nHost page %s, %s%s%s: cycles%s by ceiling, for each working set (page, lines)\n",
		advice->host, ceiling_single_name(advice->pair),
		advice->pair->single == advice->pair->full ? "" : " against ",
		advice->pair->single == advice->pair->full ? "" : ts_ops[advice->pair->full].name,
		isnan(context->flushes->seconds) ? "" : " a second");
	for (i = 0; i < c->count; i++) {
		if (ceiling_counts(&c->cell[i], advice))
			cell[n++] = &c->cell[i];
		if (n && (n == COLUMNS || i + 1 == c->count)) {
			print_block(out, cell, n, context);
			print_share(out, cell, n, context);
			n = 0;
		}
	}
}

void ceiling_print_weighed(FILE *out, const struct ceiling *c, const struct ceiling_context *context)
{
	size_t i;

	print_record(out, context->flushes);
	for (i = 0; i < c->advices; i++)
		print_advice_blocks(out, c, &c->advice[i], context);
	fprintf(out, "\n");
	if (isnan(context->flushes->seconds))
		note(out, xstrdup("No rates and no per cent of a core: the record does not tell its time in seconds "
				  "(a single flush, or a trace clock that counts something else)."));
	else if (isnan(context->tsc_hz))
		note(out, xstrdup("No per cent of a core: run.json has no rate of the TSC that can be believed (machine.tsc_hz)."));
	else
		note(out, xasprintf("%%: of one core of %.3f GHz (TSC), summed over all CPUs of the record. best: any "
				    "ceiling of the range comes to the same.", context->tsc_hz / 1e9));
}
