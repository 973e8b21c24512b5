// SPDX-License-Identifier: GPL-2.0
/*
 * The break-even in words: the lines, n* over the working sets, the recommendation and its scope. Terminal and
 * page have them from here; struct ceiling_style says how they are written down.
 */
#include "ceiling_style.h"

#include "util.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char path[] = "/sys/kernel/debug/x86/tlb_single_page_flush_ceiling";

/* A text of one of a style's kinds. */
static void say(FILE *out, void put(FILE *out, const char *text), const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(FILE *out, void put(FILE *out, const char *text), const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = xstrdup("");
	va_end(args);
	put(out, text);
	free(text);
}

/* ---- the table of lines ---- */

enum column { HOST, PAGE, LINES, SINGLE, SINGLE_RESIDUAL, FULL, FULL_RESIDUAL, PAGES, INTERVAL, BEYOND, F, COLUMNS };

static const char *const names[COLUMNS] = {
	"host", "page", "lines", "n one by one", "resid.", "full", "resid.", "n*", "95 % interval", "beyond", "F",
};
static const int widths[COLUMNS] = { -7, -4, 5, 16, 6, 15, 6, 6, 14, 6, 5 };

/* "1234 + 56.7 n" */
static void line_text(char *text, const struct fit_line *line, int flat)
{
	if (!line->n)
		snprintf(text, CEILING_TEXT, "-");
	else if (flat)
		snprintf(text, CEILING_TEXT, "%.0f", line->intercept);
	else
		snprintf(text, CEILING_TEXT, "%.0f %c %.1f n", line->intercept, line->slope < 0 ? '-' : '+',
			 fabs(line->slope));
}

static void residual_text(char *text, const struct fit_line *line)
{
	snprintf(text, CEILING_TEXT, line->freedom ? "%.0f" : "-", line->residual);
}

/* n*, its interval, and how far it lies beyond what was measured. */
static void pages_text(char (*text)[CEILING_TEXT], const struct ceiling_cell *cell)
{
	if (isnan(cell->pages.value))
		snprintf(text[PAGES], CEILING_TEXT, "%s", cell->outcome == CEILING_NOT_TOLD ? "-" : "none");
	else if (cell->pages.value < 1)
		snprintf(text[PAGES], CEILING_TEXT, "<1");
	else
		snprintf(text[PAGES], CEILING_TEXT, "%.1f", cell->pages.value);
	if (!isnan(cell->pages.low))
		snprintf(text[INTERVAL], CEILING_TEXT, "%.1f to %.1f", fmax(0, cell->pages.low),
			 fmax(0, cell->pages.high));
	if (cell->beyond >= 0.5)
		snprintf(text[BEYOND], CEILING_TEXT, "+%.0f", cell->beyond);
	else if (cell->below >= 0.5)
		snprintf(text[BEYOND], CEILING_TEXT, "-%.0f", cell->below);
	if (!isnan(cell->f))
		snprintf(text[F], CEILING_TEXT, "%.2f", fabs(cell->f) < 0.005 ? 0 : cell->f);
}

/* The fields of a cell's line, which are empty yet. */
static void cell_texts(char (*text)[CEILING_TEXT], const struct ceiling_cell *cell)
{
	row_host_text(text[HOST], CEILING_TEXT, cell->key);
	snprintf(text[PAGE], CEILING_TEXT, "%s", ceiling_page_name(cell));
	snprintf(text[LINES], CEILING_TEXT, "%.0f%s", cell->lines,
		 cell->lines && cell->key->c.touches != cell->key->c.leaves ? "'" : "");
	line_text(text[SINGLE], &cell->fit.rising, 0);
	residual_text(text[SINGLE_RESIDUAL], &cell->fit.rising);
	line_text(text[FULL], &cell->fit.level, cell->flat);
	residual_text(text[FULL_RESIDUAL], &cell->fit.level);
	pages_text(text, cell);
}

/* Sentences of the cells of a pair that have no break-even, each with the sets that it is about. */
static void say_whys(FILE *out, const struct ceiling_style *style, const struct ceiling *c, size_t from, size_t to)
{
	size_t i, j;

	for (i = from; i < to; i++) {
		char *sets = NULL, *next, *set;

		if (!c->cell[i].why)
			continue;
		for (j = from; j < i; j++)
			if (c->cell[j].why && !strcmp(c->cell[j].why, c->cell[i].why))
				break;
		if (j < i)
			continue;
		for (j = i; j < to; j++) {
			if (!c->cell[j].why || strcmp(c->cell[j].why, c->cell[i].why))
				continue;
			set = ceiling_set_text(&c->cell[j]);
			next = xasprintf("%s%s%s/%s %s", sets ? sets : "", sets ? "; " : "",
					 c->cell[j].key->host, ts_page_names[c->cell[j].key->c.guest], set);
			free(set);
			free(sets);
			sets = next;
		}
		say(out, style->paragraph, "%s: %s.", sets, c->cell[i].why);
		free(sets);
	}
}

/* Is there nothing to tell of a pair, e.g. since its full flush leaves the guest? */
static int is_empty(const struct ceiling *c, size_t from, size_t to)
{
	size_t i;

	for (i = from; i < to; i++)
		if (c->cell[i].outcome != CEILING_NOT_TOLD)
			return 0;
	return 1;
}

/* "invlpg against cr3: user memory under a kernel without PTI"; the caller frees. */
static char *pair_title(const struct ceiling_pair *pair)
{
	return pair->single == pair->full ?
		       xasprintf("%s, up to the kernel's ceiling and beyond it: %s", ceiling_single_name(pair),
				 pair->stands_for) :
		       xasprintf("%s against %s: %s", ceiling_single_name(pair), ts_ops[pair->full].name,
				 pair->stands_for);
}

/* The cells [from, to), which are of one pair. */
static void say_pair(FILE *out, const struct ceiling_style *style, const struct ceiling *c, size_t from, size_t to)
{
	const struct ceiling_pair *pair = c->cell[from].pair;
	struct ceiling_grid grid = { NULL, COLUMNS, to - from, names, widths, NULL };
	char *title;
	size_t i;

	if (is_empty(c, from, to)) {
		style->gap(out);
		say(out, style->paragraph, "%s against %s: not told: %s.", ceiling_single_name(pair),
		    ts_ops[pair->full].name, c->cell[from].why);
		return;
	}
	grid.caption = title = pair_title(pair);
	grid.text = xcalloc(grid.rows * COLUMNS, CEILING_TEXT);
	for (i = from; i < to; i++)
		cell_texts(grid.text + (i - from) * COLUMNS, &c->cell[i]);
	style->table(out, &grid);
	say_whys(out, style, c, from, to);
	free(grid.text);
	free(title);
}

static void say_legend(FILE *out, const struct ceiling_style *style, const struct ceiling *c)
{
	int beyond = 0, below = 0, apart = 0, f = 0, baseline = 1, call = 0;
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct ceiling_cell *cell = &c->cell[i];

		beyond |= cell->beyond >= 0.5;
		below |= cell->below >= 0.5;
		f |= !isnan(cell->f);
		apart |= cell->lines && cell->key->c.touches != cell->key->c.leaves;
		call |= !cell->flat;
		baseline &= !cell->flat || !isnan(cell->baseline);
	}
	style->gap(out);
	say(out, style->note, "Net TSC cycles of one flush of n pages and of touching the lines again. resid.: root mean square "
	    "of the residuals. n*: up to so many pages one by one is cheaper; Fieller's interval.%s%s",
	    call ? " n costs something in a full flush too: the work on n page table entries." : "",
	    baseline ? "" : " There was no control without a flush, so that costs hold the touches as well.");
	if (beyond)
		say(out, style->note, "beyond +N: n* lies N pages beyond the most that were flushed one by one; the line was "
		    "continued.");
	if (below)
		say(out, style->note, "beyond -N: n* lies N pages below the least that were flushed fully; that line was "
		    "continued.");
	if (apart)
		say(out, style->note, "': lines 4K apart, several in a page.");
	if (f)
		say(out, style->note, "F: of what a full flush makes touching the lines cost, the part that the first page "
		    "flushed alone costs already: 0, nothing; 1, all of it (page fracturing).");
}

