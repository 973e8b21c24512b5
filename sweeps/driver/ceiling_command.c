// SPDX-License-Identifier: GPL-2.0
/* tlbscope ceiling: the break-even of runs, and the ceiling that follows from it. */
#include "command.h"

#include "ceiling.h"
#include "util.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct ceiling_request {
	char **runs;
	size_t count;
	const char *flushes;
	int json;
};

static void add_run(struct ceiling_request *request, const char *run)
{
	request->runs = xrealloc(request->runs, (request->count + 1) * sizeof(char *));
	request->runs[request->count++] = xstrdup(run);
}

static error_t parse_ceiling(int key, char *arg, struct argp_state *state)
{
	struct ceiling_request *request = state->input;

	switch (key) {
	case 'j':
		request->json = 1;
		return 0;
	case 'f':
		if (request->flushes)
			argp_error(state, "--flushes is given twice; join the files first");
		request->flushes = arg;
		return 0;
	case ARGP_KEY_ARG:
		add_run(request, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Without a name: the run of the plan ceiling that was begun last, where run puts its directories. */
static int take_newest(struct ceiling_request *request, struct problem *p)
{
	struct timespec newest = { 0 };
	DIR *folder = opendir("results");
	char *best = NULL;
	struct dirent *entry;
	struct stat info;

	while (folder && (entry = readdir(folder))) {
		char *rows = xasprintf("results/%s/rows.csv", entry->d_name);

		if (!strncmp(entry->d_name, "ceiling-", 8) && !stat(rows, &info) &&
		    (!best || info.st_mtim.tv_sec > newest.tv_sec ||
		     (info.st_mtim.tv_sec == newest.tv_sec && info.st_mtim.tv_nsec > newest.tv_nsec))) {
			newest = info.st_mtim;
			free(best);
			best = xasprintf("results/%s", entry->d_name);
		}
		free(rows);
	}
	if (folder)
		closedir(folder);
	if (!best)
		return problem(p, EXIT_INPUT, "no run named, and no results/ceiling-* here; tlbscope run ceiling makes "
			       "one");
	fprintf(stderr, "%s\n", best);
	add_run(request, best);
	free(best);
	return 0;
}

/* The TSC frequency that run.json has, beside rows.csv; NAN without. */
static double tsc_of(const char *rows)
{
	const char *slash = strrchr(rows, '/');
	char *path = xasprintf("%.*srun.json", slash ? (int)(slash + 1 - rows) : 0, rows);
	json_t *run = json_load_file(path, 0, NULL);
	json_t *hz = json_object_get(json_object_get(run, "machine"), "tsc_hz");
	double value = json_is_number(hz) && json_number_value(hz) > 0 ? json_number_value(hz) : NAN;

	json_decref(run);
	free(path);
	return value;
}

/* One run, as text to stdout or appended to list. *p tells why a run says nothing; that is no end. */
static int tell(const char *run, const struct flushes *flushes, json_t *list, struct problem *p)
{
	char *path = rows_path(run);
	struct ceiling_context context = { .name = run, .flushes = flushes, .tsc_hz = tsc_of(path) };
	struct ceiling ceiling;
	struct rows rows;
	int result = run_rows(run, 0, &rows, p);

	free(path);
	if (result)
		return result;
	ceiling_build(&rows, &ceiling);
	if (list)
		json_array_append_new(list, ceiling_json(&ceiling, &context));
	else if (!ceiling.refusal)
		ceiling_print(stdout, &ceiling, &context);
	if (ceiling.refusal)
		problem(p, ceiling.refusal_code, "%s: %s", run, ceiling.refusal);
	ceiling_free(&ceiling);
	rows_free(&rows);
	return result;
}

int ceiling_answer(const char *run, struct problem *p)
{
	int result = tell(run, NULL, NULL, p);

	if (!result && p->exit_code) {
		printf("No break-even: %s\n", p->text + strlen(run) + 2); /* behind "RUN: " */
		p->exit_code = EXIT_DONE;
	}
	return result;
}

int command_ceiling(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "flushes", 'f', "FILE", 0, "weigh by a record of tlb:tlb_flush (tracefs' trace, or perf script)", 0 },
		{ "json", 'j', 0, 0, "JSON instead of text", 0 },
		{ 0 },
	};
	const struct argp argp = {
		.options = options, .parser = parse_ceiling, .args_doc = "[RUN...]",
		.doc = "Tells up to how many pages flushing them one by one is cheaper than a full flush, and which "
		       "tlb_single_page_flush_ceiling follows.\vRUN is a directory or a rows.csv; standard: the newest "
		       "results/ceiling-*, as tlbscope run ceiling makes them.",
	};
	struct ceiling_request request = { 0 };
	struct flushes flushes = { 0 };
	struct problem p = { 0 };
	json_t *list = NULL;
	int result = 0, refused = EXIT_DONE;
	size_t i;

	parse_options(&argp, argc, argv, &request);
	if (!request.count)
		result = take_newest(&request, &p);
	if (!result && request.flushes)
		result = flushes_read(request.flushes, &flushes, &p);
	if (!result && request.json)
		list = json_array();
	for (i = 0; i < request.count && !result; i++) {
		if (i && !list)
			putchar('\n');
		result = tell(request.runs[i], request.flushes ? &flushes : NULL, list, &p);
		if (!result && p.exit_code) {
			report(&p);
			refused = refused ? refused : p.exit_code;
			p.exit_code = EXIT_DONE;
		}
	}
	if (list) {
		list = json_pack("{s:o}", "runs", list);
		json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(list);
	}
	for (i = 0; i < request.count; i++)
		free(request.runs[i]);
	free(request.runs);
	flushes_free(&flushes);
	return result ? report(&p) : refused;
}
