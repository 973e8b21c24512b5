// SPDX-License-Identifier: GPL-2.0
/* The tables of report.html. The numbers are those of `tlbscope table`, by the same functions. */
#include "cell_text.h"
#include "reason.h"
#include "report.h"
#include "report_html.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELLS 120 /* shown in one table; rows.csv has all */
#define BLOCK 6	       /* cells side by side */

/* <th scope="col"> for each name up to a 0. */
static void put_head(FILE *out, const char *caption, const char *const *names)
{
	html_put(out, "<div class=\"wide\"><table>\n<caption><span>%s</span></caption>\n<thead><tr>", caption);
	for (; *names; names++)
		html_put(out, "<th scope=\"col\">%s</th>", *names);
	fputs("</tr></thead>\n<tbody>\n", out);
}

static void put_end(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

static void put_left_out(FILE *out, size_t n)
{
	if (n > MOST_CELLS)
		html_put(out, "<p class=\"note\">%u more cells are not shown here; <code>tlbscope table</code> and "
			      "rows.csv have them.</p>\n", n - MOST_CELLS);
}

/* The phase's cells in order: at most MOST_CELLS into cell; returns how many there are. */
static size_t pick_cells(const struct report_run *run, u64 phase, const struct cell **cell)
{
	size_t i, n = 0;

	for (i = 0; i < run->rest.count; i++) {
		if (run->rest.cell[i].key->c.phase != phase)
			continue;
		if (n < MOST_CELLS)
			cell[n] = &run->rest.cell[i];
		n++;
	}
	return n;
}

static size_t shown(size_t n)
{
	return n < MOST_CELLS ? n : MOST_CELLS;
}

/* A number cell; what is not measured stays empty. */
static void put_number(FILE *out, const struct outcome *outcome)
{
	char text[64];

	text_value(text, sizeof(text), outcome);
	html_put(out, "<td class=\"n\">%s</td>", strcmp(text, "-") ? text : "");
}

static void put_place(FILE *out, const struct cell *cell)
{
	char host[32], *set = text_set(&cell->key->c);

	html_put(out, "<td>%s</td><td>%s</td><td>%s</td>", row_host_text(host, sizeof(host), cell->key),
		 ts_page_names[cell->key->c.guest], set);
	free(set);
}

void report_fracture_table(FILE *out, const struct report_run *run, u64 phase)
{
	static const char *const head[] = { "host page", "guest page", "working set", "nothing flushed",
					    "one page flushed", "everything flushed", "F", "repeats", "flushed by",
					    "valid", NULL };
	const struct cell *cell[MOST_CELLS];
	size_t i, n = pick_cells(run, phase, cell);

	put_head(out, text_phase(phase), head);
	for (i = 0; i < shown(n); i++) {
		char f[64], *by = cell[i]->selective ? text_op(cell[i]->selective) : xstrdup("-");
		char *full = cell[i]->full ? text_op(cell[i]->full) : xstrdup("-");

		text_f(f, sizeof(f), cell[i]);
		fputs("<tr>", out);
		put_place(out, cell[i]);
		put_number(out, cell[i]->none);
		put_number(out, cell[i]->selective);
		put_number(out, cell[i]->full);
		html_put(out, "<td class=\"n f\">%s</td><td class=\"n\">%u</td><td>%s / %s</td><td>%s</td></tr>\n",
			 strcmp(f, "-") ? f : "", cell[i]->selective ? cell[i]->selective->n : 0, by, full,
			 cell[i]->valid);
		free(by);
		free(full);
	}
	put_end(out);
	put_left_out(out, n);
}

/* ---- every op ---- */

static void put_op_line(FILE *out, const struct cell *const *cell, size_t n, const struct outcome *like)
{
	char *name = text_op(like);
	size_t i;

	html_put(out, "<tr><th scope=\"row\">%s</th>", name);
	for (i = 0; i < n; i++)
		put_number(out, cell_same_op(cell[i], like));
	fputs("</tr>\n", out);
	free(name);
}

static void put_op_block(FILE *out, const struct cell *const *cell, size_t n, const char *caption)
{
	size_t i, j, k;

	html_put(out, "<div class=\"wide\"><table>\n<caption><span>%s</span></caption>\n<thead><tr><th scope=\"col\">op, page "
		      "flushed</th>", caption);
	for (i = 0; i < n; i++) {
		char host[32], *set = text_set(&cell[i]->key->c);

		html_put(out, "<th scope=\"col\">guest %s, host %s<br>%s</th>", ts_page_names[cell[i]->key->c.guest],
			 row_host_text(host, sizeof(host), cell[i]->key), set);
		free(set);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
	for (i = 0; i < n; i++)
		for (j = 0; j < cell[i]->outcomes; j++) {
			for (k = 0; k < i && !cell_same_op(cell[k], &cell[i]->outcome[j]);)
				k++;
			if (k == i) /* not in a cell before */
				put_op_line(out, cell, n, &cell[i]->outcome[j]);
		}
	put_end(out);
}

void report_op_tables(FILE *out, const struct report_run *run, u64 phase)
{
	const struct cell *cell[MOST_CELLS];
	size_t i, n = shown(pick_cells(run, phase, cell));
	char *caption = xasprintf("Every op: %s", text_phase(phase));

	for (i = 0; i < n; i += BLOCK)
		put_op_block(out, cell + i, n - i < BLOCK ? n - i : BLOCK, caption);
	free(caption);
}

/* ---- controls ---- */

/* What a control has to show, and whether it did: not, if valid (of the cell) has the reason. */
static void put_control(FILE *out, const struct outcome *outcome, const char *valid, const char *must,
			const char *reason)
{
	char value[64];

	if (!outcome) {
		fputs("<td>missing</td>", out);
		return;
	}
	text_number(value, sizeof(value), outcome_value(outcome));
	html_put(out, "<td>%s, must be %s: %s%s</td>", value, must, strstr(valid, reason) ? "failed" : "passed",
		 strstr(valid, reason) && strstr(valid, "syscall-flush") ? " (every system call flushes here)" : "");
}

void report_control_table(FILE *out, const struct report_run *run, u64 phase)
{
	static const char *const head[] = { "host page", "guest page", "working set", "without a flush",
					    "after a full flush", NULL };
	const struct cell *cell[MOST_CELLS];
	size_t i, n = pick_cells(run, phase, cell);

	put_head(out, "Controls: what the same loop does without a flush and with a full one", head);
	for (i = 0; i < shown(n); i++) {
		char must[64];

		fputs("<tr>", out);
		put_place(out, cell[i]);
		if (phase == TS_REFILL) {
			snprintf(must, sizeof(must), "%llu", cell[i]->key->c.leaves);
			put_control(out, cell[i]->none, cell[i]->valid, "0", "control-none");
			put_control(out, cell[i]->full, cell[i]->valid, must, "control-full");
		} else {
			put_control(out, cell[i]->none, cell[i]->valid, "less than after a full flush by more than noise",
				    "no-contrast");
			put_control(out, cell[i]->full, cell[i]->valid, "more than without a flush by more than noise",
				    "no-contrast");
		}
		fputs("</tr>\n", out);
	}
	put_end(out);
}

/* ---- 2016 ---- */

void report_published_table(FILE *out, const struct report_run *run, const struct published *published)
{
	static const char *const head[] = { "host page", "guest page", "2016: one page", "2016: everything",
					    "2016: F", "here: working set", "here: one page", "here: everything",
					    "here: F", NULL };
	const struct csv_table *misses = &published->misses;
	size_t i;

	put_head(out, "In one iteration. 2016: dTLB misses over 50 lines; here: leaves refilled, of sets of as many lines",
		 head);
	for (i = 0; i < misses->lines; i++) {
		const char *host = published_text(misses, i, "host"), *guest = published_text(misses, i, "guest");
		double iterations = published_number(misses, i, "iterations");
		double selective = published_number(misses, i, "selective");
		double full = published_number(misses, i, "full");
		const struct cell *cell = published_like(misses, i, &run->rest);
		char text[3][32], f[64] = "", *set = cell ? text_set(&cell->key->c) : xstrdup("not measured");

		snprintf(text[0], sizeof(text[0]), "%.3f", selective / iterations);
		snprintf(text[1], sizeof(text[1]), "%.3f", full / iterations);
		snprintf(text[2], sizeof(text[2]), "%.2f", selective / full);
		html_put(out, "<tr><td>%s</td><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s"
			      "</td><td>%s</td>", host, guest, text[0], text[1], text[2], set);
		if (cell) {
			text_f(f, sizeof(f), cell);
			put_number(out, cell->selective);
			put_number(out, cell->full);
		} else {
			fputs("<td></td><td></td>", out);
		}
		html_put(out, "<td class=\"n\">%s</td></tr>\n", f);
		free(set);
	}
	put_end(out);
	html_put(out, "<p class=\"note\">Another number of lines is another question: what was measured here over "
		      "other sets is in the tables above, not beside 2016. Source: %s. A miss in a VM counted about twice there: the walks of the guest's "
		      "and of the host's page table.</p>\n", published_text(misses, 0, "source"));
}

/* ---- the loops of 2016 ---- */

static void put_loop(FILE *out, const char *name, double both, double op, double access)
{
	const double value[] = { both, op, access, both - op - access };
	char text[32];
	size_t i;

	html_put(out, "<tr><td>%s</td>", name);
	for (i = 0; i < TS_COUNT(value); i++)
		html_put(out, "<td class=\"n\">%s</td>",
			 isnan(value[i]) ? "" : text_number(text, sizeof(text), round(value[i])));
	fputs("</tr>\n", out);
}

static void put_published_loops(FILE *out, const struct csv_table *cycles)
{
	static const char *const kinds[] = { "selective", "full" };
	size_t i, k;

	for (i = 0; i < cycles->lines; i++)
		for (k = 0; k < TS_COUNT(kinds); k++) {
			double n = published_number(cycles, i, "iterations");
			char *both = xasprintf("both_%s", kinds[k]), *op = xasprintf("op_%s", kinds[k]);
			char *name = xasprintf("2016, %s%s: %s", published_text(cycles, i, "machine"),
					       published_number(cycles, i, "global") > 0 ? ", global" : "", kinds[k]);

			put_loop(out, name, published_number(cycles, i, both) / n,
				 published_number(cycles, i, op) / n, published_number(cycles, i, "access") / n);
			free(both);
			free(op);
			free(name);
		}
}

/* Cycles of the same op in the cell of another phase; NAN when they were not measured. */
static double cycles_in(const struct cell *cell, const struct outcome *like)
{
	const struct outcome *outcome = cell ? cell_same_op(cell, like) : NULL;

	return outcome ? outcome->cycles : NAN;
}

void report_loops_table(FILE *out, const struct report_run *run, const struct published *published)
{
	static const char *const head[] = { "loop", "flush and touches", "flush alone", "touches alone", "net", NULL };
	const struct cell *cell[MOST_CELLS], *access;
	size_t i, j, n = pick_cells(run, TS_BOTH, cell);

	put_head(out, "The loops of 2016: TSC cycles of an iteration", head);
	for (i = 0; i < shown(n); i++) {
		access = cells_with_phase(&run->rest, cell[i], TS_ACCESS);
		for (j = 0; j < cell[i]->outcomes; j++) {
			const struct outcome *o = &cell[i]->outcome[j];
			char *set = text_set(&cell[i]->key->c), *op = text_op(o);
			char *name = xasprintf("here, host %s, %s: %s", cell[i]->key->host, set, op);

			put_loop(out, name, o->cycles, cycles_in(cells_with_phase(&run->rest, cell[i], TS_OP), o),
				 access && access->outcomes ? access->outcome[0].cycles : NAN);
			free(set);
			free(op);
			free(name);
		}
	}
	put_published_loops(out, &published->cycles);
	put_end(out);
}

/* ---- reach ---- */

static void put_cliffs(FILE *out, const struct reach_set *set)
{
	static const char *const head[] = { "curve", "between lines", "rise, cycles a line", "certainty", NULL };
	struct cliff cliff[REACH_CLIFFS];
	size_t i, j, n;

	put_head(out, "Cliffs: where a level of the TLB is full", head);
	for (i = 0; i < set->curves; i++) {
		const struct reach_curve *curve = &set->curve[i];

		n = reach_cliffs(curve, cliff);
		for (j = 0; j < n; j++) {
			char range[64], rise[32];

			snprintf(range, sizeof(range), "%g and %g", cliff[j].from, cliff[j].to);
			snprintf(rise, sizeof(rise), "%.1f", cliff[j].rise);
			html_put(out, "<tr><td>%s%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td></tr>\n",
				 curve->name, curve->packed ? " (caches, not the TLB)" : "", range, rise,
				 reach_certainty(&cliff[j]));
		}
		if (!n)
			html_put(out, "<tr><td>%s</td><td>none</td><td></td><td></td></tr>\n", curve->name);
	}
	put_end(out);
}

/* The next number of lines that any curve has. */
static double next_lines(const struct reach_set *set, double lines)
{
	double next = INFINITY;
	size_t i, j;

	for (i = 0; i < set->curves; i++)
		for (j = 0; j < set->curve[i].samples; j++)
			if (set->curve[i].sample[j].lines > lines)
				next = fmin(next, set->curve[i].sample[j].lines);
	return next;
}

/* Cycles with their mark, and what is left over the packed curve. */
static void put_sample(FILE *out, const struct reach_sample *sample, int packed)
{
	char mark[2] = { reach_mark(sample) };

	if (*mark == ' ')
		*mark = '\0';
	fprintf(out, "<td class=\"n\">%.1f%s", sample->cycles, mark);
	if (!packed && !isnan(sample->net))
		fprintf(out, " (%.1f)", fabs(sample->net) < 0.05 ? 0 : sample->net);
	fputs("</td>", out);
}

static void put_curves(FILE *out, const struct reach_set *set)
{
	double lines;
	size_t i;

	fputs("<div class=\"wide\"><table>\n<caption><span>TSC cycles a line, medians; in brackets without the packed "
	      "curve; ~ the repeats differ by more than a cycle a line, ! not valid</span></caption>\n<thead><tr><th scope=\"col\">lines</th>", out);
	for (i = 0; i < set->curves; i++)
		html_put(out, "<th scope=\"col\">%s</th>", set->curve[i].name);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (lines = next_lines(set, 0); !isinf(lines); lines = next_lines(set, lines)) {
		fprintf(out, "<tr><th scope=\"row\">%g</th>", lines);
		for (i = 0; i < set->curves; i++) {
			const struct reach_sample *sample = reach_at(&set->curve[i], lines);

			if (!sample || isnan(sample->cycles))
				fprintf(out, "<td class=\"n\">%s</td>", sample ? "declined" : "");
			else
				put_sample(out, sample, set->curve[i].packed);
		}
		fputs("</tr>\n", out);
	}
	put_end(out);
	for (i = 0; i < set->curves; i++) {
		char *end = reach_end_text(set, &set->curve[i]);

		if (end)
			html_put(out, "<p class=\"note\">%s</p>\n", end);
		free(end);
	}
}

void report_reach_tables(FILE *out, const struct report_run *run)
{
	size_t i, j;
	char *why;

	for (i = 0; i < run->reach.count; i++) {
		const struct reach_set *set = &run->reach.set[i];
		char host[32];

		html_put(out, "<h4>Reach, host page %s</h4>\n", row_host_text(host, sizeof(host), set->key));
		if (set->emulated) {
			fputs("<p>The CPU is emulated: its latencies say nothing and are not shown.</p>\n", out);
			continue;
		}
		for (j = 0; j < set->curves; j++) {
			if (!reach_asks(&set->curve[j]))
				continue;
			reach_answer(set, &set->curve[j], &why);
			html_put(out, "<p>%s</p>\n", why);
			free(why);
		}
		put_cliffs(out, set);
		put_curves(out, set);
	}
}

/* ---- what is not valid ---- */

struct counted {
	char name[160];
	size_t rows, explained; /* explained: those where syscall-flush says what it comes from */
};

/* Counts one more row with the reason. */
static void count_reason(struct counted **list, size_t *n, const char *name, int explained)
{
	size_t i;

	for (i = 0; i < *n && strcmp((*list)[i].name, name); i++)
		;
	if (i == *n) {
		*list = xrealloc(*list, (*n + 1) * sizeof(**list));
		snprintf((*list)[*n].name, sizeof((*list)[*n].name), "%s", name);
		(*list)[*n].rows = (*list)[*n].explained = 0;
		++*n;
	}
	(*list)[i].rows++;
	(*list)[i].explained += explained;
}

static size_t count_reasons(const struct rows *rows, struct counted **list)
{
	size_t i, n = 0;

	*list = NULL;
	for (i = 0; i < rows->count; i++) {
		char copy[sizeof(rows->row[i].valid)], *save = NULL, *word;

		if (row_is_valid(&rows->row[i]))
			continue;
		strcpy(copy, rows->row[i].valid);
		for (word = strtok_r(copy, "+", &save); word; word = strtok_r(NULL, "+", &save))
			count_reason(list, &n, word, !strcmp(word, "no-contrast") &&
						     row_has_reason(&rows->row[i], "syscall-flush"));
	}
	return n;
}

void report_invalid_table(FILE *out, const struct report_run *run)
{
	static const char *const head[] = { "reason", "rows", "what it means", "what would help", NULL };
	struct counted *list;
	size_t i, n = count_reasons(&run->rows, &list);

	if (!n) {
		html_put(out, "<p>All %u rows are valid.</p>\n", run->rows.count);
		free(list);
		return;
	}
	put_head(out, "Rows that carry no verdict, by the reasons in column valid", head);
	for (i = 0; i < n; i++) {
		const struct reason *reason = reason_find(list[i].name);
		const char *sentence = reason ? reason->sentence : "a reason that this version does not know";

		if (!strncmp(sentence, "no verdict: ", strlen("no verdict: ")))
			sentence += strlen("no verdict: ");
		html_put(out, "<tr><td><code>%s</code></td><td class=\"n\">%u of %u</td><td>%s</td><td>%s</td></tr>\n",
			 list[i].name, list[i].rows, run->rows.count, sentence,
			 list[i].explained == list[i].rows ? "what helps against syscall-flush, where it comes from" :
			 reason && reason->remedy ? reason->remedy : reason ? "nothing on this machine" : "");
	}
	put_end(out);
	free(list);
}
