// SPDX-License-Identifier: GPL-2.0
/* tlbscope ceiling: the break-even of runs, and the ceiling that follows from it. */
#include "command.h"

#include "ceiling.h"
#include "environment.h"
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

/* The TSC frequency that run.json has, beside rows.csv; NAN without. */
static double tsc_of(const char *rows)
{
	const char *slash = strrchr(rows, '/');
	char *path = xasprintf("%.*srun.json", slash ? (int)(slash + 1 - rows) : 0, rows);
	json_t *run = json_load_file(path, 0, NULL);
	double value = environment_tsc_hz(run);

	json_decref(run);
	free(path);
	return value;
}

/* The rows of a run and what they come to; the caller frees both unless there is a problem. */
static int read_ceiling(const char *run, struct rows *rows, struct ceiling *ceiling, struct problem *p)
{
	int result = run_rows(run, 0, rows, p);
	char *dir = run_dir(run);
	json_t *json = result ? NULL : environment_load(dir);

	if (!result)
		ceiling_build(rows, json, ceiling);
	json_decref(json);
	free(dir);
	return result;
}

/* Why a run tells nothing, and what would help, as a problem. */
static void refusal_problem(const char *run, const struct ceiling *ceiling, struct problem *p)
{
	problem(p, ceiling->refusal_code, "%s: %s%s%s", run, ceiling->refusal, ceiling->remedy ? "; " : "",
		ceiling->remedy ?: "");
}

/* One run, as text to stdout or appended to list. *p tells why a run says nothing; that is no end. */
static int tell(const char *run, const struct flushes *flushes, json_t *list, struct problem *p)
{
	char *path = rows_path(run);
	struct ceiling_context context = { .name = run, .flushes = flushes, .tsc_hz = tsc_of(path) };
	struct ceiling ceiling;
	struct rows rows;
	int result = read_ceiling(run, &rows, &ceiling, p);

	free(path);
	if (result)
		return result;
	if (list)
		json_array_append_new(list, ceiling_json(&ceiling, &context));
	else if (!ceiling.refusal)
		ceiling_print(stdout, &ceiling, &context);
	if (ceiling.refusal)
		refusal_problem(run, &ceiling, p);
	ceiling_free(&ceiling);
	rows_free(&rows);
	return result;
}

int ceiling_answer(const char *run, struct problem *p)
{
	struct ceiling_context context = { .name = run, .tsc_hz = NAN };
	struct ceiling ceiling;
	struct rows rows;
	int result = read_ceiling(run, &rows, &ceiling, p);

	if (result)
		return result;
	if (!ceiling.refusal)
		ceiling_print(stdout, &ceiling, &context);
	else if (ceiling.remedy && ceiling.refusal_code == EXIT_REFUSED)
		printf("No break-even: %s; %s\n", ceiling.refusal, ceiling.remedy);
	else /* something was not measured: what would measure it is what was run just now */
		printf("No break-even: %s\n", ceiling.refusal);
	ceiling_free(&ceiling);
	rows_free(&rows);
	return 0;
}

/* ---- the run that is taken without a name ---- */

struct candidate {
	char *run;
	struct timespec changed; /* its rows */
};

/* The last one first. */
static int compare_candidates(const void *a, const void *b)
{
	const struct timespec *x = &((const struct candidate *)a)->changed, *y = &((const struct candidate *)b)->changed;

	return x->tv_sec != y->tv_sec ? (x->tv_sec < y->tv_sec ? 1 : -1) :
					(x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* Runs of the plan ceiling where run puts its directories, the last one first; returns how many. */
static size_t find_candidates(struct candidate **list)
{
	DIR *folder = opendir("results");
	struct dirent *entry;
	struct stat info;
	size_t n = 0;

	*list = NULL;
	while (folder && (entry = readdir(folder))) {
		char *rows = xasprintf("results/%s/rows.csv", entry->d_name);

		if (!strncmp(entry->d_name, "ceiling-", strlen("ceiling-")) && !stat(rows, &info)) {
			*list = xrealloc(*list, (n + 1) * sizeof(**list));
			(*list)[n++] = (struct candidate){ xasprintf("results/%s", entry->d_name), info.st_mtim };
		}
		free(rows);
	}
	if (folder)
		closedir(folder);
	if (n)
		qsort(*list, n, sizeof(**list), compare_candidates);
	return n;
}

/* Can a run tell something about hardware? If not, *p says why, and what would help. */
static int can_tell(const char *run, struct problem *p)
{
	struct ceiling ceiling;
	struct rows rows;

	if (!read_ceiling(run, &rows, &ceiling, p)) {
		if (ceiling.refusal)
			refusal_problem(run, &ceiling, p);
		ceiling_free(&ceiling);
		rows_free(&rows);
	}
	return !p->exit_code;
}

#define MOST_TOLD 5 /* runs that are passed over in words */

/*
 * Without a name: the newest run of the plan ceiling that can tell something. Those that were passed over are told with
 * the reason; when all are, the exit code is the newest one's.
 */
static int take_newest(struct ceiling_request *request, struct problem *p)
{
	struct candidate *list;
	size_t i, n = find_candidates(&list);
	int code = EXIT_INPUT;

	for (i = 0; i < n && !request->count; i++) {
		struct problem why = { 0 };

		if (can_tell(list[i].run, &why)) {
			fprintf(stderr, "%s\n", list[i].run);
			add_run(request, list[i].run);
		} else if (i < MOST_TOLD) {
			fprintf(stderr, "not %s\n", why.text);
		}
		code = i ? code : why.exit_code;
	}
	for (i = 0; i < n; i++)
		free(list[i].run);
	free(list);
	if (request->count)
		return 0;
	if (!n)
		return problem(p, EXIT_INPUT, "no run named, and no results/ceiling-* here; tlbscope run ceiling makes "
			       "one");
	return problem(p, code, "no run named, and %s results/ceiling-* tells a break-even (%zu looked at, the newest first; "
		       "why not stands above); tlbscope doctor says which target can here, or what each needs",
		       n > 1 ? "none of the" : "the only", n);
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
		       "of results/ceiling-*, as tlbscope run ceiling makes them, that can tell.",
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
