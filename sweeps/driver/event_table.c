// SPDX-License-Identifier: GPL-2.0
/* Tables of counted events. */
#include "cell_text.h"
#include "event_table.h"

#include "row_check.h"
#include "table.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of an event in an iteration: less is what interrupts and the end of the loop add to a count. */
#define EVENT_STEP 0.1

/* ---- columns and values ---- */

static int is_number(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return *text && !*end;
}

int event_column(const struct rows *rows, size_t i)
{
	size_t j;

	if (!row_names_event(rows->extra_names[i]))
		return 0;
	for (j = 0; j < rows->count; j++)
		if (row_begins_number(rows->row[j].extra[i]))
			return 1;
	return 0;
}

/* Median; *differ says whether the repeats do. */
static double value_of(const struct rows *rows, const struct outcome *outcome, const char *event, int *differ)
{
	double *values, median = NAN;
	size_t i, n = 0;

	*differ = 0;
	if (!outcome)
		return NAN;
	values = xcalloc(outcome->n, sizeof(double));
	for (i = 0; i < outcome->n; i++)
		n += is_number(row_extra(rows, outcome->row[i], event), &values[n]);
	if (n) {
		*differ = repeats_differ(values, n, EVENT_STEP);
		median = statistics_median(values, n);
	}
	free(values);
	return median;
}

double event_value(const struct rows *rows, const struct outcome *outcome, const char *event)
{
	int differ;

	return value_of(rows, outcome, event, &differ);
}

u64 event_phase(const struct rows *rows, const struct cells *cells, const char *event)
{
	static const u64 phases[] = { TS_BOTH, TS_RETOUCH };
	size_t i, j, k;

	for (k = 0; k < TS_COUNT(phases); k++)
		for (i = 0; i < cells->count; i++)
			for (j = 0; cells->cell[i].key->c.phase == phases[k] &&
				    j < cells->cell[i].outcomes;
			     j++)
				if (!isnan(event_value(rows, &cells->cell[i].outcome[j], event)))
					return phases[k];
	return TS_PHASES;
}

double event_f(const struct rows *rows, const struct cell *cell, const char *event)
{
	return fracture_index(event_value(rows, cell->selective, event),
			      event_value(rows, cell->none, event),
			      event_value(rows, cell->full, event));
}

/* ---- the table ---- */

static const char *count_text(char *text, size_t size, double value, int differ)
{
	if (isnan(value))
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%.3f%s", fabs(value) < 0.0005 ? 0 : value, differ ? "~" : "");
	return text;
}

/* A line is what a reader compares: which flush, and what it made the loops count. */
struct line {
	const struct rows *rows;
	const struct cells *cells;
	const struct cell *cell;
	const char *event;
};

/* Returns whether repeats differ in it. */
static int print_line(FILE *out, const struct line *line, const char *kind,
		       const struct outcome *outcome, const char *f)
{
	const struct cell *access = cells_with_phase(line->cells, line->cell, TS_ACCESS);
	const struct cell *op = cells_with_phase(line->cells, line->cell, TS_OP);
	int differ[3];
	double both = value_of(line->rows, outcome, line->event, &differ[0]);
	double flush = value_of(line->rows, op ? cell_same_op(op, outcome) : NULL, line->event, &differ[1]);
	double touches = value_of(line->rows, access && access->outcomes ? &access->outcome[0] : NULL, line->event,
				  &differ[2]);
	char *by = text_op(outcome), host[32], text[4][32];

	fprintf(out, "%-9s %-5s %-9s %-22s %10s",
		row_host_text(host, sizeof(host), line->cell->key),
		ts_page_names[line->cell->key->c.guest], kind, by, count_text(text[0], 32, both, differ[0]));
	if (line->cell->key->c.phase == TS_BOTH)
		fprintf(out, " %9s %9s %9s", count_text(text[1], 32, flush, differ[1]),
			count_text(text[2], 32, touches, differ[2]),
			count_text(text[3], 32, both - flush - touches, 0));
	fprintf(out, "%s%s\n", *f ? "  " : "", f);
	free(by);
	return differ[0] || differ[1] || differ[2];
}

static int print_cell(FILE *out, const struct line *line)
{
	const struct cell *cell = line->cell;
	double f = event_f(line->rows, cell, line->event);
	char text[32] = "-";
	int differ = 0;

	if (!isnan(f))
		snprintf(text, sizeof(text), "%.2f%s", fabs(f) < 0.005 ? 0 : f,
			 strcmp(cell->valid, "ok") ? "!" : "");
	if (cell->none)
		differ |= print_line(out, line, "none", cell->none, "");
	if (cell->selective)
		differ |= print_line(out, line, "selective", cell->selective, text);
	if (cell->full)
		differ |= print_line(out, line, "full", cell->full, "");
	return differ;
}

static int has_value(const struct rows *rows, const struct cell *cell, const char *event)
{
	return !isnan(event_value(rows, cell->none, event)) ||
	       !isnan(event_value(rows, cell->selective, event)) ||
	       !isnan(event_value(rows, cell->full, event));
}

/* Cells of one working set stand below its name. */
static int print_event(FILE *out, const struct rows *rows, const struct cells *cells,
		       const char *event, u64 phase)
{
	char *set = NULL, *next;
	int differ = 0;
	size_t i;

	fprintf(out, "\n%s, in an iteration, medians\n", event);
	for (i = 0; i < cells->count; i++) {
		const struct line line = { rows, cells, &cells->cell[i], event };

		if (cells->cell[i].key->c.phase != phase ||
		    !has_value(rows, &cells->cell[i], event))
			continue;
		next = text_set(&cells->cell[i].key->c);
		if (!set || strcmp(set, next)) {
			fprintf(out, "\n%s\n%-9s %-5s %-9s %-22s %10s", next, "host", "guest",
				"flush", "by", phase == TS_BOTH ? "both" : "touches");
			if (phase == TS_BOTH)
				fprintf(out, " %9s %9s %9s", "flush", "touches", "net");
			fprintf(out, "  F\n");
		}
		differ |= print_cell(out, &line);
		free(set);
		set = next;
	}
	free(set);
	return differ;
}

int event_tables_print(FILE *out, const struct rows *rows, const struct cells *cells)
{
	size_t i;
	u64 phase;
	int differ = 0;

	for (i = 0; i < rows->extras; i++) {
		if (!event_column(rows, i))
			continue;
		phase = event_phase(rows, cells, rows->extra_names[i]);
		if (phase != TS_PHASES)
			differ |= print_event(out, rows, cells, rows->extra_names[i], phase);
	}
	return differ;
}
