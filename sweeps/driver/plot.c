// SPDX-License-Identifier: GPL-2.0
/*
 * tlbscope plot: pictures of a run, drawn by gnuplot from plots/NAME.gp. This program only writes the numbers that a
 * script needs into a table beside the picture, so that everyone can redraw it.
 */
#include "command.h"
#include "judge.h"
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

/* One cell: what stands below it, three bars as shares of per, their labels, F. */
static void write_cell(FILE *out, const struct cell *cell, double per)
{
	const struct outcome *parts[] = { cell->none, cell->selective, cell->full };
	const struct ts_case *c = &cell->key->c;
	char f[64] = "F not known";
	size_t i;

	if (!isnan(cell->f.value))
		snprintf(f, sizeof(f), "F = %.2f", fabs(cell->f.value) < 0.005 ? 0 : cell->f.value);
	fprintf(out, "\"guest %s%s\\nhost %s\\n%llu %s\"", ts_page_names[c->guest],
		c->global ? " global" : c->pcid ? " pcid" : "", cell->key->host,
		c->touches == c->leaves ? c->leaves : c->touches,
		c->touches == c->leaves ? "leaves" : "touches");
	for (i = 0; i < 3; i++)
		fprintf(out, " %.4f", value_of(parts[i]) / per);
	for (i = 0; i < 3; i++)
		fprintf(out, " \"%.*f\"", c->phase == TS_REFILL ? 0 : 1,
			value_of(parts[i]) / (c->phase == TS_REFILL ? 1 : per));
	fprintf(out, " \"%s%s\"\n", f, strcmp(cell->valid, "ok") ? " (not valid)" : "");
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

/* Runs gnuplot with variables set; 0 when it drew. */
static int draw(const char *script, const char *data, const char *base, const char *title,
		const char *unit, struct problem *p)
{
	char *set = xasprintf("data='%s'; base='%s'; heading='%s'; unit='%s'", data, base, title, unit);
	pid_t pid = fork();
	int status;

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

/* Title of a picture; quotes would end gnuplot's string. */
static char *heading(const struct rows *rows)
{
	int soft = !strcmp(rows->row[0].target, "tcg");
	char *text = xasprintf("%s, target %s%s", rows->row[0].cpu, rows->row[0].target,
			       soft ? ": a soft TLB, not hardware" : ""), *at;

	for (at = text; (at = strchr(at, '\'')); )
		*at = ' ';
	return text;
}

static int plot_phase(const struct rows *rows, const struct cells *cells, u64 phase, const char *dir,
		      size_t *drawn, struct problem *p)
{
	char *base = xasprintf("%s/fracture-%s", dir, ts_phase_names[phase]);
	char *data = xasprintf("%s.dat", base), *script = data_path("plots/fracture.gp");
	char *title = heading(rows);
	FILE *out = fopen(data, "we");
	size_t n = 0;
	int result = 0;

	if (!out) {
		result = problem(p, EXIT_INPUT, "%s: %s", data, strerror(errno));
	} else {
		n = write_cells(out, cells, phase);
		fclose(out);
	}
	if (n)
		result = draw(script, data, base, title,
			      phase == TS_REFILL ? "share of the leaves that were refilled" :
						   "TSC cycles a touch", p);
	else if (!result)
		unlink(data);
	if (n && !result)
		printf("%s.svg\n%s.png\n", base, base);
	*drawn += n;
	free(base);
	free(data);
	free(script);
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
	dir = run_dir(request.run);
	cells_build(&rows, &cells);
	for (phase = 0; phase <= TS_RETOUCH && !result; phase++)
		result = plot_phase(&rows, &cells, phase, dir, &drawn, &p);
	if (!result && !drawn)
		result = problem(&p, EXIT_INPUT, "%s: no cell with a control, a selective and a full flush to "
				 "draw", request.run);
	cells_free(&cells);
	rows_free(&rows);
	free(dir);
	return result ? report(&p) : EXIT_DONE;
}
