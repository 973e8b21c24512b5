// SPDX-License-Identifier: GPL-2.0
/*
 * The tables. The first is that of the 2016 mail: host page x guest page, one selective and one full flush, with
 * the fracture index. The second has every op. Cells that time nothing but op none have no place in either: they
 * are curves, and reach.c has the table of those. What is not valid is marked and explained, never left
 * out silently.
 */
#include "table.h"

#include "cell_text.h"
#include "command.h"
#include "environment.h"
#include "event_table.h"
#include "published.h"
#include "reach.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 5 /* cells side by side in the table of every op: fits 100 columns */

/* ---- the table of 2016 ---- */

static void print_published_misses(FILE *out, const struct cell *cell, const struct csv_table *misses)
{
	double selective, full, iterations;
	size_t i;

	for (i = 0; i < misses->lines; i++) {
		if (strcmp(published_text(misses, i, "host"), cell->key->host) ||
		    strcmp(published_text(misses, i, "guest"), ts_page_names[cell->key->c.guest]) ||
		    published_number(misses, i, "touches") != cell->key->c.touches)
			continue; /* another working set is no comparison */
		iterations = published_number(misses, i, "iterations");
		selective = published_number(misses, i, "selective");
		full = published_number(misses, i, "full");
		fprintf(out, "  %9.3f %9.1f %5.2f", selective / iterations, full / iterations,
			selective / full);
		return;
	}
	fprintf(out, "  %9s %9s %5s", "-", "-", "-");
}

/* All of them, whatever the run has. */
static void print_all_published(FILE *out, const struct csv_table *misses)
{
	size_t i;

	fprintf(out, "\nPublished: dTLB misses in an iteration of %.0f touches;\n%s\n\n%-7s %-5s %12s %12s  F\n",
		published_number(misses, 0, "touches"), published_text(misses, 0, "source"), "host",
		"guest", "selective", "full");
	for (i = 0; i < misses->lines; i++) {
		double iterations = published_number(misses, i, "iterations");
		double selective = published_number(misses, i, "selective");
		double full = published_number(misses, i, "full");

		fprintf(out, "%-7s %-5s %12.3f %12.3f  %.2f\n", published_text(misses, i, "host"),
			published_text(misses, i, "guest"), selective / iterations, full / iterations,
			selective / full);
	}	fprintf(out, "A miss in a VM counted about twice: the walks of the guest's table and of the nested one.\n");
}

/* Columns that the longest working set of a phase takes. */
static int set_width(const struct cells *cells, u64 phase)
{
	int width = 24, length;
	size_t i;
	char *set;

	for (i = 0; i < cells->count; i++) {
		if (cells->cell[i].key->c.phase != phase)
			continue;
		set = text_set(&cells->cell[i].key->c);
		length = strlen(set);
		width = length > width ? length : width;
		free(set);
	}
	return width;
}

static void print_fracture_line(FILE *out, const struct cell *cell, int width, const struct published *published)
{
	char none[64], selective[64], full[64], f[64], host[32];
	char *set = text_set(&cell->key->c);
	char *by = cell->selective ? text_op(cell->selective) : xstrdup("-");
	char *against = cell->full ? text_op(cell->full) : xstrdup("-");

	text_value(none, sizeof(none), cell->none);
	text_value(selective, sizeof(selective), cell->selective);
	text_value(full, sizeof(full), cell->full);
	text_f(f, sizeof(f), cell);
	fprintf(out, "%-9s %-5s %-*s %7s %9s %7s  %s", row_host_text(host, sizeof(host), cell->key),
		ts_page_names[cell->key->c.guest], width, set, none, selective, full, f);
	if (published)
		print_published_misses(out, cell, &published->misses);
	fprintf(out, "   %s / %s\n", by, against);
	free(set);
	free(by);
	free(against);
}

