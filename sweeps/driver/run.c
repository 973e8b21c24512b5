// SPDX-License-Identifier: GPL-2.0
/*
 * tlbscope run: a plan on a target, row by row into a run directory.
 *
 * The order of the cases is fixed by the plan, so a run that was stopped goes on behind its last whole row.
 */
#include "ceiling.h"
#include "command.h"
#include "counting.h"
#include "declined.h"
#include "environment.h"
#include "judge.h"
#include "machine.h"
#include "record.h"
#include "run_progress.h"
#include "run_request.h"
#include "run_target.h"
#include "table.h"
#include "target.h"
#include "util.h"
#include "version.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the run ---- */

struct run {
	struct record record;
	struct plan plan;
	struct target target;
	struct counting counting;
	struct planned *list;
	size_t count, next, skipped;
	int restarts;
	int begun; /* run.json says what this start measures on */
	struct declined declined;
};

static void describe_machine(json_t *json)
{
	json_object_set_new(json, "tlbscope", json_string(TS_VERSION));
	json_object_set_new(json, "machine", machine_describe());
}

/* What is known before the target has started: enough for --resume. */
static int describe_start(struct run *run, struct problem *p)
{
	json_t *json = run->record.json;
	char *start = time_text();

	json_object_set_new(json, "start", json_string(start));
	json_object_set_new(json, "target", json_string(run->target.ops->name));
	json_object_set_new(json, "plan", record_plan(&run->plan));
	json_object_set_new(json, "options", request_describe(run->target.options, run->counting.source));
	describe_machine(json);
	json_object_set_new(json, "complete", json_false());
	free(start);
	return record_save(&run->record, p);
}

/* What the target knows of itself once it has started. */
static void describe_target(const struct run *run, json_t *json)
{
	json_object_set_new(json, "accel", json_string(run->target.accel));
	json_object_set_new(json, "cpu", json_string(run->target.cpu));
	if (run->target.ops->describe)
		run->target.ops->describe(&run->target, json);
}

static int describe_begin(struct run *run, struct problem *p)
{
	json_t *json = run->record.json;

	describe_target(run, json);
	json_object_set_new(json, "complete", json_false());
	json_object_set_new(json, "counters", counting_describe(&run->counting));
	run->begun = 1;
	return record_save(&run->record, p);
}

static int finish_run(struct run *run, struct problem *p)
{
	json_t *json = run->record.json;
	json_int_t earlier = json_integer_value(json_object_get(json, "restarts"));
	char *end = time_text();
	int lost = rows_check(run->record.rows, p);

	json_object_set_new(json, "counters", counting_describe(&run->counting));
	json_object_set_new(json, "end", json_string(end));
	json_object_set_new(json, "rows", json_integer(run->record.written));
	json_object_set_new(json, "restarts", json_integer(run->restarts + earlier));
	json_object_set_new(json, "complete", json_boolean(run->count && run->next == run->count && !lost));
	free(end);
	return record_save(&run->record, p) ?: lost;
}

/* A leaf size that was asked for by name and that the CPU lacks is an error before the first row. */
static int check_pages(const struct run *run, struct problem *p)
{
	size_t i;

	if (run->target.features & TS_GB_PAGES)
		return 0;
	for (i = 0; i < run->count; i++)
		if (ts_case_needs(&run->list[i].c) & TS_GB_PAGES)
			return problem(p, EXIT_INPUT, "[%s] guest=1g: the CPU of target %s (%s) has no 1G "
				       "pages; %sleave 1g out with --guest 4k,2m",
				       run->list[i].section->name, run->target.ops->name, run->target.cpu,
				       run->target.ops->takes & TAKES_QEMU ? "use --cpu max, or " : "");
	return 0;
}

static int same_cell(const struct planned *a, const struct planned *b)
{
	struct ts_case x = a->c, y = b->c;

	x.op = y.op = x.at = y.at = x.count = y.count = 0;
	return !memcmp(&x, &y, sizeof(x)) && a->host == b->host;
}

