// SPDX-License-Identifier: GPL-2.0
/*
 * Pictures of flushes: nothing, one page and everything flushed, for each cell; every op in every cell as a heat map;
 * the figures of 2016 beside those of this run.
 */
#include "cell_text.h"
#include "figures.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS 6 /* groups of bars side by side in one picture */

/* A sentence more to a text that grows. */
static void add_text(char **text, char *more)
{
	char *next = xasprintf("%s%s%s", *text, **text ? " " : "", more);

	free(*text);
	free(more);
	*text = next;
}

/* ---- nothing, one page, everything ---- */

/* Least and most of the repeats. */
static void find_range(const struct outcome *outcome, double *low, double *high)
{
	size_t i;

	*low = *high = NAN;
	for (i = 0; i < outcome->n; i++) {
		const struct ts_result *r = &outcome->row[i]->r;
		int refill = outcome->row[0]->c.phase == TS_REFILL;
		double value = refill ? r->refills : r->cycles;

		if (!(refill ? r->has_refills : r->has_cycles))
			continue;
		*low = fmin(value, *low); /* of a number and NAN it is the number */
		*high = fmax(value, *high);
	}
}

/* Text of a host page, "4k?" when it was not verified; of a mix both pages, and both numbers of leaves. */
static void put_below(FILE *out, const struct cell *cell)
{
	const struct ts_case *c = &cell->key->c;
	char host[32];

	fprintf(out, "\"guest %s%s%s%s\\nhost %s\\n", ts_page_names[c->guest], c->mix ? " + " : "",
		c->mix ? ts_page_names[ts_mix_page(c->mix)] : "",
		c->global ? " global" : c->pcid ? " pcid" : c->code ? " code" : "",
		row_host_text(host, sizeof(host), cell->key));
	if (c->mix)
		fprintf(out, "%llu + %llu leaves\"", c->leaves, ts_mix_leaves(c->mix));
	else
		fprintf(out, "%llu %s\"", c->touches == c->leaves ? c->leaves : c->touches,
			c->touches == c->leaves ? "leaves" : "touches");
}

/* F or why there is none, in two lines; whether the cell is valid. */
static void put_f(FILE *out, const struct cell *cell)
{
	const char *reason = strrchr(cell->valid, '+');
	int valid = !strcmp(cell->valid, "ok");
	char f[64];

	reason = reason ? reason + 1 : cell->valid;
	text_f(f, sizeof(f), cell);
	f[strcspn(f, "!(")] = '\0';
	if (isnan(cell->f.value))
		fprintf(out, " \"no F:\\n%s\"", reason);
	else if (!valid)
		fprintf(out, " \"F = %s\\nnot valid: %s\"", f, reason);
	else if (cell->f.low != cell->f.high)
		fprintf(out, " \"F = %s\\n%.2f to %.2f\"", f, cell->f.low, cell->f.high);
	else
		fprintf(out, " \"F = %s\"", f);
	fprintf(out, " %d\n", valid);
}

/* Leaves, of a mix both numbers as in the table ("25|8"), or cycles a touch. */
static void put_label(FILE *out, const struct outcome *part, double per)
{
	if (part->row[0]->c.phase != TS_REFILL)
		fprintf(out, " \"%.1f\"", outcome_value(part) / per);
	else if (isnan(part->mix_refills))
		fprintf(out, " \"%.0f\"", part->refills);
	else
		fprintf(out, " \"%.0f|%.0f\"", part->refills, part->mix_refills);
}

/*
 * One cell: what stands below it, three bars as shares of per with their range, their labels, F. Of a mix the bars
 * are the first set's, from which its F comes too.
 */
static void write_cell(FILE *out, const struct cell *cell, double per)
{
	const struct outcome *parts[] = { cell->none, cell->selective, cell->full };
	double low, high;
	size_t i;

	put_below(out, cell);
	for (i = 0; i < 3; i++) {
		find_range(parts[i], &low, &high);
		fprintf(out, " %.4f %.4f %.4f", outcome_value(parts[i]) / per, low / per, high / per);
		put_label(out, parts[i], per);
	}
	put_f(out, cell);
}

static char *cell_sentence(const struct cell *cell)
{
	char none[64], selective[64], full[64], f[64], *set = text_set(&cell->key->c), *text;

	text_value(none, sizeof(none), cell->none);
	text_value(selective, sizeof(selective), cell->selective);
	text_value(full, sizeof(full), cell->full);
	text_f(f, sizeof(f), cell);
	text = xasprintf("Guest %s on host %s, %s: nothing flushed %s, one flush %s, full flush %s, F %s.",
			 ts_page_names[cell->key->c.guest], cell->key->host, set, none, selective, full, f);
	free(set);
	return text;
}

static int is_drawn(const struct cell *cell, u64 phase)
{
	return cell->key->c.phase == phase &&
	       !row_has_reason(cell->key, "emulated-cpu") && cell->none && cell->selective && cell->full;
}