static void print_fracture(FILE *out, const struct cells *cells, u64 phase,
			   const struct published *published)
{
	int width = set_width(cells, phase);
	size_t i;

	if (phase != TS_REFILL)
		published = NULL; /* those are misses; cycles of 2016 have a table of their own */
	fprintf(out, "\n%-9s %-5s %-*s %7s %9s %7s  %s", "host", "guest", width, "working set", "none",
		"selective", "full", "F   ");
	if (published)
		fprintf(out, "  %9s %9s %5s", "2016 sel.", "2016 full", "its F");
	fprintf(out, "   selective / full by\n");
	for (i = 0; i < cells->count; i++)
		if (cells->cell[i].key->c.phase == phase)
			print_fracture_line(out, &cells->cell[i], width, published);
}

/* ---- every op ---- */

/* Is like the first of its op in cells [first, last)? Then its line is still to be printed. */
static int is_first(struct cell *const *cell, size_t at, const struct outcome *like)
{
	size_t i;

	for (i = 0; i < at; i++)
		if (cell_same_op(cell[i], like))
			return 0;
	return 1;
}

static void print_op_line(FILE *out, struct cell *const *cell, size_t n, const struct outcome *like)
{
	char *name = text_op(like), text[64];
	size_t i;

	fprintf(out, "%-22s", name);
	for (i = 0; i < n; i++) {
		const struct outcome *outcome = cell_same_op(cell[i], like);

		text_value(text, sizeof(text), outcome);
		fprintf(out, " %15s", outcome ? text : "");
	}
	fprintf(out, "\n");
	free(name);
}

/* Heading of one cell, in two lines: host and guest page, working set. */
static void print_op_block(FILE *out, struct cell *const *cell, size_t n)
{
	size_t i, j;

	fprintf(out, "\n%-22s", "op, page flushed");
	for (i = 0; i < n; i++) {
		char host[32];
		char *name = xasprintf("%s/%s", row_host_text(host, sizeof(host), cell[i]->key),
				       ts_page_names[cell[i]->key->c.guest]);

		fprintf(out, " %15s", name);
		free(name);
	}
	fprintf(out, "\n%-22s", "");
	for (i = 0; i < n; i++) {
		const struct ts_case *c = &cell[i]->key->c;
		char *set = c->mix ? xasprintf("%llux%s+%llux%s", c->leaves, ts_page_names[c->guest],
					       ts_mix_leaves(c->mix), ts_page_names[ts_mix_page(c->mix)]) :
				     xasprintf("%llux%s%s", c->leaves, ts_page_names[c->guest],
					       c->global ? " global" : c->pcid ? " pcid" : c->code ? " code" : "");

		fprintf(out, " %15s", set);
		free(set);
	}
	fprintf(out, "\n");
	for (i = 0; i < n; i++)
		for (j = 0; j < cell[i]->outcomes; j++)
			if (is_first(cell, i, &cell[i]->outcome[j]))
				print_op_line(out, cell, n, &cell[i]->outcome[j]);
}

static void print_ops(FILE *out, const struct cells *cells, u64 phase)
{
	struct cell *block[BLOCK];
	size_t i, n = 0;

	for (i = 0; i < cells->count; i++) {
		if (cells->cell[i].key->c.phase != phase)
			continue;
		block[n++] = &cells->cell[i];
		if (n == BLOCK) {
			print_op_block(out, block, n);
			n = 0;
		}
	}
	if (n)
		print_op_block(out, block, n);
}

/* ---- the loops of 2016 ---- */

/* Of our own loops a ~ tells that the repeats differ. */
struct loop_cycles {
	double value;
	int differ;
};

static struct loop_cycles cycles_of(const struct outcome *outcome)
{
	return outcome ? (struct loop_cycles){ outcome->cycles, outcome->repeats_differ } :
			 (struct loop_cycles){ NAN, 0 };
}

static struct loop_cycles published_cycles(double value)
{
	return (struct loop_cycles){ value, 0 };
}

static void print_loop_line(FILE *out, const char *name, struct loop_cycles both, struct loop_cycles op,
			    struct loop_cycles access)
{
	const struct loop_cycles part[] = { both, op, access, { both.value - op.value - access.value, 0 } };
	char text[32];
	size_t i;