/* Announces the cell that starts at or lies around run->next, if the target wants to know. */
static int begin_cell(struct run *run, int opened, struct problem *p)
{
	size_t first = run->next, end = run->next, i;
	struct ts_case *cases;
	int result;

	if (!run->target.ops->begin_cell)
		return 0;
	while (first && same_cell(&run->list[first - 1], &run->list[run->next]))
		first--;
	if (first != run->next && !opened)
		return 0;
	while (end < run->count && same_cell(&run->list[end], &run->list[run->next]))
		end++;
	cases = xcalloc(end - first, sizeof(*cases));
	for (i = first; i < end; i++)
		cases[i - first] = run->list[i].c;
	result = run->target.ops->begin_cell(&run->target, cases, end - first, p);
	free(cases);
	return result;
}

static int measure_next(struct run *run, int opened, struct problem *p)
{
	const struct ts_case *c = &run->list[run->next].c;
	struct row row = {
		.run = run->record.id,
		.target = run->target.ops->name,
		.accel = run->target.accel,
		.cpu = run->target.cpu,
		.host = run->list[run->next].host ?: "unknown",
		.host_how = "",
		.c = *c,
		.class = ts_ops[c->op].class,
		.sequence = run->next + 1,
		.valid = "ok",
	};
	const char **texts;
	int result;

	counting_begin_row(&run->counting);
	p->text[0] = '\0';
	result = begin_cell(run, opened, p) ?: run->target.ops->measure(&run->target, c, &row, p);
	if (result && result != -ENOTSUP)
		return result;
	if (result)
		declined_note(&run->declined, row.valid, p->text);
	if (row.r.twin == TS_TWIN_STALE && judge_twin_must_be_new(c))
		row_reason(&row, "twin");
	judge_row(&row);
	texts = counting_texts(&run->counting, run->target.ops->extra, row.extra);
	row.extra = texts;
	result = rows_append(run->record.rows, &row, p);
	free(texts);
	if (result)
		return result;
	run->record.written++;
	run->next++;
	return 0;
}

static json_t *describe_now(const struct run *run)
{
	json_t *now = json_object();

	describe_machine(now);
	describe_target(run, now);
	return now;
}

/*
 * The rows of a run are of one machine, one target, one program: only so can a cell put them together. What is another
 * thing now than run.json and the last row (may be 0) have, in words; 0 if nothing is. The caller frees. What run.json
 * does not know is not compared.
 */
static char *changes_since(const struct run *run, const struct row *last, const json_t *now)
{
	char *changes = environment_changes(run->record.json, now);

	if (!changes && last && strcmp(last->cpu, run->target.cpu))
		changes = xasprintf("column cpu was \"%s\" and is \"%s\"", last->cpu, run->target.cpu);
	if (!changes && last && strcmp(last->accel, run->target.accel))
		changes = xasprintf("column accel was \"%s\" and is \"%s\"", last->accel, run->target.accel);
	return changes;
}

/* A target that was started again in a run is to be what it was. */
static int check_restarted(const struct run *run, struct problem *p)
{
	json_t *now = describe_now(run);
	char *changes = changes_since(run, NULL, now);

	json_decref(now);
	if (!changes)
		return 0;
	problem(p, EXIT_FAILED, "target %s, started again, is not what it was: %s; %zu of %zu rows are in %s; start a new "
		"run, or make it as it was and --resume %s", run->target.ops->name, changes, run->next, run->count,
		run->record.dir, run->record.dir);
	free(changes);
	return -EINVAL;
}

