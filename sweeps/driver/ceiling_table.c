// SPDX-License-Identifier: GPL-2.0
/* The break-even as text: the lines, n* over the working sets, the recommendation and its scope. */
#include "ceiling.h"

#include "util.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char path[] = "/sys/kernel/debug/x86/tlb_single_page_flush_ceiling";

static void wrapped(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A paragraph, broken at 100 columns. */
static void wrapped(FILE *out, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = xstrdup("");
	va_end(args);
	print_wrapped(out, text);
	free(text);
}

/* ---- the table of lines ---- */

/* "1234 + 56.7 n" */
static const char *line_text(char *text, size_t size, const struct fit_line *line, int flat)
{
	if (!line->n)
		snprintf(text, size, "-");
	else if (flat)
		snprintf(text, size, "%.0f", line->intercept);
	else
		snprintf(text, size, "%.0f %c %.1f n", line->intercept, line->slope < 0 ? '-' : '+',
			 fabs(line->slope));
	return text;
}

static const char *residual_text(char *text, size_t size, const struct fit_line *line)
{
	snprintf(text, size, line->freedom ? "%.0f" : "-", line->residual);
	return text;
}

/* n*, its interval, and how far it lies beyond what was measured. */
static void print_pages(FILE *out, const struct ceiling_cell *cell)
{
	char value[16], range[32] = "", beyond[16] = "";

	if (isnan(cell->pages.value))
		snprintf(value, sizeof(value), "%s", cell->outcome == CEILING_NOT_TOLD ? "-" : "none");
	else if (cell->pages.value < 1)
		snprintf(value, sizeof(value), "<1");
	else
		snprintf(value, sizeof(value), "%.1f", cell->pages.value);
	if (!isnan(cell->pages.low))
		snprintf(range, sizeof(range), "%.1f to %.1f", fmax(0, cell->pages.low),
			 fmax(0, cell->pages.high));
	if (cell->beyond >= 0.5)
		snprintf(beyond, sizeof(beyond), "+%.0f", cell->beyond);
	else if (cell->below >= 0.5)
		snprintf(beyond, sizeof(beyond), "-%.0f", cell->below);
	fprintf(out, " %6s %14s %6s", value, range, beyond);
	if (isnan(cell->f))
		fprintf(out, "\n");
	else
		fprintf(out, " %5.2f\n", fabs(cell->f) < 0.005 ? 0 : cell->f);
}

static void print_cell(FILE *out, const struct ceiling_cell *cell)
{
	char host[32], lines[16], single[48], full[48], r1[16], r2[16];
	const char *guest = ts_page_names[cell->key->c.guest];

	snprintf(lines, sizeof(lines), "%.0f%s", cell->lines,
		 cell->lines && cell->key->c.touches != cell->key->c.leaves ? "'" : "");
	fprintf(out, "%-7s %-4s %5s %16s %6s %15s %6s", row_host_text(host, sizeof(host), cell->key),
		cell->flat && !cell->lines ? "any" : guest, lines,
		line_text(single, sizeof(single), &cell->fit.rising, 0),
		residual_text(r1, sizeof(r1), &cell->fit.rising),
		line_text(full, sizeof(full), &cell->fit.level, cell->flat),
		residual_text(r2, sizeof(r2), &cell->fit.level));
	print_pages(out, cell);
}

/* Sentences of the cells of a pair that have no break-even, each with the sets that it is about. */
static void print_whys(FILE *out, const struct ceiling *c, size_t from, size_t to)
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
		wrapped(out, "%s: %s.", sets, c->cell[i].why);
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

static void print_pair(FILE *out, const struct ceiling *c, size_t from, size_t to)
{
	const struct ceiling_pair *pair = c->cell[from].pair;
	size_t i;

	if (is_empty(c, from, to)) {
		fprintf(out, "\n");
		wrapped(out, "%s against %s: not told: %s.", ceiling_single_name(pair),
			ts_ops[pair->full].name, c->cell[from].why);
		return;
	}
	if (pair->single == pair->full)
		fprintf(out, "\n%s, up to the kernel's ceiling and beyond it: %s\n\n", ceiling_single_name(pair),
			pair->stands_for);
	else
		fprintf(out, "\n%s against %s: %s\n\n", ceiling_single_name(pair), ts_ops[pair->full].name,
			pair->stands_for);
	fprintf(out, "%-7s %-4s %5s %16s %6s %15s %6s %6s %14s %6s %5s\n", "host", "page", "lines",
		"n one by one", "resid.", "full", "resid.", "n*", "95 % interval", "beyond", "F");
	for (i = from; i < to; i++)
		print_cell(out, &c->cell[i]);
	print_whys(out, c, from, to);
}

static void print_legend(FILE *out, const struct ceiling *c)
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
	fprintf(out, "\n");
	wrapped(out, "Net TSC cycles of one flush of n pages and of touching the lines again. resid.: root mean square "
		"of the residuals. n*: up to so many pages one by one is cheaper; Fieller's interval.%s%s",
		call ? " n costs something in a full flush too: the work on n page table entries." : "",
		baseline ? "" : " There was no control without a flush, so that costs hold the touches as well.");
	if (beyond)
		wrapped(out, "beyond +N: n* lies N pages beyond the most that were flushed one by one; the line was "
			"continued.");
	if (below)
		wrapped(out, "beyond -N: n* lies N pages below the least that were flushed fully; that line was "
			"continued.");
	if (apart)
		wrapped(out, "': lines 4K apart, several in a page.");
	if (f)
		wrapped(out, "F: of what a full flush makes touching the lines cost, the part that the first page "
			"flushed alone costs already: 0, nothing; 1, all of it (page fracturing).");
}