	fprintf(out, "%-40s", name);
	for (i = 0; i < TS_COUNT(part); i++) {
		text_number(text, sizeof(text), round(part[i].value));
		fprintf(out, " %*s%s", part[i].differ ? 9 : 10, text, part[i].differ ? "~" : "");
	}
	fprintf(out, "\n");
}

static void print_published_loops(FILE *out, const struct csv_table *cycles)
{
	static const char *const kinds[] = { "selective", "full" };
	size_t i, k;

	for (i = 0; i < cycles->lines; i++) {
		double n = published_number(cycles, i, "iterations");

		for (k = 0; k < 2; k++) {
			char *both = xasprintf("both_%s", kinds[k]), *op = xasprintf("op_%s", kinds[k]);
			char *name = xasprintf("2016 %s%s, %s", published_text(cycles, i, "machine"),
					       published_number(cycles, i, "global") > 0 ? " global" : "",
					       kinds[k]);

			print_loop_line(out, name, published_cycles(published_number(cycles, i, both) / n),
					published_cycles(published_number(cycles, i, op) / n),
					published_cycles(published_number(cycles, i, "access") / n));
			free(both);
			free(op);
			free(name);
		}
	}
}

/* The working set, where it is another than that of the lines above; returns it. */
static char *print_set(FILE *out, const struct cell *cell, char *above)
{
	char *set = text_set(&cell->key->c);

	if (!above || strcmp(set, above))
		fprintf(out, "%s, host/guest page:\n", set);
	free(above);
	return set;
}

static void print_loops(FILE *out, const struct cells *cells, const struct published *published)
{
	char *above = NULL;
	size_t i, j;

	fprintf(out, "\n%-40s %10s %10s %10s %10s\n", "cycles of an iteration", "both", "flush",
		"touches", "net");
	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i], *access, *op_alone;

		if (cell->key->c.phase != TS_BOTH || cell_is_emulated(cell))
			continue;
		access = cells_with_phase(cells, cell, TS_ACCESS);
		op_alone = cells_with_phase(cells, cell, TS_OP);
		above = print_set(out, cell, above);
		for (j = 0; j < cell->outcomes; j++) {
			const struct outcome *o = &cell->outcome[j];
			char host[32], *op = text_op(o);
			char *name = xasprintf("  %s/%s %s", row_host_text(host, sizeof(host), cell->key),
					       ts_page_names[cell->key->c.guest], op);

			print_loop_line(out, name, cycles_of(o),
					cycles_of(op_alone ? cell_same_op(op_alone, o) : NULL),
					cycles_of(access && access->outcomes ? &access->outcome[0] : NULL));
			free(op);
			free(name);
		}
	}
	free(above);
	if (published)
		print_published_loops(out, &published->cycles);
}

/* ---- notes ---- */

/* Every reason that occurs, with the number of rows that carry it. */
static void print_reasons(FILE *out, const struct rows *rows)
{
	size_t invalid = 0, emulated = 0, i;
	struct row sum = { .valid = "ok" };

	for (i = 0; i < rows->count; i++) {
		char *copy = xstrdup(rows->row[i].valid), *save = NULL, *word;

		invalid += !row_is_valid(&rows->row[i]);
		emulated += row_has_reason(&rows->row[i], "emulated-cpu");
		for (word = strtok_r(copy, "+", &save); word; word = strtok_r(NULL, "+", &save))
			if (strcmp(word, "ok"))
				row_reason(&sum, word);
		free(copy);
	}
	if (!invalid)
		return;
	fprintf(out, "\n%zu of %zu rows carry no verdict (column valid): %s.\n", invalid, rows->count,
		sum.valid);
	if (emulated)
		fprintf(out, "Cycles of an emulated CPU (%zu rows) are the emulator's own and are not shown; "
			     "rows.csv has them.\n", emulated);
}

static int ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

#define FULL_PAGES 64 /* the kernel's standard ceiling is 33 */

