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

static void put_value(FILE *out, const struct outcome *outcome, double per)
{
	double value = outcome ? outcome_value(outcome) : NAN;

	if (isnan(value))
		fprintf(out, " NaN");
	else
		fprintf(out, " %.4f", value / per);
}

/*
 * One line for each cell that has all three parts: label, none, selective, full, F low high. Refills as a share of
 * the set (all leaves = 1), cycles per touch.
 */
static size_t write_cells(FILE *out, const struct cells *cells, u64 phase)
{
	size_t i, n = 0;

	fprintf(out, "# label none selective full f f_low f_high valid; %s\n",
		phase == TS_REFILL ? "share of the leaves refilled" : "TSC cycles a touch");
	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];
		const struct ts_case *c = &cell->key->c;
		double per = phase == TS_REFILL ? c->leaves : c->touches + ts_mix_leaves(c->mix);

		if (c->phase != phase || c->mix || row_has_reason(cell->key, "emulated-cpu") ||
		    !cell->none || !cell->selective || !cell->full)
			continue;
		fprintf(out, "\"%s%s\\nhost %s\\n%llu leaves\"", ts_page_names[c->guest],
			c->global ? " global" : c->pcid ? " pcid" : "", cell->key->host, c->leaves);
		put_value(out, cell->none, per);
		put_value(out, cell->selective, per);
		put_value(out, cell->full, per);
		fprintf(out, " %.4f %.4f %.4f %s\n", cell->f.value, cell->f.low, cell->f.high, cell->valid);
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
	char *text = xasprintf("%s, target %s", rows->row[0].cpu, rows->row[0].target), *at;

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
			      phase == TS_REFILL ? "leaves refilled (share of the working set)" :
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
