// SPDX-License-Identifier: GPL-2.0
/*
 * tlbscope plot: pictures of a run, drawn by gnuplot from plots/NAME.gp. This program only writes the numbers that a
 * script needs into a table beside the picture, so that everyone can redraw it.
 */
#include "plot.h"

#include "ceiling.h"
#include "command.h"
#include "event_table.h"
#include "judge.h"
#include "reach.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct plot_request {
	const char *run;
};

static error_t parse_plot(int key, char *arg, struct argp_state *state)
{
	struct plot_request *request = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (request->run)
			argp_error(state, "one run at a time");
		request->run = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name a run directory");
	}
	return ARGP_ERR_UNKNOWN;
}

static double value_of(const struct outcome *outcome)
{
	return outcome ? outcome_value(outcome) : NAN;
}

/* What stands above a cell: F, or why there is none. */
static void f_label(char *text, size_t size, double f, const char *valid)
{
	const char *reason = strrchr(valid, '+');

	reason = reason ? reason + 1 : valid;
	if (isnan(f))
		snprintf(text, size, "no F: %s", strcmp(reason, "ok") ? reason : "no contrast");
	else
		snprintf(text, size, "F = %.2f%s%s", fabs(f) < 0.005 ? 0 : f,
			 strcmp(valid, "ok") ? ", not valid: " : "", strcmp(valid, "ok") ? reason : "");
}

/* One cell: what stands below it, three bars as shares of per, their labels, F. */
static void write_bars(FILE *out, const struct cell *cell, const double *bar, double per, double label_per,
		       int digits, double f)
{
	const struct ts_case *c = &cell->key->c;
	char above[256], host[32];
	size_t i;

	f_label(above, sizeof(above), f, cell->valid);
	fprintf(out, "\"guest %s%s\\nhost %s\\n%llu %s\"", ts_page_names[c->guest],
		c->global ? " global" : c->pcid ? " pcid" : "",
		row_host_text(host, sizeof(host), cell->key),
		c->touches == c->leaves ? c->leaves : c->touches,
		c->touches == c->leaves ? "leaves" : "touches");
	for (i = 0; i < 3; i++)
		fprintf(out, " %.4f", bar[i] / per);
	for (i = 0; i < 3; i++)
		fprintf(out, " \"%.*f\"", digits, bar[i] / label_per);
	fprintf(out, " \"%s\"\n", above);
}

static void write_cell(FILE *out, const struct cell *cell, double per)
{
	const double bar[] = { value_of(cell->none), value_of(cell->selective), value_of(cell->full) };
	int refill = cell->key->c.phase == TS_REFILL;

	write_bars(out, cell, bar, per, refill ? 1 : per, refill ? 0 : 1, cell->f.value);
}

/* Lines of all cells that have the three parts; returns how many. Refills: all leaves = 1; cycles: a touch. */
static size_t write_cells(FILE *out, const struct cells *cells, u64 phase)
{
	size_t i, n = 0;

	fprintf(out, "# below none selective full label_none label_selective label_full label_f; %s\n",
		phase == TS_REFILL ? "bars: share of the leaves refilled; labels: leaves" :
				     "TSC cycles a touch");
	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];
		const struct ts_case *c = &cell->key->c;

		if (c->phase != phase || c->mix || row_has_reason(cell->key, "emulated-cpu") ||
		    !cell->none || !cell->selective || !cell->full)
			continue;
		write_cell(out, cell, phase == TS_REFILL ? c->leaves : c->touches);
		n++;
	}
	return n;
}

/* A text as gnuplot's '...', in which a quote is doubled; caller frees. */
static char *gnuplot_text(const char *text)
{
	char *out = xcalloc(1, 2 * strlen(text) + 3), *to = out;

	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			*to++ = '\'';
		*to++ = *text;
	}
	*to = '\'';
	return out;
}