/* What the system calls of target user stand for, as far as the run has them; the ops alone do not tell. */
static void print_user_note(FILE *out, const struct rows *rows)
{
	int verified = 0, user = 0, many = 0, twin = 0;
	size_t i;
	char *note;

	for (i = 0; i < rows->count; i++) {
		const char *seen = row_extra(rows, &rows->row[i], "flush_seen");
		const struct ts_op *op = &ts_ops[rows->row[i].c.op];

		user |= !!(op->needs & TS_SYSCALLS);
		many |= op->needs & TS_SYSCALLS && rows->row[i].c.count == FULL_PAGES;
		twin |= ends_in(op->name, "-twin");
		verified |= *seen && strcmp(seen, "unverified");
	}
	if (!user)
		return;
	note = xasprintf("%s%s%s",
		many ? "x64: 64 pages, more than tlb_single_page_flush_ceiling (33 unless changed), so that the kernel "
		       "flushes everything. " : "",
		twin ? "-twin: the same call on pages that nobody touched, which flushes nothing (the control). " : "",
		verified ? "What each call flushed was seen by the tracepoint tlb:tlb_flush (column flush_seen)." :
			   "What each call flushed was not verified: the tracepoint tlb:tlb_flush could not be read; "
			   "tlbscope doctor --target user says why (tracefs).");
	fprintf(out, "\n");
	print_wrapped(out, note);
	free(note);
}

/* Where F is - for want of a part: which parts are in none of those cells, or not in all of them. */
static void print_missing(FILE *out, const struct cells *cells)
{
	int none = 0, selective = 0, full = 0;
	size_t i;
	char *line;

	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];

		if (cell->key->c.phase > TS_RETOUCH || cell_is_emulated(cell))
			continue;
		none |= !cell->none;
		selective |= !cell->selective;
		full |= !cell->full;
	}
	if (!none && !selective && !full)
		return;
	line = xasprintf("F needs three flushes of the same cell. It is - where one is missing:%s%s%s%s%s.",
			 none ? " op none, or the selective op's twin" : "", none && (selective || full) ? ";" : "",
			 selective ? " a selective op with at=far, mapped or next-2m" : "",
			 selective && full ? ";" : "", full ? " a full flush" : "");
	print_wrapped(out, line);
	free(line);
}

/* differ: the tables of events have a mark. */
static void print_legend(FILE *out, const struct cells *cells, int differ)
{
	size_t i, j;
	int invalid = 0, inferred = 0;
	char *line;

	for (i = 0; i < cells->count; i++) {
		inferred |= !strcmp(cells->cell[i].key->host_how, "inferred");
		for (j = 0; j < cells->cell[i].outcomes; j++) {
			if (cell_is_emulated(&cells->cell[i]))
				continue; /* not shown */
			differ |= cells->cell[i].outcome[j].repeats_differ;
			invalid |= strcmp(cells->cell[i].outcome[j].valid, "ok");
		}
	}
	line = xasprintf("F: 0, the selective flush dropped what it names and no more; 1, as much as a full "
			 "flush.%s%s%s", differ ? " ~: repeats differ beyond noise (refills: at all; cycles and events: by more "
				  "than 20 % of the median)." : "",
			 invalid ? " !: not valid, see below." : "",
			 inferred ? " Host page with ?: inferred from the timing of pieces of a 2M page." : "");
	fprintf(out, "\n");
	print_wrapped(out, line);
	free(line);
}

/* One verdict for each host page that there is. */
static void print_verdicts(FILE *out, const struct cells *cells, u64 phase)
{
	const char *why;
	char *line;
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		const struct row *key = cells->cell[i].key;
		enum verdict verdict;

		if (key->c.phase != phase)
			continue;
		for (j = 0; j < i; j++)
			if (cells->cell[j].key->c.phase == phase &&
			    !strcmp(cells->cell[j].key->host, key->host))
				break;
		if (j < i)
			continue;
		verdict = cells_verdict(cells, phase, key->host, &why);
		line = verdict == VERDICT_UNDECIDED ?
			       xasprintf("Host page %s: %s.", key->host, why) :
			       xasprintf("Host page %s: %s. %s", key->host, verdict_name(verdict), why);
		print_wrapped(out, line);
		free(line);
	}
}