/* ---- what the figures say about fracturing ---- */

#define FRACTURED 0.5

/* Fracturing makes the step from no flush to one page dear; what it means for the ceiling n* tells. */
static void print_fractured(FILE *out, const struct ceiling *c)
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
			wrapped(out, "%s pages over host page %s, %s: the first page flushed alone loses %.0f %% of what "
				"a full flush loses, and yet one by one is cheaper up to n = %.0f.",
				ts_page_names[cell->key->c.guest], cell->key->host, set, 100 * cell->f,
				floor(cell->pages.value));
		else if (cell->outcome == CEILING_FULL || cell->outcome == CEILING_BREAK_EVEN)
			wrapped(out, "%s pages over host page %s, %s: the first page flushed alone loses %.0f %% of what "
				"a full flush loses, and a full flush is the cheaper one of the two.",
				ts_page_names[cell->key->c.guest], cell->key->host, set, 100 * cell->f);
		free(set);
	}
}

/* Accessed bits, where they were counted: what one page and many pages drop. */
static void print_lost(FILE *out, const struct ceiling *c)
{
	size_t i, j;

	for (i = 0; i < c->cells.count; i++) {
		const struct cell *cell = &c->cells.cell[i];

		for (j = 0; cell->key->c.phase == TS_REFILL && j < cell->outcomes; j++) {
			const struct outcome *o = &cell->outcome[j];

			if (o->row[0]->c.op == TS_OP_INVLPG && o->row[0]->c.count == 1 && !isnan(o->refills))
				fprintf(out, "%s/%s, %llu leaves: one INVLPG elsewhere drops %.0f%s.\n",
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
static void print_losses(FILE *out, const struct ceiling *c, const struct ceiling_advice *advice)
{
	static const double some[] = { 0, 8, 16, 33, 64, 128, 256 };
	size_t i;

	fprintf(out, "    ceiling   ");
	for (i = 0; i < TS_COUNT(some); i++)
		fprintf(out, " %9.0f", some[i]);
	fprintf(out, "\n    worst loss");
	for (i = 0; i < TS_COUNT(some); i++)
		fprintf(out, " %9.0f", ceiling_worst_flush(c, advice, some[i]));
	fprintf(out, "\n");
}

/* The policy over a record, with what it comes to. */
static void print_weighed_policy(FILE *out, const struct ceiling *c, const struct ceiling_advice *advice,
				 const struct flushes *flushes, const char *pair)
{
	struct ceiling_choice best = ceiling_best_of_all(c, advice, flushes);
	double standard = ceiling_worst(c, advice, flushes, CEILING_STANDARD);
	char *range = best.to > best.from ? xasprintf("%.0f to %.0f", best.from, best.to) :
					    xasprintf("%.0f", best.from);

	wrapped(out, "Policy: which working set follows which flush is not known, so the ceiling under which the "
		"recorded flushes lose least, against the best ceiling for each set, in the set that it suits worst, "
		"over the %zu sets above (%s). That is %s: %.0f cycles over the whole record; at 33 it is %.0f. 33 is "
		"kept unless that loss falls by a quarter.", advice->sets, pair, range, best.cost, standard);
	free(range);
}

static void print_advice(FILE *out, const struct ceiling *c, const struct ceiling_advice *advice,
			 const struct flushes *flushes)
{
	char *pair = pair_text(advice->pair);
	struct ceiling_advice pti;
	int keep;
	double ceiling = ceiling_advised(c, advice, flushes, &keep);

	fprintf(out, "\nRecommendation, host page %s: %s %.0f\n\n", advice->host,
		keep ? "leave tlb_single_page_flush_ceiling at" : "tlb_single_page_flush_ceiling =", ceiling);
	if (flushes) {
		print_weighed_policy(out, c, advice, flushes, pair);
	} else {
		wrapped(out, "Policy: which working set follows which flush is not known, so the ceiling under which "
			"the worst flush loses least against the better of the two ways, over the %zu sets above "
			"and 1 to 512 pages (%s). That is %.0f (%.0f to %.0f by the intervals of n*): %.0f cycles "
			"at most; at 33 it is %.0f. 33 is kept unless the loss falls by a quarter. A record of your "
			"own flushes (--flushes) replaces the worst flush by what really occurs.", advice->sets,
			pair, advice->ceiling.value, advice->ceiling.low, advice->ceiling.high, advice->loss,
			advice->loss_standard);
		fprintf(out, "\n");
		print_losses(out, c, advice);
	}
	free(pair);
	if (ceiling_advice_pti(c, advice->host, &pti) && pti.pair != advice->pair) {
		ceiling = ceiling_advised(c, &pti, flushes, &keep);
		wrapped(out, "That is for a kernel without PTI. Under PTI (invlpg+invpcid-addr against cr3) the same policy "
			"comes to %.0f.", ceiling);
	}
}

/* The commands for one number; said once for each that there is. */
static void print_snippet(FILE *out, double ceiling)
{
	fprintf(out, "\nTo set %.0f until the next boot (debugfs keeps nothing), and at every boot:\n\n"
		"    echo %.0f | sudo tee %s\n"
		"    echo 'w %s - - - - %.0f' | \\\n"
		"        sudo tee /etc/tmpfiles.d/tlb-ceiling.conf\n", ceiling, ceiling, path, path, ceiling);
}

static void print_how(FILE *out, const struct ceiling *c, const struct flushes *flushes)
{
	double said = -1;
	int keep, any = 0;
	size_t i;

	for (i = 0; i < c->advices; i++) {
		double ceiling = ceiling_advised(c, &c->advice[i], flushes, &keep);

		if (keep || ceiling == said)
			continue;
		print_snippet(out, ceiling);
		said = ceiling;
		any = 1;
	}
	fprintf(out, "\n");
	if (any)
		wrapped(out, "The second is a line for systemd-tmpfiles. Where the kernel is locked down (Secure Boot, "
			"lockdown=integrity) nobody can write to debugfs, and the ceiling stays as it is; tlbscope "
			"doctor tells.");
	if (!strcmp(c->cell[0].key->target, "kvm"))
		wrapped(out, "It is for the kernels of guests whose memory has that host page: a guest's flushes are "
			"decided by its own kernel. The host's kernel has a ceiling of its own, for the host's "
			"processes, over one stage: measure that with --on module or --on user on the host.");
	else
		wrapped(out, "It is for this machine's own kernel. If this is a VM, that is the guest's; the host's "
			"ceiling has no part in a guest's flushes.");
}

static void print_scope(FILE *out)
{
	fprintf(out, "\nScope: the cost of a flush on the CPU that does it. Not in it:\n");
	fprintf(out,
		"* remote shootdowns: other CPUs that run the process are interrupted and flush by the same rule;\n"
		"  the interrupt costs more than most flushes, whatever the ceiling;\n"
		"* INVLPGB (AMD, Linux 6.15 and newer): processes on four CPUs and more flush by broadcast, up to 8\n"
		"  pages at once; the ceiling still makes a large range a full flush, but at other costs than these,\n"
		"  and where unmapped pages are collected it does not decide at all;\n"
		"* batching: reclaim and large unmaps collect pages and flush them together, mostly fully;\n"
		"* lazy TLB: an idle CPU is not asked, and flushes fully when it takes the process up again;\n"
		"* PTI: every page is flushed twice, and a full flush of the user's half waits for the return;\n"
		"* ops that leave the guest (op-exits) and emulated CPUs: such rows are left out.\n");
}

static void print_recording(FILE *out)
{
	fprintf(out, "\nTo record the kernel's own flushes (as root, on the machine that has the work):\n\n"
		"    perf record -a -e tlb:tlb_flush -o flushes.data sleep 10\n"
		"    perf script -i flushes.data >flushes.txt\n"
		"    tlbscope ceiling --flushes flushes.txt RUN\n\n");
	wrapped(out, "Flushes beyond the present ceiling are recorded without their size; to see up to 512 pages, set "
		"it to 512 for those ten seconds. Without perf: see man tlbscope.");
}

void ceiling_print(FILE *out, const struct ceiling *c, const struct ceiling_context *context)
{
	size_t i, j;

	if (c->refusal) {
		wrapped(out, "%s: %s", context->name, c->refusal);
		print_lost(out, c);
		return;
	}
	fprintf(out, "%s: target %s, %s\n", context->name, c->cell[0].key->target, c->cell[0].key->cpu);
	for (i = 0; i < c->count; i = j) {
		for (j = i; j < c->count && c->cell[j].pair == c->cell[i].pair; j++)
			;
		print_pair(out, c, i, j);
	}
	print_legend(out, c);
	if (c->left)
		wrapped(out, "%zu of %zu rows are not valid (%s) and left out.", c->left, c->left + c->used,
			c->reasons);
	fprintf(out, "\n");
	print_lost(out, c);
	print_fractured(out, c);
	if (context->flushes)
		ceiling_print_weighed(out, c, context);
	for (i = 0; i < c->advices; i++)
		print_advice(out, c, &c->advice[i], context->flushes);
	if (c->advices)
		print_how(out, c, context->flushes);
	else
		fprintf(out, "\nNo recommendation: no working set has a break-even or a clear winner.\n");
	print_scope(out);
	if (!context->flushes)
		print_recording(out);
}