/* Lines of up to GROUPS cells, from cell *at on; returns how many. Refills: all leaves = 1; cycles: a touch. */
static size_t write_cells(FILE *out, const struct cells *cells, u64 phase, size_t *at, char **text)
{
	size_t n = 0;

	fprintf(out, "# below, then for none, selective and full: value low high label; F; valid. %s\n",
		phase == TS_REFILL ? "Bars: share of the leaves refilled; labels: leaves" :
				     "TSC cycles a touch");
	for (; *at < cells->count && n < GROUPS; ++*at) {
		const struct cell *cell = &cells->cell[*at];

		if (!is_drawn(cell, phase))
			continue;
		write_cell(out, cell, phase == TS_REFILL ? cell->key->c.leaves :
						      cell->key->c.touches + ts_mix_leaves(cell->key->c.mix));
		add_text(text, cell_sentence(cell));
		n++;
	}
	return n;
}

/* " (cells 7 to 12 of 100)" when there are more than one picture holds. */
static char *numbered_title(const char *title, size_t first, size_t n, size_t all)
{
	return all > n ? xasprintf("%s (cells %zu to %zu of %zu)", title, first + 1, first + n, all) : xstrdup(title);
}

static size_t count_drawn(const struct cells *cells, u64 phase)
{
	size_t i, n = 0;

	for (i = 0; i < cells->count; i++)
		n += is_drawn(&cells->cell[i], phase);
	return n;
}

/* What the bars of a phase are, for the note: thin ones only where repeats can differ, hatched ones where they are. */
static char *bars_text(const struct cells *cells, u64 phase)
{
	char *samples = figure_samples(cells, phase), *text;
	size_t i, repeats = 0, invalid = 0;

	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];

		if (!is_drawn(cell, phase))
			continue;
		invalid += strcmp(cell->valid, "ok") != 0;
		repeats = cell->none->n > repeats ? cell->none->n : repeats;
		repeats = cell->selective->n > repeats ? cell->selective->n : repeats;
		repeats = cell->full->n > repeats ? cell->full->n : repeats;
	}
	text = xasprintf("%s%s%s", samples, repeats > 1 ? "; thin bars: from the least to the most of the repeats" : "",
			 invalid ? "; hatched: not valid" : "");
	free(samples);
	return text;
}

static int draw_page(const struct figures_from *from, u64 phase, size_t page, size_t *at,
		     struct figures *figures, struct problem *p)
{
	size_t all = count_drawn(from->cells, phase), n;
	char *name = xasprintf("fracture-%s", ts_phase_names[phase]), *base, *numbered;
	struct drawing drawing = { .script = "fracture", .text = xstrdup("") };
	FILE *out;

	numbered = page > 1 ? xasprintf("%s-%zu", name, page) : xstrdup(name);
	out = figure_data(from, figures, numbered, &base, p);
	free(name);
	free(numbered);
	if (!out) {
		free(drawing.text);
		free(base);
		return -EINVAL;
	}
	n = write_cells(out, from->cells, phase, at, &drawing.text);
	fclose(out);
	drawing.note = bars_text(from->cells, phase);
	drawing.unit = phase == TS_REFILL ? "share of the leaves that were refilled" : "TSC cycles a touch";
	drawing.title = numbered_title(phase == TS_REFILL ?
				       "What a flush of one unrelated page drops: leaves refilled after it" :
				       "What a flush of one unrelated page costs: cycles of the pass after it",
				       GROUPS * (page - 1), n, all);
	return figure_draw(from, figures, base, &drawing);
}

#define PAGES 3 /* pictures of one phase; the table has all cells */

int figure_fracture(const struct figures_from *from, u64 phase, struct figures *figures, struct problem *p)
{
	size_t drawn = 0, page = 0, at = 0, all = count_drawn(from->cells, phase);
	int result = 0;

	for (; drawn < all && page < PAGES && !result; drawn += GROUPS)
		result = draw_page(from, phase, ++page, &at, figures, p);
	return result;
}

/* ---- heat map ---- */

#define HEAT_COLUMNS 10
#define HEAT_ROWS 24

/* The ops that any of the cells has, each once, in the order in which they come. */
static size_t find_ops(const struct cell *const *cell, size_t cells, const struct outcome **op)
{
	size_t i, j, k, n = 0;

	for (i = 0; i < cells; i++)
		for (j = 0; j < cell[i]->outcomes && n < HEAT_ROWS; j++) {
			for (k = 0; k < i && !cell_same_op(cell[k], &cell[i]->outcome[j]);)
				k++;
			if (k == i)
				op[n++] = &cell[i]->outcome[j];
		}
	return n;
}

