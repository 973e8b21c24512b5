// SPDX-License-Identifier: GPL-2.0
/* tlbscope report: reads runs, draws their pictures, writes report.html and guidance.md. */
#include "report.h"

#include "command.h"
#include "util.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <time.h>

struct report_request {
	char **runs;
	size_t count;
	const char *out;
	int only_good;
	struct report_options options;
};

enum { OPT_OUT = 0x300, OPT_FLUSH_RATE };

#define FLUSH_RATE 10000 /* a second; a busy server with many threads in one address space */

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
	struct report_request *request = state->input;
	char *end;

	switch (key) {
	case OPT_OUT:
		request->out = arg;
		return 0;
	case OPT_FLUSH_RATE:
		request->options.flush_rate = strtod(arg, &end);
		if (*end || end == arg || !(request->options.flush_rate >= 1 && request->options.flush_rate <= 1e9))
			argp_error(state, "--flush-rate %s: a number of flushes a second, 1 to 1e9", arg);
		return 0;
	case OPT_SKIP_BAD_ROWS:
		request->only_good = 1;
		return 0;
	case ARGP_KEY_ARG:
		request->runs = xrealloc(request->runs, (request->count + 1) * sizeof(char *));
		request->runs[request->count++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name a run directory");
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- reading ---- */

/* Name of a run: the last part of its directory, with what a file name should not hold replaced. */
static char *label_of(const char *dir)
{
	char *real = realpath(dir, NULL), *label = xstrdup(real ? strrchr(real, '/') + 1 : dir), *at;

	for (at = label; *at; at++)
		if (*at == '/' || *at == '`' || (unsigned char)*at < ' ')
			*at = '_';
	free(real);
	return label;
}

/* A label that is there already gets a number behind it. */
static void make_label(struct report_run *runs, size_t n)
{
	char *label = label_of(runs[n].dir), *numbered = xstrdup(label);
	size_t i, number = 1;

	for (i = 0; i < n; i++)
		if (!strcmp(runs[i].label, numbered)) {
			free(numbered);
			numbered = xasprintf("%s-%zu", label, ++number);
			i = -1; /* the numbered one may be there, too */
		}
	free(label);
	runs[n].label = numbered;
}

static u64 first_phase(const struct cells *cells)
{
	u64 phase;

	for (phase = 0; phase <= TS_RETOUCH; phase++)
		if (cells_show_phase(cells, phase))
			return phase;
	return TS_PHASES;
}

static int read_run(const struct report_request *request, struct report_run *runs, size_t n, struct problem *p)
{
	struct report_run *run = &runs[n];
	int result = run_rows(request->runs[n], request->only_good, &run->rows, p);

	if (result)
		return result;
	run->dir = run_dir(request->runs[n]);
	make_label(runs, n);
	cells_build(&run->rows, &run->cells);
	reach_build(&run->cells, &run->reach);
	run->json = environment_load(run->dir);
	if (ceiling_asked(&run->rows))
		ceiling_build(&run->rows, run->json, &run->ceiling);
	run->rest = reach_rest(&run->cells, &run->reach);
	run->stamp = environment_stamp(&run->rows, run->json);
	run->phase = first_phase(&run->rest);
	return 0;
}

static void free_run(struct report_run *run)
{
	figures_free(&run->figures);
	free(run->rest.cell);
	ceiling_free(&run->ceiling);
	reach_free(&run->reach);
	cells_free(&run->cells);
	rows_free(&run->rows);
	json_decref(run->json);
	free(run->dir);
	free(run->label);
	free(run->data);
	free(run->undrawn);
}

/* ---- where it is written ---- */

static char *standard_dir(void)
{
	time_t now = time(NULL);
	struct tm local;
	char when[32];

	localtime_r(&now, &local);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &local);
	return xasprintf("results/report-%s", when);
}

/* mkdir -p */
static int make_dir(const char *dir, struct problem *p)
{
	char *path = xstrdup(dir), *slash = path;
	struct stat info;
	int failed;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	failed = mkdir(path, 0777) && (errno != EEXIST || stat(path, &info) || !S_ISDIR(info.st_mode));
	free(path);
	if (failed)
		return problem(p, EXIT_INPUT, "%s: cannot create the directory: %s; name another with --out DIR", dir,
			       strerror(errno));
	return 0;
}

/* Path of a file as seen from a directory, both absolute; the caller frees. */
static char *relative_path(const char *dir, const char *file)
{
	size_t i, same = 0;
	char *text = xstrdup(""), *next;

	for (i = 0; dir[i] && dir[i] == file[i]; i++)
		if (dir[i] == '/')
			same = i;
	if (!dir[i] && file[i] == '/')
		same = i;
	for (dir += same; *dir; dir++)
		if (*dir == '/' && dir[1]) {
			next = xasprintf("%s../", text);
			free(text);
			text = next;
		}
	next = xasprintf("./%s%s", text, file + same + 1);
	free(text);
	return next;
}

/* Per cent signs for what a link cannot hold; the caller frees. */
static char *link_text(const char *path)
{
	char *text = xcalloc(3, strlen(path) + 1), *to = text;

	for (; *path; path++) {
		unsigned char c = *path;

		if (c <= ' ' || c >= 127 || strchr("\"%<>?#\\^`{|}", c))
			to += sprintf(to, "%%%02X", c);
		else
			*to++ = c;
	}
	return text;
}

static void set_link(struct report_run *run, const char *out)
{
	char *dir = realpath(out, NULL), *file = realpath(run->rows.table.path, NULL);
	char *path = dir && file ? relative_path(dir, file) : xstrdup(run->rows.table.path);

	run->data = link_text(path);
	free(path);
	free(dir);
	free(file);
}

/* ---- writing ---- */

/* Pictures that cannot be drawn are no reason to go without the page. */
static void draw(struct report_run *run, const char *dir, size_t n, const struct published *published)
{
	char *prefix = n > 1 ? xasprintf("%s/%s-", dir, run->label) : xasprintf("%s/", dir);
	const struct figures_from from = { &run->rows,	 &run->cells, &run->reach, &run->ceiling,
					    published, prefix,	      run->stamp,  "svg" };
	struct problem p = { 0 };

	if (figures_draw(&from, &run->figures, &p)) {
		fprintf(stderr, "tlbscope: %s\n", p.text);
		run->undrawn = xstrdup(p.text);
		run->failed = p.exit_code == EXIT_FAILED;
	}
	free(prefix);
}

/* A file is written under another name and takes its own when it is whole: an earlier one stays till then. */
#define FRESH "%s/.%s.new"

/* Opens what becomes DIR/NAME; 0 with *p. */
static FILE *create(const char *dir, const char *name, struct problem *p)
{
	char *path = xasprintf(FRESH, dir, name);
	FILE *out = fopen(path, "we");

	if (!out)
		problem(p, EXIT_INPUT, "%s/%s: cannot write: %s; name another directory with --out", dir, name,
			strerror(errno));
	free(path);
	return out;
}

static int finish(FILE *out, const char *dir, const char *name, struct problem *p)
{
	char *fresh = xasprintf(FRESH, dir, name), *path = xasprintf("%s/%s", dir, name);
	int failed = ferror(out), result = 0;

	failed |= fclose(out);
	if (failed || rename(fresh, path)) {
		result = problem(p, EXIT_FAILED, "%s: cannot write: %s", path, strerror(errno));
		unlink(fresh);
	} else {
		printf("%s\n", path);
	}
	free(fresh);
	free(path);
	return result;
}

static int write_files(const char *dir, const struct report_run *runs, size_t n,
		       const struct published *published, const struct report_options *options,
		       struct problem *p)
{
	char *path = data_path("plots/report.css"), *style = read_text(path);
	FILE *out = style ? create(dir, "report.html", p) : NULL;
	int result = -EINVAL;

	if (!style)
		problem(p, EXIT_INPUT, "%s: %s; install tlbscope anew", path, strerror(errno));
	if (out) {
		report_page(out, runs, n, style, published, options);
		result = finish(out, dir, "report.html", p);
	}
	out = result ? NULL : create(dir, "guidance.md", p);
	if (!result && !out)
		result = -EINVAL;
	if (out) {
		guidance_markdown(out, runs, n, options);
		result = finish(out, dir, "guidance.md", p);
	}
	free(path);
	free(style);
	return result;
}

static int make_report(const struct report_request *request, struct report_run *runs, struct problem *p)
{
	struct published published;
	char *dir;
	size_t i;
	int result = 0;

	for (i = 0; i < request->count && !result; i++)
		result = read_run(request, runs, i, p);
	if (result)
		return result;
	result = published_read(&published, p);
	if (result)
		return result;
	dir = request->out ? xstrdup(request->out) : request->count == 1 ? xstrdup(runs[0].dir) : standard_dir();
	result = make_dir(dir, p);
	for (i = 0; i < request->count && !result; i++) {
		set_link(&runs[i], dir);
		draw(&runs[i], dir, request->count, &published);
	}
	if (!result)
		result = write_files(dir, runs, request->count, &published, &request->options, p);
	for (i = 0; i < request->count && !result; i++)
		if (runs[i].failed)
			result = problem(p, EXIT_FAILED, "the page lacks the pictures of %s: %s", runs[i].label,
					 runs[i].undrawn);
	published_free(&published);
	free(dir);
	return result;
}

int command_report(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "out", OPT_OUT, "DIR", 0, "where to write; standard: the run's directory, for several runs "
					     "results/report-TIME", 0 },
		{ "flush-rate", OPT_FLUSH_RATE, "N", 0, "flushes a second that costs are told for (10000)", 0 },
		OPTION_SKIP_BAD_ROWS,
		{ 0 },
	};
	const struct argp argp = { .options = options, .parser = parse_report, .args_doc = "RUN...",
				   .doc = "Writes report.html, one page with all evidence of the runs, and guidance.md, "
					  "what to set." };
	struct report_request request = { .options = { FLUSH_RATE } };
	struct problem p = { 0 };
	struct report_run *runs;
	size_t i;
	int result;

	parse_options(&argp, argc, argv, &request);
	runs = xcalloc(request.count, sizeof(*runs));
	result = make_report(&request, runs, &p);
	for (i = 0; i < request.count; i++)
		free_run(&runs[i]);
	free(runs);
	free(request.runs);
	return result ? report(&p) : EXIT_DONE;
}
