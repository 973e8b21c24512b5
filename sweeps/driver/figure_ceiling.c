// SPDX-License-Identifier: GPL-2.0
/*
 * Pictures of the break-even: a panel for each number of lines, cost against n, both guest pages in
 * it. Writes the table that plots/ceiling.gp draws; its head says what stands where.
 */
#include "ceiling.h"
#include "figures.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUESTS 2 /* 4k and 2m; 1g has no place in the plan */
#define MOST_PANELS 9

/* One panel: the cells of equal lines, by guest page; 0 where there is none. */
struct panel {
	double lines;
	const struct ceiling_cell *cell[GUESTS];
};

static struct panel *find_panel(struct panel *panel, size_t *n, double lines)
{
	size_t i;

	for (i = 0; i < *n; i++)
		if (panel[i].lines == lines)
			return &panel[i];
	if (*n == MOST_PANELS)
		return NULL;
	panel[*n] = (struct panel){ .lines = lines };
	return &panel[(*n)++];
}

static int compare_panels(const void *a, const void *b)
{
	double x = ((const struct panel *)a)->lines, y = ((const struct panel *)b)->lines;

	return (x > y) - (x < y);
}

/* The cells that an advice is about, told or not, as panels. */
static size_t make_panels(const struct ceiling *c, const struct ceiling_advice *advice,
			  struct panel panel[MOST_PANELS])
{
	size_t i, n = 0;

	for (i = 0; i < c->count; i++) {
		const struct ceiling_cell *cell = &c->cell[i];
		struct panel *at;

		if (cell->pair != advice->pair || strcmp(cell->key->host, advice->host) ||
		    cell->key->c.guest >= GUESTS || cell->outcome == CEILING_NOT_TOLD)
			continue;
		at = find_panel(panel, &n, cell->lines);
		if (at)
			at->cell[cell->key->c.guest] = cell;
	}
	qsort(panel, n, sizeof(*panel), compare_panels);
	return n;
}

static void write_number(FILE *out, double value)
{
	if (isfinite(value))
		fprintf(out, " %.3f", value);
	else
		fprintf(out, " NaN");
}

/* n* and its ends, for labels and bands; nothing where there is no break-even. */
static void write_pages(FILE *out, const struct ceiling_cell *cell)
{
	int told = cell && cell->outcome == CEILING_BREAK_EVEN;

	write_number(out, told ? cell->pages.value : NAN);
	write_number(out, told ? cell->pages.low : NAN);
	write_number(out, told ? cell->pages.high : NAN);
}

static int compare_points(const void *a, const void *b)
{
	const struct fit_point *x = a, *y = b;

	if (x->x != y->x)
		return x->x < y->x ? -1 : 1;
	return (x->y > y->y) - (x->y < y->y);
}

/* Median, least and most of the repeats at each n. */
static void write_points(FILE *out, const struct fit_point *point, size_t n)
{
	struct fit_point *copy = xcalloc(n, sizeof(*copy));
	size_t i, j;

	memcpy(copy, point, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare_points);
	for (i = 0; i < n; i = j) {
		for (j = i; j < n && copy[j].x == copy[i].x; j++)
			;
		fprintf(out, "%.0f", copy[i].x);
		write_number(out, copy[i + (j - i - 1) / 2].y);
		write_number(out, copy[i].y);
		write_number(out, copy[j - 1].y);
		fprintf(out, "\n");
	}
	free(copy);
}

/* Three blocks of a cell: points one by one, points of full flushes, both lines. */
static void write_cell(FILE *out, const struct ceiling_cell *cell)
{
	double n;

	fprintf(out, "\n\n# n median least most\nNaN NaN NaN NaN\n");
	if (cell)
		write_points(out, cell->single, cell->singles);
	fprintf(out, "\n\n# n median least most\nNaN NaN NaN NaN\n");
	if (cell && !cell->flat)
		write_points(out, cell->full, cell->fulls);
	fprintf(out, "\n\n# n one_by_one full\nNaN NaN NaN\n");
	for (n = 1; cell && n <= CEILING_MOST; n *= sqrt(sqrt(2))) {
		fprintf(out, "%.3f", n);
		write_number(out, cell->fit.rising.intercept + cell->fit.rising.slope * n);
		write_number(out, cell->fit.level.intercept + cell->fit.level.slope * n);
		fprintf(out, "\n");
	}
}