/* "x y share label column row": one line for each op in each cell; NaN when not measured. Returns how many are not. */
static size_t write_heat(FILE *out, const struct cell *const *cell, size_t cells, char **text)
{
	const struct outcome *op[HEAT_ROWS];
	size_t i, j, missing = 0, n = find_ops(cell, cells, op);

	fprintf(out, "# x y share label column row: leaves refilled of the leaves in the set\n");
	for (j = 0; j < n; j++) {
		char *name = text_op(op[j]);

		for (i = 0; i < cells; i++) {
			const struct outcome *o = cell_same_op(cell[i], op[j]);
			u64 leaves = cell[i]->key->c.leaves;

			missing += !o || isnan(o->refills);
			if (o && !isnan(o->refills))
				fprintf(out, "%zu %zu %.4f \"%.0f of %llu\"", i, j, o->refills / leaves, o->refills,
					leaves);
			else
				fprintf(out, "%zu %zu NaN \"\"", i, j);
			fputs(" ", out);
			put_below(out, cell[i]);
			fprintf(out, " \"%s\"\n", name);
			if (o && !isnan(o->refills))
				add_text(text, xasprintf("%s, guest %s on host %s: %.0f of %llu.", name,
							 ts_page_names[cell[i]->key->c.guest], cell[i]->key->host,
							 o->refills, leaves));
		}
		free(name);
	}
	return missing;
}

/* A place has room for one number: mixes are in figure_fracture() and in the table. */
static int has_heat(const struct cell *cell)
{
	return is_drawn(cell, TS_REFILL) && !cell->key->c.mix;
}

static size_t count_heat(const struct cells *cells)
{
	size_t i, n = 0;

	for (i = 0; i < cells->count; i++)
		n += has_heat(&cells->cell[i]);
	return n;
}

int figure_heat(const struct figures_from *from, struct figures *figures, struct problem *p)
{
	const struct cell *cell[HEAT_COLUMNS];
	struct drawing drawing = { .script = "heat", .unit = "", .text = xstrdup("") };
	size_t i, missing, n = 0;
	char *base, *samples;
	FILE *out;

	for (i = 0; i < from->cells->count && n < HEAT_COLUMNS; i++)
		if (has_heat(&from->cells->cell[i]))
			cell[n++] = &from->cells->cell[i];
	if (!n) {
		free(drawing.text);
		return 0;
	}
	out = figure_data(from, figures, "heat", &base, p);
	if (!out) {
		free(drawing.text);
		free(base);
		return -EINVAL;
	}
	missing = write_heat(out, cell, n, &drawing.text);
	fclose(out);
	samples = figure_samples(from->cells, TS_REFILL);
	drawing.note = xasprintf("%s%s", samples, missing ? "; a stroke: not measured" : "");
	free(samples);
	drawing.title = numbered_title("Every flush in every cell: leaves lost of those in the working set", 0, n,
				       count_heat(from->cells));
	return figure_draw(from, figures, base, &drawing);
}

/* ---- 2016 ---- */

/* One line of 2016 with ours beside it; NaN where we have none. Returns whether we have. */
static int write_beside(FILE *out, const struct csv_table *misses, size_t line, const struct cells *cells,
			char **text)
{
	const char *host = published_text(misses, line, "host"), *guest = published_text(misses, line, "guest");
	double iterations = published_number(misses, line, "iterations");
	double selective = published_number(misses, line, "selective") / iterations;
	double full = published_number(misses, line, "full") / iterations;
	const struct cell *cell = published_like(misses, line, cells);
	char ours[32] = "-";

	if (cell)
		snprintf(ours, sizeof(ours), "%llu x %s", cell->key->c.leaves, guest);
	fprintf(out, "\"guest %s\\nhost %s\\nhere: %s\" %.4f %.4f", guest, host, ours, selective, full);
	add_text(text, xasprintf("Guest %s on host %s, 2016: one flush %.3f, full flush %.1f misses.", guest, host,
				 selective, full));
	if (!cell) {
		fprintf(out, " NaN NaN\n");
		return 0;
	}
	fprintf(out, " %.4f %.4f\n", cell->selective->refills, cell->full->refills);
	add_text(text, xasprintf("Here: one flush %.0f, full flush %.0f leaves.", cell->selective->refills,
				 cell->full->refills));
	return 1;
}

int figure_published(const struct figures_from *from, struct figures *figures, struct problem *p)
{
	struct drawing drawing = { .script = "published", .text = xstrdup(""),
				   .unit = "events in one iteration" };
	const struct csv_table *misses = &from->published->misses;
	size_t i, ours = 0;
	char *base, *path;
	FILE *out = figure_data(from, figures, "published", &base, p);

	for (i = 0; out && i < misses->lines; i++)
		ours += write_beside(out, misses, i, from->cells, &drawing.text);
	if (out)
		fclose(out);
	if (out && ours) {
		drawing.note = xasprintf("2016: dTLB misses over %.0f lines, mean of %.0f iterations; here: leaves "
					 "refilled over as many, medians", published_number(misses, 0, "touches"),
					 published_number(misses, 0, "iterations"));
		drawing.title = xstrdup("The table of 2016 beside this run, in one iteration");
		return figure_draw(from, figures, base, &drawing);
	}
	path = xasprintf("%s.dat", base);
	if (out)
		unlink(path);
	free(path);
	free(base);
	free(drawing.text);
	return out ? 0 : -EINVAL;
}