/* ---- what the figures say about fracturing ---- */

#define FRACTURED 0.5

/* Fracturing makes the step from no flush to one page dear; what it means for the ceiling n* tells. */
static void say_fractured(FILE *out, const struct ceiling_style *style, const struct ceiling *c)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct ceiling_cell *cell = &c->cell[i];
		char *set;

		if (isnan(cell->f) || cell->f < FRACTURED || cell->pair != c->cell[0].pair ||
		    !ceiling_tells(cell))
			continue;
		set = ceiling_set_text(cell);
		if (cell->outcome == CEILING_BREAK_EVEN && cell->pages.value >= 1)
			say(out, style->paragraph, "%s pages over host page %s, %s: the first page flushed alone loses %.0f %% of what "
			    "a full flush loses, and yet one by one is cheaper up to n = %.0f.",
			    ts_page_names[cell->key->c.guest], cell->key->host, set, 100 * cell->f,
			    floor(cell->pages.value));
		else if (cell->outcome == CEILING_FULL || cell->outcome == CEILING_BREAK_EVEN)
			say(out, style->paragraph, "%s pages over host page %s, %s: the first page flushed alone loses %.0f %% of what "
			    "a full flush loses, and a full flush is the cheaper one of the two.",
			    ts_page_names[cell->key->c.guest], cell->key->host, set, 100 * cell->f);
		free(set);
	}
}

