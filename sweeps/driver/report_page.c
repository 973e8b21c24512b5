// SPDX-License-Identifier: GPL-2.0
/*
 * report.html: one page, evidence first, that needs nothing but itself. All that comes from rows.csv and run.json goes
 * through html_put().
 */
#include "cell_text.h"
#include "compare.h"
#include "event_table.h"
#include "report.h"
#include "report_html.h"
#include "util.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

static void put_style(FILE *out, const char *style)
{
	fputs("<style>\n", out);
	fputs(style, out); /* this program's own file */
	fputs("\n</style>\n", out);
}

/* A text from run.json between markup; nothing when it is absent. */
static void put_fact(FILE *out, const struct report_run *run, const char *path, const char *label)
{
	char *text = environment_text(run->json, path);

	if (text)
		html_put(out, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", label, text);
	free(text);
}

/* ---- sections ---- */

static void put_answer(FILE *out, const struct report_run *run)
{
	char *first, *second, *unasked = report_unasked(run);

	report_answer(run, &first, &second);
	html_put(out, "<p class=\"answer\"><strong>%s</strong> %s</p>\n", first, second);
	if (*unasked)
		html_put(out, "<p class=\"note\">Not measured by this run: %s.</p>\n", unasked);
	free(unasked);
	if (environment_is_incomplete(run->json, &run->rows))
		html_put(out, "<p class=\"note\">The run is not complete: rows of its plan are missing.</p>\n");
	if (*run->stamp)
		html_put(out, "<p class=\"stamp\"><strong>Not hardware:</strong> %s. What is said here is about that, "
			      "not about any CPU that can be bought.</p>\n", run->stamp);
	if (run->rows.table.left_out)
		html_put(out, "<p class=\"stamp\">%u rows could not be read and are left out. The first: %s</p>\n",
			 run->rows.table.left_out, run->rows.table.left_out_why);
	if (run->rows.table.unfinished)
		fputs("<p class=\"stamp\">The last line of rows.csv has no end (a killed run); it is left out.</p>\n",
		      out);
	free(first);
	free(second);
}

static void put_machine(FILE *out, const struct report_run *run)
{
	const struct environment_fact *fact;
	size_t i;

	fputs("<h3>The machine</h3>\n", out);
	if (run->rows.count)
		html_put(out, "<p>The cases ran on <strong>%s</strong>, target <strong>%s</strong>.</p>\n",
			 run->rows.row[0].cpu, run->rows.row[0].target);
	if (!run->json) {
		fputs("<p>There is no run.json beside the rows: nothing more is known about the machine.</p>\n", out);
		return;
	}
	fputs("<div class=\"wide\"><table>\n<caption><span>Around the run, as run.json has it</span></caption>\n<tbody>\n", out);
	put_fact(out, run, "plan.title", "plan");
	put_fact(out, run, "start", "start (UTC)");
	put_fact(out, run, "end", "end (UTC)");
	if (json_object_get(run->json, "complete"))
		html_put(out, "<tr><th scope=\"row\">a row for every case of the plan, measured or declined</th>"
			      "<td>%s</td></tr>\n", environment_is_incomplete(run->json, &run->rows) ? "no" : "yes");
	for (i = 0; (fact = environment_fact(i)); i++)
		put_fact(out, run, fact->path, fact->label);
	fputs("</tbody></table></div>\n", out);
}

/* How the numbers of a phase come about. */
static void put_phase_method(FILE *out, u64 phase)
{
	static const char *const texts[TS_PHASES] = {
		[TS_REFILL] =
			"<p><strong>refill</strong>: every page of the working set is touched, so that its translation is "
			"cached. The accessed bits in its page-table leaves are cleared without a flush; then the op runs, "
			"and every page is touched once more. The page walker sets an accessed bit, a TLB hit does not: "
			"a bit that came back is a translation that had been lost. No performance counter is needed.</p>\n",
		[TS_RETOUCH] =
			"<p><strong>retouch</strong>: the op runs, then one pass over the working set is timed. What a "
			"translation costs to fetch again shows as cycles over those of the pass without a flush. "
			"Cycles are TSC ticks.</p>\n",
		[TS_BOTH] =
			"<p><strong>both, op, access</strong>: the loops of 2016: flush and touches, the flush alone, the "
			"touches alone; what both cost beyond the two parts is the refill.</p>\n",
	};

	if (texts[phase])
		fputs(texts[phase], out);
}

static void put_method(FILE *out, const struct report_run *run)
{
	u64 phase;

	fputs("<h3>How it was measured and controlled</h3>\n", out);
	for (phase = 0; phase < TS_PHASES; phase++) {
		if (!cells_show_phase(&run->rest, phase))
			continue;
		put_phase_method(out, phase);
		if (phase <= TS_RETOUCH) {
			char *samples = figure_samples(&run->rest, phase);

			html_put(out, "<p>Numbers are %s, in one iteration.</p>\n", samples);
			free(samples);
			report_control_table(out, run, phase);
		}
	}
	if (report_question(run) == ASKS_CEILING)
		report_ceiling_controls(out, run);
	if (run->phase != TS_PHASES)
		fputs("<p><strong>F</strong>, the fracture index, is how far one flush of an unrelated page goes from "
		      "doing nothing (0: it dropped what it names and no more) to a full flush (1: it cost what a full "
		      "flush costs). An interval behind it is over the repeats, or the target&#39;s own 95&nbsp;% "
		      "bootstrap interval.</p>\n", out);
	if (run->reach.count)
		fputs("<p><strong>reach</strong>: sets of more and more lines are touched without any flush; where the "
		      "latency leaves that of lines packed side by side (the caches&#39; share), a level of the TLB is "
		      "full.</p>\n", out);
}

/* Counted events, as `tlbscope table` prints them. */
static void put_events(FILE *out, const struct report_run *run)
{
	char *text = NULL;
	size_t size = 0;
	FILE *table = open_memstream(&text, &size);

	if (!table)
		return;
	event_tables_print(table, &run->rows, &run->rest);
	fclose(table);
	if (size)
		html_put(out, "<h4>Counted events</h4>\n<div class=\"wide\"><pre class=\"table\">%s</pre></div>\n", text);
	free(text);
}

/* Every cell and op that flushes. */
static void put_flushes(FILE *out, const struct report_run *run, const struct published *published)
{
	u64 phase;

	if (run->phase != TS_PHASES)
		fputs("<p>In the tables: <code>!</code> not valid, see below; <code>~</code> the repeats differ; "
		      "<code>?</code> behind a host page: not verified; empty: not measured.</p>\n", out);
	for (phase = 0; phase <= TS_RETOUCH; phase++) {
		if (!cells_show_phase(&run->rest, phase))
			continue;
		report_fracture_table(out, run, phase);
		report_op_tables(out, run, phase);
	}
	if (cells_show_phase(&run->rest, TS_REFILL))
		report_published_table(out, run, published);
	if (cells_show_phase(&run->rest, TS_BOTH))
		report_loops_table(out, run, published);
	put_events(out, run);
}

/* Of a break-even the many rows that it is made of are folded: it has tables of its own. */
static void put_results(FILE *out, const struct report_run *run, const struct published *published)
{
	int is_ceiling = report_question(run) == ASKS_CEILING;

	fputs("<h3>What came out</h3>\n", out);
	if (is_ceiling) {
		report_ceiling(out, run);
		fputs("<details>\n<summary>Every cell and op that it is made of</summary>\n", out);
	}
	put_flushes(out, run, published);
	if (is_ceiling)
		fputs("</details>\n", out);
	report_reach_tables(out, run);
}

static void put_figures(FILE *out, const struct report_run *run, size_t number)
{
	size_t i;

	if (!run->undrawn && !run->figures.count)
		return;
	fputs("<h3>Pictures</h3>\n", out);
	if (run->undrawn)
		html_put(out, "<p class=\"stamp\">Not drawn: %s</p>\n", run->undrawn);
	for (i = 0; i < run->figures.count && !run->undrawn; i++) { /* what is there may be of an earlier time */
		const struct figure *figure = &run->figures.figure[i];
		char *path = xasprintf("%s.svg", figure->base), *prefix = xasprintf("r%zup%zu-", number, i + 1);

		fputs("<figure>\n<div class=\"picture\">", out);
		html_svg(out, path, prefix, figure->title, figure->text);
		html_put(out, "</div>\n<figcaption>%s%s%s%s.</figcaption>\n</figure>\n", figure->title,
			 *run->stamp ? " (" : "", run->stamp, *run->stamp ? ")" : "");
		free(path);
		free(prefix);
	}
}

static void put_invalid(FILE *out, const struct report_run *run)
{
	fputs("<h3>What is not valid, and why</h3>\n", out);
	report_invalid_table(out, run);
}

/* A text of guidance.c, in which `...` is code. */
static void put_inline(FILE *out, const char *text)
{
	char *copy = xstrdup(text), *at = copy, *end;
	int code;

	for (code = 0; at; at = end ? end + 1 : NULL, code = !code) {
		end = strchr(at, '`');
		if (end)
			*end = '\0';
		html_put(out, code ? "<code>%s</code>" : "%s", at);
	}
	free(copy);
}

static void put_point(FILE *out, const struct guidance_point *point)
{
	html_put(out, "<dt>%s</dt>\n<dd><p>", point->topic);
	put_inline(out, point->advice);
	fputs("</p>\n<p class=\"note\">Evidence: ", out);
	put_inline(out, point->evidence);
	fputs("</p>\n", out);
	if (point->snippet)
		html_put(out, "<pre>%s</pre>\n", point->snippet);
	fputs("</dd>\n", out);
}

/* For each machine; its CPU as a heading when there are several runs. */
static void put_guidance(FILE *out, const struct report_run *runs, size_t n, const struct report_options *options)
{
	struct guidance *list;
	size_t i, j, machines = guidance_build(runs, n, options, &list);

	html_put(out, "<h3>What to set</h3>\n<p>The same as <a href=\"guidance.md\">guidance.md</a>%s.</p>\n",
		 n > 1 ? ": for each machine, from the first of its runs that measured the point" : "");
	for (i = 0; i < machines; i++) {
		if (n > 1)
			html_put(out, "<h4>%s%s%s</h4>\n",
				 list[i].run->rows.count ? list[i].run->rows.row[0].cpu : list[i].run->label,
				 *list[i].run->stamp ? ": " : "", list[i].run->stamp);
		if (guidance_is_idle(&list[i])) {
			html_put(out, "<p>%s</p>\n", guidance_idle);
			continue;
		}
		fputs("<dl>\n", out);
		for (j = 0; j < GUIDANCE_POINTS; j++)
			put_point(out, &list[i].point[j]);
		fputs("</dl>\n", out);
	}
	guidance_free(list, machines);
}

/* Repeats of the outcome that has most of them. */
static size_t most_repeats(const struct cells *cells)
{
	size_t i, j, most = 0;

	for (i = 0; i < cells->count; i++)
		for (j = 0; j < cells->cell[i].outcomes; j++)
			most = cells->cell[i].outcome[j].n > most ? cells->cell[i].outcome[j].n : most;
	return most;
}

/*
 * How to set the new run beside this one. Where a run lay by an absolute path is left out, as of plan files: the page is
 * handed on.
 */
static void put_compare(FILE *out, const struct report_run *run)
{
	int absolute = run->dir[0] == '/';
	char *dir = shell_word(absolute ? run->label : run->dir);

	if (most_repeats(&run->cells) < COMPARE_REPEATS)
		html_put(out, "<p>Whether it came out alike cannot be told from this run: <code>tlbscope compare</code> needs "
			      "%u repeats of each case in both. Measure twice with <code>--repeats %u</code> for that.</p>\n",
			 (size_t)COMPARE_REPEATS, (size_t)COMPARE_REPEATS);
	else
		html_put(out, "<p><code>tlbscope compare %s again</code> then tells whether refills came out alike%s; for "
			      "times it takes three runs of each, measured in turns.</p>\n", dir,
			 absolute ? " (all of it in the directory that this run lies in)" : "");
	free(dir);
}

static void put_reproduce(FILE *out, const struct report_run *run)
{
	char *command = environment_text(run->json, "command"), *plan = environment_text(run->json, "plan.name");
	char *target = environment_text(run->json, "target"), *hand = environment_text(run->json, "qemu.by_hand");

	fputs("<h3>How to reproduce it</h3>\n<pre>tlbscope doctor\n", out);
	if (command)
		html_put(out, "%s --out again\n", command);
	else if (plan && target)
		html_put(out, "tlbscope run %s --on %s --out again\n", plan, target);
	else
		html_put(out, "tlbscope run fracture --on %s --out again\n",
			 run->rows.count ? run->rows.row[0].target : "TARGET");
	fputs("tlbscope table --published again\ntlbscope report again\n</pre>\n", out);
	put_compare(out, run);
	if (hand)
		html_put(out, "<p>Without this program, typing the protocol:</p>\n<pre>%s</pre>\n", hand);
	report_plan(out, run);
	free(command);
	free(plan);
	free(target);
	free(hand);
}

static void put_data(FILE *out, const struct report_run *run)
{
	size_t i;

	fputs("<h3>The data</h3>\n", out);
	html_put(out, "<p><a href=\"%s\">rows.csv</a>: %u rows, RFC 4180, one for each case and repetition; not "
		      "measured is empty. Columns:</p>\n", run->data, run->rows.count);
	fputs("<div class=\"wide\"><table>\n<caption><span>Columns of rows.csv</span></caption>\n<thead><tr><th "
	      "scope=\"col\">column</th><th scope=\"col\">holds</th></tr></thead>\n<tbody>\n", out);
	for (i = 0; i < run->rows.table.columns; i++) {
		const char *about = report_column(run->rows.table.header[i]);

		html_put(out, "<tr><td><code>%s</code></td><td>%s</td></tr>\n", run->rows.table.header[i],
			 *about ? about : "a column of its target or of another tool, such as an event");
	}
	fputs("</tbody></table></div>\n", out);
}

/* The words of the page; the field's own, but for twin and refill. */
static void put_words(FILE *out)
{
	static const struct {
		const char *word, *about;
	} words[] = {
		{ "leaf", "the last entry of a page walk, which maps a page of 4K, 2M or 1G" },
		{ "working set", "the pages whose cached translations are looked at: 16 x 2m is 16 leaves of 2M" },
		{ "guest page, host page", "sizes of leaves in the VM's own page table, and below it in the hypervisor's" },
		{ "selective flush, full flush", "drops the translation of one page (INVLPG); drops all of them (CR3)" },
		{ "F", "fracture index: how far a selective flush goes from doing nothing (0) to a full flush (1)" },
		{ "refill", "a translation that the page walker had to fetch again" },
		{ "twin", "in names of ops, a system call that does the same work but need not flush; the column twin says "
			  "whether a remapped page showed its new frame" },
		{ "PCID", "tag of an address space in the TLB; without it a change of page tables empties the TLB" },
		{ "PTI", "separate page tables of kernel and process, changed at every system call" },
		{ "lines", "cache lines touched in a pass; TSC cycles are ticks of the time-stamp counter" },
		{ "cliff", "a number of lines above which each costs more, since a level of the TLB is full" },
	};
	size_t i;

	fputs("<section>\n<h2>Words</h2>\n<div class=\"wide\"><table>\n<caption><span>Words of this page</span></caption>\n"
	      "<tbody>\n", out);
	for (i = 0; i < TS_COUNT(words); i++)
		html_put(out, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", words[i].word, words[i].about);
	fputs("</tbody></table></div>\n</section>\n", out);
}

/* ---- the page ---- */

static void put_run(FILE *out, const struct report_run *run, size_t number, size_t n,
		    const struct published *published, const struct report_options *options)
{
	html_put(out, "<section id=\"run-%u\">\n", number);
	if (n > 1) {
		html_put(out, "<h2>%s</h2>\n<p class=\"what\">%s</p>\n", run->label,
			 report_question_title(report_question(run)));
		put_answer(out, run);
	} else {
		fputs("<h2>The evidence</h2>\n", out);
	}
	put_results(out, run, published);
	put_figures(out, run, number);
	put_method(out, run);
	put_invalid(out, run);
	if (n == 1)
		put_guidance(out, run, n, options);
	put_machine(out, run);
	put_reproduce(out, run);
	put_data(out, run);
	fputs("</section>\n", out);
}

static void put_introduction(FILE *out)
{
	fputs("<p class=\"note\">A CPU keeps recent address translations in its TLB. An operating system that changes "
	      "one page flushes that page&#39;s translation; in a virtual machine a CPU may drop all of them instead, "
	      "when a large (2M) page of the guest lies on small (4K) pages of the host: page fracturing.</p>\n", out);
}

/* The question of all runs, when it is one. */
static const char *page_title(const struct report_run *runs, size_t n)
{
	enum report_question question = report_question(&runs[0]);
	size_t i;

	for (i = 1; i < n; i++)
		if (report_question(&runs[i]) != question)
			question = ASKS_NONE;
	return report_question_title(question);
}

/* Several runs: what each says, before anything else. */
static void put_answers(FILE *out, const struct report_run *runs, size_t n)
{
	char *first, *second;
	size_t i;

	for (i = 0; i < n; i++) {
		report_answer(&runs[i], &first, &second);
		html_put(out, "<p class=\"answer\"><a href=\"#run-%u\">%s</a> (%s): <strong>%s</strong> %s</p>\n", i + 1,
			 runs[i].label, report_hardware(&runs[i], "hardware"), first, second);
		free(first);
		free(second);
	}
}

void report_page(FILE *out, const struct report_run *runs, size_t n, const char *style,
		 const struct published *published, const struct report_options *options)
{
	const char *cpu = runs[0].rows.count ? runs[0].rows.row[0].cpu : runs[0].label;
	char *now = time_text();
	size_t i;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n", out);
	html_put(out, "<title>%s %s</title>\n", page_title(runs, n), n == 1 ? cpu : "Several runs");
	put_style(out, style);
	html_put(out, "</head>\n<body>\n<header>\n<h1>%s</h1>\n", page_title(runs, n));
	if (n == 1) {
		html_put(out, "<p class=\"what\">%s, target %s, run %s</p>\n", cpu,
			 runs[0].rows.count ? runs[0].rows.row[0].target : "unknown", runs[0].label);
		put_answer(out, &runs[0]);
	} else {
		put_answers(out, runs, n);
	}
	put_introduction(out);
	fputs("</header>\n<main>\n", out);
	if (n > 1) {
		fputs("<section>\n<h2>All runs</h2>\n", out);
		report_side_by_side(out, runs, n);
		put_guidance(out, runs, n, options);
		fputs("</section>\n", out);
	}
	for (i = 0; i < n; i++)
		put_run(out, &runs[i], i + 1, n, published, options);
	put_words(out);
	html_put(out, "</main>\n<footer><p>Made by tlbscope %s on %s.</p></footer>\n</body>\n</html>\n", TS_VERSION,
		 now);
	free(now);
}
