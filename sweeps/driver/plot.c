// SPDX-License-Identifier: GPL-2.0
/* tlbscope plot: the pictures of a run, into its directory. */
#include "ceiling.h"
#include "command.h"
#include "environment.h"
#include "figures.h"
#include "util.h"

#include <stdlib.h>

struct plot_request {
	const char *run;
	int only_good;
};

static error_t parse_plot(int key, char *arg, struct argp_state *state)
{
	struct plot_request *request = state->input;

	switch (key) {
	case OPT_SKIP_BAD_ROWS:
		request->only_good = 1;
		return 0;
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

/* Draws all pictures of the rows and names them. */
static int plot(const char *run, const struct rows *rows, struct problem *p)
{
	struct figures_from from = { .rows = rows };
	char *dir = run_dir(run), *prefix = xasprintf("%s/", dir);
	json_t *json = environment_load(dir);
	struct published published;
	struct figures figures = { 0 };
	struct cells cells;
	struct reach reach;
	struct ceiling ceiling = { 0 };
	size_t i;
	int result = published_read(&published, p);

	if (!result) {
		cells_build(rows, &cells);
		reach_build(&cells, &reach);
		if (ceiling_asked(rows))
			ceiling_build(rows, json, &ceiling);
		from = (struct figures_from){ rows, &cells, &reach, &ceiling, &published, prefix,
					      environment_stamp(rows, json), "svg png" };
		result = figures_draw(&from, &figures, p);
		ceiling_free(&ceiling);
		reach_free(&reach);
		cells_free(&cells);
		published_free(&published);
	}
	for (i = 0; i < figures.count && !result; i++)
		printf("%s.svg\n%s.png\n", figures.figure[i].base, figures.figure[i].base);
	if (!result && !figures.count)
		result = problem(p, EXIT_INPUT, "%s: nothing to draw: no cell with a control, a selective and a "
				 "full flush, and no reach curve or break-even of a real CPU", run);
	figures_free(&figures);
	json_decref(json);
	free(prefix);
	free(dir);
	return result;
}

int command_plot(int argc, char **argv)
{
	static const struct argp_option options[] = { OPTION_SKIP_BAD_ROWS, { 0 } };
	const struct argp argp = { .options = options, .parser = parse_plot, .args_doc = "RUN",
				   .doc = "Draws the pictures of a run into its directory (SVG and PNG)." };
	struct plot_request request = { 0 };
	struct problem p = { 0 };
	struct rows rows;
	int result;

	parse_options(&argp, argc, argv, &request);
	result = run_rows(request.run, request.only_good, &rows, &p);
	if (result)
		return report(&p);
	if (rows.count)
		result = plot(request.run, &rows, &p);
	else
		result = problem(&p, EXIT_INPUT, "%s: no rows in it yet: nothing to draw", request.run);
	rows_free(&rows);
	return result ? report(&p) : EXIT_DONE;
}
