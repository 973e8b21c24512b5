// SPDX-License-Identifier: GPL-2.0
/* The picture of a reach run: latency against the number of lines, with the cliffs as bands. */
#include "figures.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A cliff, or several of different curves that overlap. */
struct band {
	double from, to, least, most; /* rises */
	int doubtful;		      /* all of them */
};

static int compare_bands(const void *a, const void *b)
{
	const struct band *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static void merge_band(struct band *into, const struct band *band)
{
	into->to = fmax(into->to, band->to);
	into->least = fmin(into->least, band->least);
	into->most = fmax(into->most, band->most);
	into->doubtful &= band->doubtful;
}

/* Cliffs of all curves but packed ones, as one where they overlap; returns how many. Caller frees. */
static size_t find_bands(const struct reach_set *set, struct band **bands)
{
	struct cliff cliff[REACH_CLIFFS];
	struct band *band = xcalloc(set->curves * REACH_CLIFFS, sizeof(*band));
	size_t i, j, n = 0, kept = 0;

	for (i = 0; i < set->curves; i++)
		for (j = set->curve[i].packed ? 0 : reach_cliffs(&set->curve[i], cliff); j; j--)
			band[n++] = (struct band){ cliff[j - 1].from, cliff[j - 1].to, cliff[j - 1].rise,
						   cliff[j - 1].rise,
						   cliff[j - 1].certainty == CLIFF_DOUBTFUL };
	qsort(band, n, sizeof(*band), compare_bands);
	for (i = 0; i < n; i++) {
		if (kept && band[i].from < band[kept - 1].to)
			merge_band(&band[kept - 1], &band[i]);
		else
			band[kept++] = band[i];
	}
	*bands = band;
	return kept;
}

#define LABEL_OCTAVES 1.7 /* width of a band's label on the axis */
#define LABEL_ROWS 3

/* Lines of the bands; a label that would run into another goes a row lower. */
static void write_bands(FILE *out, const struct reach_set *set)
{
	double end[LABEL_ROWS] = { 0 }, middle;
	struct band *band;
	size_t i, row, n = find_bands(set, &band);

	fprintf(out, "# cliffs over packed: from to row_of_label label doubtful\nNaN NaN 0 \"\" 0\n");
	for (i = 0; i < n; i++) {
		middle = log2(band[i].from * band[i].to) / 2;
		for (row = 0; row + 1 < LABEL_ROWS && middle < end[row];)
			row++;
		end[row] = middle + LABEL_OCTAVES;
		fprintf(out, "%g %g %zu \"%g to %g%s\\n+%.0f", band[i].from, band[i].to, row, band[i].from,
			band[i].to, band[i].doubtful ? " ?" : "", band[i].least);
		if (round(band[i].least) != round(band[i].most))
			fprintf(out, " to %.0f", band[i].most);
		fprintf(out, " cycles\" %d\n", band[i].doubtful);
	}
	free(band);
}

/* A curve that was declined altogether is left out; returns whether there was one. */
static int write_curve(FILE *out, const struct reach_curve *curve)
{
	size_t i, any = 0;

	for (i = 0; i < curve->samples; i++)
		any |= !isnan(curve->sample[i].cycles);
	if (!any)
		return 0;
	fprintf(out, "\n\n\"%s%s\"\n# lines cycles lower_quartile upper_quartile net\n", curve->name,
		curve->packed ? " (caches and timer)" : "");
	for (i = 0; i < curve->samples; i++) {
		const struct reach_sample *sample = &curve->sample[i];

		if (isnan(sample->cycles))
			fprintf(out, "%g NaN NaN NaN NaN\n", sample->lines);
		else
			fprintf(out, "%g %.3f %.3f %.3f %.3f\n", sample->lines, sample->cycles, sample->low,
				sample->high, sample->net);
	}
	return 1;
}

/* Blocks for gnuplot's index: the cliffs, then the curves, packed ones first; returns how many curves. */
static size_t write_reach(FILE *out, const struct reach_set *set)
{
	size_t i, curves = 0;

	write_bands(out, set);
	for (i = set->curves; i && set->curve[i - 1].packed; i--)
		curves += write_curve(out, &set->curve[i - 1]);
	for (i = 0; i < set->curves && !set->curve[i].packed; i++)
		curves += write_curve(out, &set->curve[i]);
	return curves;
}

/* What the curves say, in words: their cliffs, and whether large pages are cached in pieces. */
static char *describe(const struct reach_set *set)
{
	struct cliff cliff[REACH_CLIFFS];
	char *text = xstrdup("Latency against the number of lines."), *next, *why;
	size_t i, j, n;

	for (i = 0; i < set->curves; i++) {
		n = reach_cliffs(&set->curve[i], cliff);
		for (j = 0; j < n; j++) {
			next = xasprintf("%s %s: up by %.1f cycles a line between %g and %g lines (%s).", text,
					 set->curve[i].name, cliff[j].rise, cliff[j].from, cliff[j].to,
					 reach_certainty(&cliff[j]));
			free(text);
			text = next;
		}
		if (!reach_asks(&set->curve[i]))
			continue;
		reach_answer(set, &set->curve[i], &why);
		next = xasprintf("%s %s", text, why);
		free(why);
		free(text);
		text = next;
	}
	return text;
}

/* Repeats that a point stands for, at most. */
static size_t most_repeats(const struct reach_set *set)
{
	size_t i, j, most = 0;

	for (i = 0; i < set->curves; i++)
		for (j = 0; j < set->curve[i].samples; j++)
			if (set->curve[i].sample[j].values > most)
				most = set->curve[i].sample[j].values;
	return most;
}

static int draw_set(const struct figures_from *from, const struct reach_set *set, const char *name,
		    struct figures *figures, struct problem *p)
{
	struct drawing drawing = { .script = "reach", .unit = "TSC cycles a line" };
	char *base, *path, *heading, host[32];
	FILE *out = figure_data(from, figures, name, &base, p);
	size_t curves = 0, repeats;
	int result;

	if (out) {
		curves = write_reach(out, set);
		fclose(out);
	}
	if (!curves) {
		path = xasprintf("%s.dat", base);
		if (out)
			unlink(path);
		free(path);
		free(base);
		return out ? 0 : -EINVAL;
	}
	repeats = most_repeats(set);
	drawing.note = xasprintf("medians over %zu repeat%s of %llu iterations%s", repeats, repeats == 1 ? "" : "s",
				 set->key->c.iterations,
				 repeats > 1 ? "; thin bars: quartiles of the repeats" : "");
	drawing.title = xstrdup("Reach: latency against the number of lines");
	drawing.text = describe(set);
	heading = xasprintf("%s, target %s, host page %s", set->key->cpu, set->key->target,
			    row_host_text(host, sizeof(host), set->key));
	drawing.heading = heading;
	result = figure_draw(from, figures, base, &drawing);
	free(heading);
	return result;
}

int figure_reach(const struct figures_from *from, struct figures *figures, struct problem *p)
{
	int result = 0;
	size_t i;

	for (i = 0; i < from->reach->count && !result; i++) {
		const struct reach_set *set = &from->reach->set[i];
		char *name = from->reach->count > 1 ? xasprintf("reach-%s", set->key->host) : xstrdup("reach");

		result = set->emulated ? 0 : draw_set(from, set, name, figures, p);
		free(name);
	}
	return result;
}