/* Accessed bits, where they were counted: what one page and many pages drop. */
static void say_lost(FILE *out, const struct ceiling_style *style, const struct ceiling *c)
{
	size_t i, j;

	for (i = 0; i < c->cells.count; i++) {
		const struct cell *cell = &c->cells.cell[i];

		for (j = 0; cell->key->c.phase == TS_REFILL && j < cell->outcomes; j++) {
			const struct outcome *o = &cell->outcome[j];

			if (o->row[0]->c.op == TS_OP_INVLPG && o->row[0]->c.count == 1 && !isnan(o->refills))
				say(out, style->paragraph, "%s/%s, %llu leaves: one INVLPG elsewhere drops %.0f%s.",
				    cell->key->host, ts_page_names[cell->key->c.guest],
				    cell->key->c.leaves, o->refills,
				    strcmp(o->valid, "ok") ? " (not valid)" : "");
		}
	}
}

/* ---- the recommendation ---- */

/* "invlpg against cr3" */
static char *pair_text(const struct ceiling_pair *pair)
{
	return pair->single == pair->full ? xasprintf("%s up to the kernel's ceiling against beyond it",
						      ceiling_single_name(pair)) :
					    xasprintf("%s against %s", ceiling_single_name(pair),
						      ts_ops[pair->full].name);
}

/* What the worst flush loses under some ceilings: the choice is seldom sharp. */
static void say_losses(FILE *out, const struct ceiling_style *style, const struct ceiling *c,
		       const struct ceiling_advice *advice)
{
	static const double some[] = { 0, 8, 16, 33, 64, 128, 256 };
	static const char *const head[] = { "ceiling", "0", "8", "16", "33", "64", "128", "256" };
	static const int width[] = { -10, 9, 9, 9, 9, 9, 9, 9 };
	char text[TS_COUNT(head)][CEILING_TEXT] = { "worst loss" };
	const struct ceiling_grid grid = { "What the worst flush loses under a ceiling, TSC cycles", TS_COUNT(head), 1,
					   head, width, text };
	size_t i;

	for (i = 0; i < TS_COUNT(some); i++)
		snprintf(text[i + 1], CEILING_TEXT, "%.0f", ceiling_worst_flush(c, advice, some[i]));
	style->table(out, &grid);
}

/* The policy over a record, with what it comes to. */
static void say_weighed_policy(FILE *out, const struct ceiling_style *style, const struct ceiling *c,
			       const struct ceiling_advice *advice, const struct flushes *flushes, const char *pair)
{
	struct ceiling_choice best = ceiling_best_of_all(c, advice, flushes);
	double standard = ceiling_worst(c, advice, flushes, CEILING_STANDARD);
	char *range = best.to > best.from ? xasprintf("%.0f to %.0f", best.from, best.to) :
					    xasprintf("%.0f", best.from);

	say(out, style->paragraph, "Policy: which working set follows which flush is not known, so the ceiling under which the "
	    "recorded flushes lose least, against the best ceiling for each set, in the set that it suits worst, "
	    "over the %zu sets above (%s). That is %s: %.0f cycles over the whole record; at 33 it is %.0f. 33 is "
	    "kept unless that loss falls by a quarter.", advice->sets, pair, range, best.cost, standard);
	free(range);
}

static void say_advice(FILE *out, const struct ceiling_style *style, const struct ceiling *c,
		       const struct ceiling_advice *advice, const struct flushes *flushes)
{
	char *pair = pair_text(advice->pair);
	struct ceiling_advice pti;
	int keep;
	double ceiling = ceiling_advised(c, advice, flushes, &keep);

	say(out, style->heading, "Recommendation, host page %s: %s %.0f", advice->host,
	    keep ? "leave tlb_single_page_flush_ceiling at" : "tlb_single_page_flush_ceiling =", ceiling);
	if (flushes) {
		say_weighed_policy(out, style, c, advice, flushes, pair);
	} else {
		say(out, style->paragraph, "Policy: which working set follows which flush is not known, so the ceiling under which "
		    "the worst flush loses least against the better of the two ways, over the %zu sets above "
		    "and 1 to 512 pages (%s). That is %.0f (%.0f to %.0f by the intervals of n*): %.0f cycles "
		    "at most; at 33 it is %.0f. 33 is kept unless the loss falls by a quarter. A record of your "
		    "own flushes (--flushes) replaces the worst flush by what really occurs.", advice->sets,
		    pair, advice->ceiling.value, advice->ceiling.low, advice->ceiling.high, advice->loss,
		    advice->loss_standard);
		say_losses(out, style, c, advice);
	}
	free(pair);
	if (ceiling_advice_pti(c, advice->host, &pti) && pti.pair != advice->pair) {
		ceiling = ceiling_advised(c, &pti, flushes, &keep);
		style->gap(out);
		say(out, style->paragraph, "That is for a kernel without PTI. Under PTI (invlpg+invpcid-addr against cr3) the same policy "
		    "comes to %.0f.", ceiling);
	}
}