/* Everything about flushes; returns the phase that the verdict is about, TS_PHASES if there is none. */
static u64 print_flushes(FILE *out, const struct rows *rows, const struct cells *cells,
			 const struct published *published)
{
	u64 phase, shown = TS_PHASES;
	int differ;

	for (phase = 0; phase <= TS_RETOUCH; phase++) {
		if (!cells_show_phase(cells, phase))
			continue;
		fprintf(out, "\n%s: %s, medians\n", ts_phase_names[phase], text_phase(phase));
		print_fracture(out, cells, phase, published);
		print_ops(out, cells, phase);
		shown = shown == TS_PHASES ? phase : shown;
	}
	if (cells_show_phase(cells, TS_BOTH))
		print_loops(out, cells, published);
	differ = event_tables_print(out, rows, cells);
	if (published)
		print_all_published(out, &published->misses);
	print_user_note(out, rows);
	print_legend(out, cells, differ);
	print_missing(out, cells);
	return shown;
}

static void print_run(FILE *out, const struct rows *rows, const struct published *published)
{
	struct cells cells, rest;
	struct reach reach;
	u64 shown = TS_PHASES;

	if (!rows->count) {
		fprintf(out, "%s: no rows\n", rows->table.path);
		return;
	}
	cells_build(rows, &cells);
	reach_build(&cells, &reach);
	rest = reach_rest(&cells, &reach);
	fprintf(out, "%s: target %s, %s\n", rows->row[0].run, rows->row[0].target, rows->row[0].cpu);
	reach_print(out, &reach);
	if (rest.count)
		shown = print_flushes(out, rows, &rest, published);
	print_reasons(out, rows);
	if (shown != TS_PHASES)
		print_verdicts(out, &rest, shown);
	free(rest.cell);
	reach_free(&reach);
	cells_free(&cells);
}

void table_print(FILE *out, const struct rows *rows, size_t n, const struct published *published)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (i)
			fprintf(out, "\n");
		print_run(out, &rows[i], published);
	}
}

/* ---- JSON ---- */

static json_t *json_number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

/* Every event of the run; null where it was not counted. */
static json_t *json_events(const struct rows *rows, const struct outcome *o)
{
	json_t *events = json_object();
	size_t i;

	for (i = 0; i < rows->extras; i++)
		if (event_column(rows, i))
			json_object_set_new(events, rows->extra_names[i],
					    json_number(event_value(rows, o, rows->extra_names[i])));
	return events;
}

static json_t *json_outcome(const struct rows *rows, const struct outcome *o)
{
	char *name = text_op(o);
	json_t *json = json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:i, s:b, s:s, s:o}", "op", name, "class",
				 ts_class_names[o->row[0]->class], "must",
				 (json_int_t)ts_must(&o->row[0]->c, 0), "refills",
				 json_number(o->refills), "mix_refills", json_number(o->mix_refills),
				 "cycles", json_number(o->cycles), "repeats", (int)o->n,
				 "repeats_differ", o->repeats_differ, "valid", o->valid, "events",
				 json_events(rows, o));

	free(name);
	return json;
}

static json_t *json_cell(const struct rows *rows, const struct cell *cell)
{
	json_t *outcomes = json_array();
	char *set = text_set(&cell->key->c);
	char *selective = cell->selective ? text_op(cell->selective) : NULL;
	char *full = cell->full ? text_op(cell->full) : NULL;
	json_t *json;
	size_t i;

	for (i = 0; i < cell->outcomes; i++)
		json_array_append_new(outcomes, json_outcome(rows, &cell->outcome[i]));
	json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:s, s:o}", "phase",
			 ts_phase_names[cell->key->c.phase], "host", cell->key->host, "host_how",
			 cell->key->host_how, "guest", ts_page_names[cell->key->c.guest], "set", set,
			 "selective", selective, "full", full, "f", json_number(cell->f.value), "f_low",
			 json_number(cell->f.low), "f_high", json_number(cell->f.high), "valid",
			 cell->valid, "outcomes", outcomes);
	free(set);
	free(selective);
	free(full);
	return json;
}