/* Says in the log, and on the screen, that the target died; opens it again once. */
static int restart(struct run *run, int why, struct problem *p)
{
	char text[512], *reason;
	struct ts_text out;
	int result;

	ts_text_init(&out, text, sizeof(text));
	ts_case_print(&out, &run->list[run->next].c);
	p->text[0] = '\0';
	run->target.ops->close(&run->target, p);
	fprintf(run->record.log, "driver: the target %s in case %s: %s\n",
		why == -EPIPE ? "ended" : "gave no answer in time", text, p->text);
	if (run->restarts++)
		return problem(p, EXIT_FAILED, "target %s %s a second time (case %s); %zu of %zu rows are "
			       "in %s, its last words in log.txt there; --resume %s tries again",
			       run->target.ops->name, why == -EPIPE ? "ended" : "gave no answer", text,
			       run->next, run->count, run->record.dir, run->record.dir);
	fprintf(stderr, "%starget %s %s; starting it again for what remains (see log.txt)\n",
		isatty(2) ? "\r\033[K" : "", run->target.ops->name,
		why == -EPIPE ? "ended unexpectedly" : "gave no answer in time");
	result = run->target.ops->open(&run->target, p);
	if (!result)
		return check_restarted(run, p);
	if (result == -EINTR)
		return result;
	reason = xstrdup(p->text);
	problem(p, EXIT_FAILED, "target %s could not be started again: %s; %zu of %zu rows are in %s; "
		"--resume %s tries again", run->target.ops->name, reason, run->next, run->count,
		run->record.dir, run->record.dir);
	free(reason);
	return -EINVAL;
}

static int measure_all(struct run *run, struct problem *p)
{
	struct progress progress = {
		.total = run->count, .done = run->next, .first = run->next,
		.start = now_seconds(), .terminal = isatty(2),
	};
	int result = 0, opened = 1;

	while (run->next < run->count && !result) {
		progress.done = run->next;
		show_progress(&progress, &run->list[run->next]);
		result = measure_next(run, opened, p);
		opened = 0;
		if (result == -EPIPE || result == -ETIMEDOUT) {
			result = restart(run, result, p);
			opened = 1;
			if (result)
				return result;
		}
	}
	progress.done = run->next;
	show_progress(&progress, NULL);
	return result;
}

/* The rows that are there have to be the first of the plan. */
static int skip_measured(struct run *run, const struct rows *rows, struct problem *p)
{
	size_t i;

	for (i = 0; i < rows->count; i++)
		if (i >= run->count || memcmp(&rows->row[i].c, &run->list[i].c, sizeof(struct ts_case)) ||
		    (run->list[i].host && strcmp(rows->row[i].host, run->list[i].host)))
			return problem(p, EXIT_INPUT, "%s:%zu: row %zu is not the one that the plan has "
				       "there; start a new run instead of --resume", rows->table.path, i + 2,
				       i + 1);
	run->next = rows->count;
	return 0;
}

/* Without any row yet, run.json takes what is so now. */
static int check_unchanged(struct run *run, const struct rows *rows, struct problem *p)
{
	json_t *now = describe_now(run);
	char *changes = NULL;

	if (rows->count)
		changes = changes_since(run, &rows->row[rows->count - 1], now);
	else
		json_object_update(run->record.json, now);
	json_decref(now);
	if (!changes)
		return 0;
	problem(p, EXIT_INPUT, "%s: not what its rows were measured on: %s; start a new run, or make it as it was",
		run->record.dir, changes);
	free(changes);
	return -EINVAL;
}

static int interrupted_problem(const struct run *run, struct problem *p)
{
	problem(p, EXIT_INTERRUPTED, "stopped; %zu of %zu rows are in %s; tlbscope run --resume %s goes on",
		run->next, run->count, run->record.dir, run->record.dir);
	return -EINTR;
}

/*
 * A target that cannot be trusted here still shows why: its first control is measured, with few iterations, and
 * kept as an invalid row.
 */