int plot_draw(const char *script, const char *data, const char *base, const char *title,
	      const char *unit, struct problem *p)
{
	char *texts[] = { gnuplot_text(data), gnuplot_text(base), gnuplot_text(title), gnuplot_text(unit) };
	char *set = xasprintf("data=%s; base=%s; heading=%s; unit=%s", texts[0], texts[1], texts[2],
			      texts[3]);
	pid_t pid = fork();
	size_t i;
	int status;

	for (i = 0; i < TS_COUNT(texts); i++)
		free(texts[i]);

	if (!pid) {
		execlp("gnuplot", "gnuplot", "-e", set, script, (char *)NULL);
		_exit(127);
	}
	free(set);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return problem(p, EXIT_FAILED, "gnuplot: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return problem(p, EXIT_INPUT, "gnuplot is not installed: no pictures; install gnuplot-nox");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return problem(p, EXIT_FAILED, "gnuplot failed on %s with %s", script, data);
	return 0;
}

/* Title of a picture; caller frees. */
static char *heading(const struct rows *rows)
{
	int soft = !strcmp(rows->row[0].target, "tcg");
	char *text = xasprintf("%s, target %s%s", rows->row[0].cpu, rows->row[0].target,
			       soft ? ": a soft TLB, not hardware" : "");

	return text;
}

/* The table of one picture: n cells have been written to out. Draws and names it, or removes an empty one. */
static int draw_cells(const struct rows *rows, const char *base, size_t n, const char *what, const char *unit,
		      struct problem *p)
{
	char *data = xasprintf("%s.dat", base), *script = data_path("plots/fracture.gp");
	char *where = heading(rows), *title = xasprintf("%s%s", what, where);
	int result = n ? plot_draw(script, data, base, title, unit, p) : 0;

	if (!n)
		unlink(data);
	else if (!result)
		printf("%s.svg\n%s.png\n", base, base);
	free(data);
	free(script);
	free(where);
	free(title);
	return result;
}

static FILE *open_data(const char *base, struct problem *p)
{
	char *data = xasprintf("%s.dat", base);
	FILE *out = fopen(data, "we");

	if (!out)
		problem(p, EXIT_INPUT, "%s: %s", data, strerror(errno));
	free(data);
	return out;
}

static int plot_phase(const struct rows *rows, const struct cells *cells, u64 phase, const char *dir,
		      size_t *drawn, struct problem *p)
{
	char *base = xasprintf("%s/fracture-%s", dir, ts_phase_names[phase]);
	FILE *out = open_data(base, p);
	size_t n = 0;
	int result = -EINVAL;

	if (out) {
		n = write_cells(out, cells, phase);
		fclose(out);
		result = draw_cells(rows, base, n, "", phase == TS_REFILL ? "share of the leaves that were refilled" :
									"TSC cycles a touch", p);
	}
	*drawn += n;
	free(base);
	return result;
}

/* ---- events ---- */

static size_t write_event(FILE *out, const struct rows *rows, const struct cells *cells, const char *event)
{
	u64 phase = event_phase(rows, cells, event);
	size_t i, n = 0;

	fprintf(out, "# below none selective full label_none label_selective label_full label_f; %s in an iteration\n",
		event);
	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];
		const double bar[] = { event_value(rows, cell->none, event),
				       event_value(rows, cell->selective, event),
				       event_value(rows, cell->full, event) };

		if (cell->key->c.phase != phase || cell->key->c.mix || isnan(bar[0]) || isnan(bar[1]) ||
		    isnan(bar[2]))
			continue;
		write_bars(out, cell, bar, 1, 1, 2, event_f(rows, cell, event));
		n++;
	}
	return n;
}

/* A picture for each event that was counted without a flush, with a selective and with a full one. */
static int plot_events(const struct rows *rows, const struct cells *cells, const char *dir, size_t *drawn,
		       struct problem *p)
{
	int result = 0;
	size_t i, n;

	for (i = 0; i < rows->extras && !result; i++) {
		const char *event = rows->extra_names[i];
		char *base = xasprintf("%s/event-%s", dir, event), *what;
		FILE *out = event_column(rows, i) ? open_data(base, p) : NULL;

		if (out) {
			n = write_event(out, rows, cells, event);
			fclose(out);
			what = xasprintf("%s: ", event);
			result = draw_cells(rows, base, n, what, "counts in an iteration", p);
			*drawn += n;
			free(what);
		} else if (event_column(rows, i)) {
			result = -EINVAL;
		}
		free(base);
	}
	return result;
}

/* ---- reach ---- */

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

/* Blocks for gnuplot's index: the cliffs, then the curves, packed ones first; counts those. */
static int write_reach(const char *data, const struct reach_set *set, size_t *curves,
		       struct problem *p)
{
	FILE *out = fopen(data, "we");
	size_t i;