static json_t *json_run(const struct rows *rows)
{
	json_t *list = json_array(), *json;
	struct cells cells;
	struct reach reach;
	const char *why = "";
	enum verdict verdict = VERDICT_UNDECIDED;
	size_t i;

	cells_build(rows, &cells);
	for (i = 0; i < cells.count; i++)
		json_array_append_new(list, json_cell(rows, &cells.cell[i]));
	if (cells.count)
		verdict = cells_verdict(&cells, cells.cell[0].key->c.phase, cells.cell[0].key->host, &why);
	reach_build(&cells, &reach);
	json = json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:o, s:o}", "run",
			 rows->count ? rows->row[0].run : "", "unfinished", rows->table.unfinished,
			 "target", rows->count ? rows->row[0].target : "", "cpu",
			 rows->count ? rows->row[0].cpu : "", "verdict", verdict_name(verdict), "why", why,
			 "reach", reach_json(&reach), "cells", list);
	reach_free(&reach);
	cells_free(&cells);
	return json;
}

json_t *table_json(const struct rows *rows, size_t n)
{
	json_t *runs = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(runs, json_run(&rows[i]));
	return json_pack("{s:o}", "runs", runs);
}

/* ---- command ---- */

struct table_request {
	char **runs;
	size_t count;
	int json, published, only_good;
};

static error_t parse_table(int key, char *arg, struct argp_state *state)
{
	struct table_request *request = state->input;

	switch (key) {
	case 'j':
		request->json = 1;
		return 0;
	case 'p':
		request->published = 1;
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

static int print_tables(const struct table_request *request, const struct rows *rows, struct problem *p)
{
	struct published published;
	json_t *json;

	if (request->json) {
		json = table_json(rows, request->count);
		json_dumpf(json, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(json);
		return 0;
	}
	if (!request->published) {
		table_print(stdout, rows, request->count, NULL);
		return 0;
	}
	if (published_read(&published, p))
		return -EINVAL;
	table_print(stdout, rows, request->count, &published);
	published_free(&published);
	return 0;
}

/* What the table cannot show is missing rows. */
static void tell_incomplete(const char *run, const struct rows *rows)
{
	char *dir = run_dir(run);
	json_t *json = environment_load(dir);

	if (environment_is_incomplete(json, rows))
		printf("\n%s is not complete: rows of its plan are missing.\n", run);
	json_decref(json);
	free(dir);
}

int command_table(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", 'j', 0, 0, "JSON instead of text", 0 },
		{ "published", 'p', 0, 0, "the figures of the 2016 thread beside the run's own", 0 },
		OPTION_SKIP_BAD_ROWS,
		{ 0 },
	};
	const struct argp argp = { .options = options, .parser = parse_table, .args_doc = "RUN...",
				   .doc = "Prints the fracture table of runs (directories, or rows.csv files); the "
					  "reach table of cells that flush nothing." };
	struct table_request request = { 0 };
	struct problem p = { 0 };
	struct rows *rows;
	int result = 0;
	size_t i;

	parse_options(&argp, argc, argv, &request);
	rows = xcalloc(request.count, sizeof(*rows));
	for (i = 0; i < request.count && !result; i++) {
		result = run_rows(request.runs[i], request.only_good, &rows[i], &p);
	}
	if (!result)
		result = print_tables(&request, rows, &p);
	for (i = 0; i < request.count && !result && !request.json; i++)
		tell_incomplete(request.runs[i], &rows[i]);
	for (i = 0; i < request.count; i++)
		rows_free(&rows[i]);
	free(rows);
	free(request.runs);
	return result ? report(&p) : EXIT_DONE;
}