/* The commands for one number; said once for each that there is. */
static void say_snippet(FILE *out, const struct ceiling_style *style, double ceiling)
{
	style->gap(out);
	say(out, style->paragraph, "To set %.0f until the next boot (debugfs keeps nothing), and at every boot:", ceiling);
	say(out, style->code, "echo %.0f | sudo tee %s\necho 'w %s - - - - %.0f' | \\\n"
	    "    sudo tee /etc/tmpfiles.d/tlb-ceiling.conf", ceiling, path, path, ceiling);
}

static void say_how(FILE *out, const struct ceiling_style *style, const struct ceiling *c, const struct flushes *flushes)
{
	double said = -1;
	int keep, any = 0;
	size_t i;

	for (i = 0; i < c->advices; i++) {
		double ceiling = ceiling_advised(c, &c->advice[i], flushes, &keep);

		if (keep || ceiling == said)
			continue;
		say_snippet(out, style, ceiling);
		said = ceiling;
		any = 1;
	}
	style->gap(out);
	if (any)
		say(out, style->paragraph, "The second is a line for systemd-tmpfiles. Where the kernel is locked down (Secure Boot, "
		    "lockdown=integrity) nobody can write to debugfs, and the ceiling stays as it is; tlbscope "
		    "doctor tells.");
	if (!strcmp(c->cell[0].key->target, "kvm"))
		say(out, style->paragraph, "It is for the kernels of guests whose memory has that host page: a guest's flushes are "
		    "decided by its own kernel. The host's kernel has a ceiling of its own, for the host's "
		    "processes, over one stage: measure that with --on module or --on user on the host.");
	else
		say(out, style->paragraph, "It is for this machine's own kernel. If this is a VM, that is the guest's; the host's "
		    "ceiling has no part in a guest's flushes.");
}

static void say_scope(FILE *out, const struct ceiling_style *style)
{
	static const char *const outside[] = {
		"remote shootdowns: other CPUs that run the process are interrupted and flush by the same rule; the "
		"interrupt costs more than most flushes, whatever the ceiling;",
		"INVLPGB (AMD, Linux 6.15 and newer): processes on four CPUs and more flush by broadcast, up to 8 pages at "
		"once; the ceiling still makes a large range a full flush, but at other costs than these, and where unmapped "
		"pages are collected it does not decide at all;",
		"batching: reclaim and large unmaps collect pages and flush them together, mostly fully;",
		"lazy TLB: an idle CPU is not asked, and flushes fully when it takes the process up again;",
		"PTI: every page is flushed twice, and a full flush of the user's half waits for the return;",
		"ops that leave the guest (op-exits) and emulated CPUs: such rows are left out.",
		NULL,
	};

	style->gap(out);
	say(out, style->paragraph, "Scope: the cost of a flush on the CPU that does it. Not in it:");
	style->list(out, outside);
}

void ceiling_say(FILE *out, const struct ceiling_style *style, const struct ceiling *c,
		 const struct ceiling_context *context)
{
	size_t i, j;

	if (c->refusal) {
		say_lost(out, style, c);
		return;
	}
	for (i = 0; i < c->count; i = j) {
		for (j = i; j < c->count && c->cell[j].pair == c->cell[i].pair; j++)
			;
		say_pair(out, style, c, i, j);
	}
	say_legend(out, style, c);
	if (c->left)
		say(out, style->paragraph, "%zu of %zu rows that a break-even needs are not valid (%s) and left out.",
		    c->left, c->left + c->used, c->reasons);
	style->gap(out);
	say_lost(out, style, c);
	say_fractured(out, style, c);
	if (context->flushes)
		ceiling_print_weighed(out, c, context);
	for (i = 0; i < c->advices; i++)
		say_advice(out, style, c, &c->advice[i], context->flushes);
	if (c->advices) {
		say_how(out, style, c, context->flushes);
	} else {
		style->gap(out);
		say(out, style->paragraph, "No recommendation: no working set has a break-even or a clear winner.");
	}
	say_scope(out, style);
}