	if (!out)
		return problem(p, EXIT_INPUT, "%s: %s", data, strerror(errno));
	write_bands(out, set);
	for (i = set->curves; i && set->curve[i - 1].packed; i--)
		*curves += write_curve(out, &set->curve[i - 1]);
	for (i = 0; i < set->curves && !set->curve[i].packed; i++)
		*curves += write_curve(out, &set->curve[i]);
	fclose(out);
	return 0;
}

/* Draws one set; returns 1 when there was something to draw, else 0 or a negative errno. */
static int draw_reach(const struct reach_set *set, const char *base, const char *cpu,
		      struct problem *p)
{
	char *script = data_path("plots/reach.gp"), *data = xasprintf("%s.dat", base);
	char *title = xasprintf("%s, host page %s", cpu, set->key->host);
	size_t curves = 0;
	int result = write_reach(data, set, &curves, p);

	if (!result && curves)
		result = plot_draw(script, data, base, title, "TSC cycles a line", p);
	else if (!result)
		unlink(data);
	if (!result && curves)
		printf("%s.svg\n%s.png\n", base, base);
	free(script);
	free(data);
	free(title);
	return result ? result : curves > 0;
}

/* One picture for each host page; its name is that of the host page when there are several. */
static int plot_reach(const struct rows *rows, const struct reach *reach, const char *dir,
		      size_t *drawn, struct problem *p)
{
	char *cpu = heading(rows);
	int result = 0;
	size_t i;

	for (i = 0; i < reach->count && result >= 0; i++) {
		const struct reach_set *set = &reach->set[i];
		char *base = xasprintf("%s/reach%s%s", dir, reach->count > 1 ? "-" : "",
				       reach->count > 1 ? set->key->host : "");

		result = set->emulated ? 0 : draw_reach(set, base, cpu, p);
		*drawn += result > 0;
		free(base);
	}
	free(cpu);
	return result < 0 ? result : 0;
}

/* The break-even, one picture for each host page that has one. */
static int plot_ceiling(const struct rows *rows, const char *dir, size_t *drawn, struct problem *p)
{
	char *base = xasprintf("%s/ceiling", dir), *title = heading(rows);
	struct ceiling ceiling;
	int result;

	ceiling_build(rows, &ceiling);
	result = ceiling_plot(&ceiling, base, title, drawn, p);
	ceiling_free(&ceiling);
	free(base);
	free(title);
	return result;
}

static char *run_dir(const char *run)
{
	struct stat info;
	char *dir = xstrdup(run), *slash;

	if (!stat(run, &info) && S_ISDIR(info.st_mode))
		return dir;
	slash = strrchr(dir, '/');
	if (!slash) {
		free(dir);
		return xstrdup(".");
	}
	*slash = '\0';
	return dir;
}

int command_plot(int argc, char **argv)
{
	const struct argp argp = { .parser = parse_plot, .args_doc = "RUN",
				   .doc = "Draws the pictures of a run into its directory (SVG and PNG)." };
	struct plot_request request = { 0 };
	struct problem p = { 0 };
	struct cells cells;
	struct reach reach;
	struct rows rows;
	char *path, *dir;
	size_t drawn = 0;
	u64 phase;
	int result;

	parse_options(&argp, argc, argv, &request);
	path = rows_path(request.run);
	result = rows_read(path, &rows, &p);
	free(path);
	if (result)
		return report(&p);
	if (!rows.count) {
		problem(&p, EXIT_INPUT, "%s: no rows in it yet: nothing to draw", request.run);
		rows_free(&rows);
		return report(&p);
	}
	dir = run_dir(request.run);
	cells_build(&rows, &cells);
	reach_build(&cells, &reach);
	for (phase = 0; phase <= TS_RETOUCH && !result; phase++)
		result = plot_phase(&rows, &cells, phase, dir, &drawn, &p);
	if (!result)
		result = plot_events(&rows, &cells, dir, &drawn, &p);
	if (!result)
		result = plot_reach(&rows, &reach, dir, &drawn, &p);
	if (!result)
		result = plot_ceiling(&rows, dir, &drawn, &p);
	if (!result && !drawn)
		result = problem(&p, EXIT_INPUT, "%s: nothing to draw: no cell with a control, a selective and a "
				 "full flush, and no reach curve or break-even of a real CPU", request.run);
	reach_free(&reach);
	cells_free(&cells);
	rows_free(&rows);
	free(dir);
	return result ? report(&p) : EXIT_DONE;
}