static int refuse(struct run *run, struct problem *p)
{
	char *why = run->target.refusal, refills[64] = "";
	struct rows rows;
	char *path;
	int result;

	run->target.refusal = NULL;
	run->count = run->next < run->count ? run->next + 1 : run->count;
	if (run->next < run->count && run->list[run->next].c.iterations > 5)
		run->list[run->next].c.iterations = 5;
	result = measure_all(run, p);
	path = xasprintf("%s/rows.csv", run->record.dir);
	if (!result && !rows_read(path, &rows, p)) {
		const struct row *row = rows.count ? &rows.row[0] : NULL;

		if (row && row->r.has_refills)
			snprintf(refills, sizeof(refills), "; op %s refilled %llu of %llu leaves",
				 ts_ops[row->c.op].name, row->r.refills, row->c.leaves);
		rows_free(&rows);
	}
	free(path);
	if (!result)
		result = problem(p, EXIT_REFUSED, "target %s cannot be trusted here: %s%s; the rows are in "
				 "%s, without a verdict", run->target.ops->name, why, refills,
				 run->record.dir);
	free(why);
	return result;
}

/* From a started record to its end: open, list, measure, close. */
static int run_plan(struct run *run, const struct rows *old, struct problem *p)
{
	struct problem at_close;
	int result = run->target.ops->open(&run->target, p), closed;

	struct plan_filter filter;

	if (result == -EINTR)
		return interrupted_problem(run, p);
	if (result)
		return result;
	filter = (struct plan_filter){ run->target.ops->name, run->target.features,
				       run->target.ops->phases, run->target.ops->chooses_host };
	result = plan_cases(&run->plan, &filter, &run->list, &run->count, &run->skipped, p) ?:
		 check_pages(run, p) ?:
		 (old ? 0 : run_check_events(&run->counting, run->list, run->count, 1, p)) ?:
		 (old ? skip_measured(run, old, p) ?: check_unchanged(run, old, p) : 0) ?:
		 describe_begin(run, p);
	if (!result && run->skipped)
		plan_print_skipped(stderr, &run->plan, &filter);
	if (!result)
		result = run->target.refusal ? refuse(run, p) : measure_all(run, p);
	if (result == -EINTR && run->list) /* without a list: plan_cases() has told it */
		interrupted_problem(run, p);
	if (run->target.state) {
		closed = run->target.ops->close(&run->target, result ? &at_close : p);
		result = result ?: closed;
	}
	if (run->begun && (run->record.written || !result)) {
		closed = finish_run(run, result ? &at_close : p);
		result = result ?: closed;
	}
	return result;
}

/* A plan that could never be measured is refused before a directory is made. */
static int check_plan(struct run *run, const struct target_ops *ops, const struct options *options,
		      struct problem *p)
{
	struct planned *list;
	size_t count, skipped;
	u64 large, other, need;
	const struct plan_filter filter = { ops->name, ~0u, ops->phases, ops->chooses_host };
	int result = plan_check_size(&run->plan, p) ?:
		     plan_cases(&run->plan, &filter, &list, &count, &skipped, p);

	if (result)
		return result;
	result = run_check_events(&run->counting, list, count, 0, p);
	free(list);
	if (result)
		return result;
	large = plan_memory(&run->plan, ops->name, 1);
	other = plan_memory(&run->plan, ops->name, 0);
	need = large > other ? large : other;
	if (options->memory && options->memory < need)
		return problem(p, EXIT_INPUT, "--memory %lluM: the plan's largest window needs %lluM; give "
			       "more, or fewer --leaves", options->memory >> 20, need >> 20);
	return 0;
}

static int choose_counting(struct run *run, const struct target_ops *ops, const struct count_request *request,
			   struct problem *p)
{
	return counting_choose(&run->counting, request, ops->name, ops->counters, ops->counts_unasked, p);
}

/* The log is there from now on. */
static void begin_counting(struct run *run)
{
	run->counting.log = run->record.log;
	if (run->counting.why_not)
		counting_log(&run->counting, "no events are counted: %s", run->counting.why_not);
}