static void write_data(FILE *out, const struct panel *panel, size_t n)
{
	size_t i;

	fprintf(out, "# panel: title, n* low high of 4k, n* low high of 2m, any\n");
	for (i = 0; i < n; i++) {
		const struct ceiling_cell *small = panel[i].cell[0];
		int any = small && small->flat && !small->lines;

		fprintf(out, panel[i].lines ? "\"%.0f lines to touch again\"" : "\"the flush alone\"",
			panel[i].lines);
		write_pages(out, small);
		write_pages(out, panel[i].cell[1]);
		fprintf(out, " %d\n", any);
	}
	for (i = 0; i < n; i++) {
		write_cell(out, panel[i].cell[0]);
		write_cell(out, panel[i].cell[1]);
	}
}

/* Adds a cell's break-even to what the picture says in words. */
static char *add_words(char *text, const struct ceiling_cell *cell)
{
	char *next, *where;

	if (!cell)
		return text;
	where = cell->lines ? xasprintf("%s, %.0f lines", ts_page_names[cell->key->c.guest], cell->lines) :
			      xstrdup("The flush alone");
	if (cell->outcome != CEILING_BREAK_EVEN)
		next = xasprintf("%s %s: %s.", text, where, cell->why ?: "not told");
	else if (isnan(cell->pages.low))
		next = xasprintf("%s %s: break-even at %.0f pages.", text, where, cell->pages.value);
	else
		next = xasprintf("%s %s: break-even at %.0f pages (%.0f to %.0f).", text, where,
				 cell->pages.value, fmax(cell->pages.low, 0), cell->pages.high);
	free(where);
	free(text);
	return next;
}

/* Repeats that a number of pages stands for, at most. */
static size_t most_repeats(const struct panel *panel, size_t n)
{
	size_t i, g, j, k, same, most = 0;

	for (i = 0; i < n; i++)
		for (g = 0; g < GUESTS; g++)
			for (j = 0; panel[i].cell[g] && j < panel[i].cell[g]->singles; j++) {
				const struct fit_point *point = panel[i].cell[g]->single;

				for (k = same = 0; k < panel[i].cell[g]->singles; k++)
					same += point[k].x == point[j].x;
				most = same > most ? same : most;
			}
	return most;
}

/* One picture: the advice for a host page, and what it rests on. */
static int draw_advice(const struct figures_from *from, const struct ceiling_advice *advice, const char *name,
		       struct figures *figures, struct problem *p)
{
	const struct row *row = from->rows->row;
	char *heading = xasprintf("%s, target %s, host page %s: %s against %s", row->cpu, row->target,
				  advice->host, ceiling_single_name(advice->pair),
				  advice->pair->single == advice->pair->full ?
					  "the kernel's full flush" : ts_ops[advice->pair->full].name);
	struct drawing drawing = { .script = "ceiling", .unit = "net TSC cycles", .heading = heading };
	struct panel panel[MOST_PANELS];
	size_t i, g, n = make_panels(from->ceiling, advice, panel);
	char *base;
	FILE *out = figure_data(from, figures, name, &base, p);

	if (!out) {
		free(heading);
		free(base);
		return -EINVAL;
	}
	write_data(out, panel, n);
	fclose(out);
	g = most_repeats(panel, n);
	drawing.note = xasprintf("medians over %zu repeat%s of %llu iterations%s; n* with its 95 %% interval", g,
				 g == 1 ? "" : "s", row->c.iterations, g > 1 ? "; thin bars: least to most" : "");
	drawing.title = xasprintf("Break-even of tlb_single_page_flush_ceiling, host page %s", advice->host);
	drawing.text = xstrdup("Cost of flushing n pages one by one and of one full flush.");
	for (i = 0; i < n; i++)
		for (g = 0; g < GUESTS; g++)
			drawing.text = add_words(drawing.text, panel[i].cell[g]);
	i = figure_draw(from, figures, base, &drawing);
	free(heading);
	return i;
}

int figure_ceiling(const struct figures_from *from, struct figures *figures, struct problem *p)
{
	const struct ceiling *c = from->ceiling;
	int result = 0;
	size_t i;

	for (i = 0; c && i < c->advices && !result; i++) {
		char *name = c->advices > 1 ? xasprintf("ceiling-%s", c->advice[i].host) : xstrdup("ceiling");

		result = draw_advice(from, &c->advice[i], name, figures, p);
		free(name);
	}
	return result;
}