static int start_new(struct run *run, const struct request *request, struct problem *p)
{
	const struct target_ops *ops;
	const char **columns;
	char *dir, *command;
	int result = plan_load(request->plan ?: "fracture", &run->plan, p) ?: request_override(request, &run->plan, p);

	if (result)
		return result;
	ops = run_choose_target(request->target, &run->plan, &request->options, p);
	if (!ops)
		return -EINVAL;
	result = request_check(request, ops, p) ?:
		 choose_counting(run, ops, &request->options.count, p) ?:
		 check_plan(run, ops, &request->options, p);
	if (result)
		return result;
	run_tell_host(&run->plan, ops);
	dir = request->out ? xstrdup(request->out) : record_standard_dir(run->plan.name, ops->name);
	columns = counting_columns(&run->counting, ops->extra);
	result = record_create(&run->record, dir, columns, p);
	free(columns);
	free(dir);
	if (result)
		return result;
	run->target = (struct target){ .ops = ops, .options = &request->options, .plan = &run->plan,
				       .log = run->record.log, .counting = &run->counting };
	command = request_command(request, ops);
	json_object_set_new(run->record.json, "command", json_string(command));
	free(command);
	begin_counting(run);
	return describe_start(run, p) ?: run_plan(run, NULL, p);
}

static int resume_old(struct run *run, struct request *request, struct problem *p)
{
	struct rows rows;
	const char *name;
	const char **columns;
	int result = request_check_resume(request, p) ?: record_resume(&run->record, request->resume, &rows, p);
	if (result)
		return result;
	name = json_string_value(json_object_get(run->record.json, "target")) ?: "";
	run->target = (struct target){ .ops = target_find(name), .options = &request->options,
				       .plan = &run->plan, .log = run->record.log,
				       .counting = &run->counting };
	if (!run->target.ops)
		result = problem(p, EXIT_INPUT, "run.json: target \"%s\" is none of this program's", name);
	if (!result)
		result = request_check(request, run->target.ops, p) ?:
			 record_load_plan(json_object_get(run->record.json, "plan"), &run->plan, p) ?:
			 request_restore(request, json_object_get(run->record.json, "options"), p) ?:
			 run_check_target(run->target.ops, &request->options, p) ?:
			 choose_counting(run, run->target.ops, &request->options.count, p);
	if (!result) {
		columns = counting_columns(&run->counting, run->target.ops->extra);
		result = record_continue(&run->record, &rows, columns, p);
		free(columns);
		begin_counting(run);
	}
	if (!result && json_is_true(json_object_get(run->record.json, "complete")) &&
	    !environment_is_incomplete(run->record.json, &rows))
		fprintf(stderr, "%s is complete: nothing is left to measure\n", run->record.dir);
	else if (!result)
		result = run_plan(run, &rows, p);
	rows_free(&rows);
	return result;
}

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int show_table(const char *dir, struct problem *p)
{
	char *path = rows_path(dir);
	struct rows rows;
	int result = rows_read(path, &rows, p);

	free(path);
	if (result)
		return result;
	table_print(stdout, &rows, 1, NULL);
	rows_free(&rows);
	return 0;
}

/* What was measured, what was declined and why, and where it is. The plan ceiling asks for one answer, not for rows. */
static int show_result(const char *dir, const struct run *run, struct problem *p)
{
	int is_ceiling = run_asks_ceiling(&run->plan);
	int result = is_ceiling ? ceiling_answer(dir, p) : show_table(dir, p);

	if (result)
		return result;
	declined_print(stdout, &run->declined);
	if (is_ceiling)
		printf("\nEvery row: tlbscope table %s", dir);
	printf("\nresults: %s\n", dir);
	return 0;
}

int command_run(int argc, char **argv)
{
	struct request request;
	struct problem p = { 0 };
	struct run run = { 0 };
	char *dir;
	int result;

	request_parse(&request, argc, argv);
	catch_signals();
	result = request.resume ? resume_old(&run, &request, &p) : start_new(&run, &request, &p);
	dir = run.record.dir ? xstrdup(run.record.dir) : NULL;
	record_close(&run.record, result && p.exit_code == EXIT_INPUT);
	if (!result)
		result = show_result(dir, &run, &p);
	free(dir);
	declined_free(&run.declined);
	free(run.list);
	counting_free(&run.counting);
	plan_free(&run.plan);
	return result ? report(&p) : EXIT_DONE;
}
