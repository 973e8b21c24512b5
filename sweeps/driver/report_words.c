// SPDX-License-Identifier: GPL-2.0
/* What a report says in words: the answer, the rows behind it, the columns of rows.csv. */
#include "cell_text.h"
#include "report.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *report_host(const struct report_run *run, size_t i)
{
	const struct cells *cells = &run->rest;
	size_t j, k;

	for (j = 0; j < cells->count; j++) {
		if (cells->cell[j].key->c.phase != run->phase)
			continue;
		for (k = 0; k < j; k++)
			if (cells->cell[k].key->c.phase == run->phase &&
			    !strcmp(cells->cell[k].key->host, cells->cell[j].key->host))
				break;
		if (k == j && !i--)
			return cells->cell[j].key->host;
	}
	return NULL;
}

char *report_rows(const struct outcome *const *outcome, size_t n)
{
	char *text = xstrdup(""), *next;
	size_t i, j, told = 0;

	for (i = 0; i < n; i++)
		for (j = 0; outcome[i] && j < outcome[i]->n; j++) {
			if (!outcome[i]->row[j]->sequence || ++told > 12)
				continue;
			next = xasprintf("%s%s%llu", text, *text ? ", " : "", outcome[i]->row[j]->sequence);
			free(text);
			text = next;
		}
	next = !told ? xstrdup("rows without sequence numbers") :
		       xasprintf("row%s %s%s", told > 1 ? "s" : "", text, told > 12 ? ", ..." : "");
	free(text);
	return next;
}

/* ---- the answer ---- */

/* The text without a full stop at its end, for a sentence that goes on or has its own; the caller frees. */
static char *without_stop(const char *text)
{
	size_t length = strlen(text);

	return strndup(text, length - (length && text[length - 1] == '.'));
}

/* The host page whose verdict says most: something is dropped, then intact, then undecided. */
static const char *telling_host(const struct report_run *run, enum verdict *verdict, const char **why)
{
	static const int ranks[VERDICTS] = { [VERDICT_INTACT] = 1, [VERDICT_ODD] = 2, [VERDICT_LARGE_ONLY] = 3,
					     [VERDICT_WHOLE] = 4 };
	const char *host, *best = NULL, *reason;
	enum verdict here;
	size_t i;

	for (i = 0; (host = report_host(run, i)); i++) {
		here = cells_verdict(&run->rest, run->phase, host, &reason);
		if (best && ranks[here] <= ranks[*verdict])
			continue;
		best = host;
		*verdict = here;
		*why = reason;
	}
	return best;
}

/* "0 of 50 leaves (F 0.00)" or "12453 cycles against 11235 without a flush (F 0.41)". */
static char *cell_words(const struct cell *cell)
{
	char f[64], selective[32], none[32], full[32];

	text_f(f, sizeof(f), cell);
	text_number(selective, sizeof(selective), outcome_value(cell->selective));
	text_number(none, sizeof(none), outcome_value(cell->none));
	text_number(full, sizeof(full), outcome_value(cell->full));
	if (cell->key->c.phase == TS_REFILL)
		return xasprintf("%s of %llu leaves of %s pages had to be fetched again (F %s)", selective,
				 cell->key->c.leaves, ts_page_names[cell->key->c.guest], f);
	return xasprintf("a pass over %s pages took %s cycles, against %s without a flush and %s after a full one "
			 "(F %s)", ts_page_names[cell->key->c.guest], selective, none, full, f);
}

/* What a decided verdict rests on, and how the other host pages came out. */
static char *decided_words(const struct report_run *run, const char *host)
{
	const struct cell *small = cells_verdict_cell(&run->rest, run->phase, host, TS_4K);
	const struct cell *large = cells_verdict_cell(&run->rest, run->phase, host, TS_2M);
	char *words[2] = { cell_words(small), cell_words(large) }, *op = text_op(small->selective);
	char *text = xasprintf("It rests on host pages of %s (%s): after one %s, %s; %s", host,
			       *small->key->host_how ? small->key->host_how : "no second stage", op, words[0],
			       words[1]), *next;
	const char *other, *why;
	size_t i;

	for (i = 0; (other = report_host(run, i)); i++) {
		if (!strcmp(other, host))
			continue;
		next = xasprintf("%s; with host pages of %s: %s", text, other,
				 verdict_name(cells_verdict(&run->rest, run->phase, other, &why)));
		free(text);
		text = next;
	}
	next = xasprintf("%s.", text);
	free(text);
	free(op);
	free(words[0]);
	free(words[1]);
	return next;
}

/* "; what it did show is F 0.00 for 4k and 1.00 for 2m pages on host pages of 4k, ..." of all host pages. */
static char *undecided_words(const struct report_run *run)
{
	char *text = xstrdup(""), *next, f[2][64];
	const char *host;
	size_t i;

	for (i = 0; (host = report_host(run, i)); i++) {
		const struct cell *small = cells_verdict_cell(&run->rest, run->phase, host, TS_4K);
		const struct cell *large = cells_verdict_cell(&run->rest, run->phase, host, TS_2M);

		if (!small || !large || isnan(small->f.value) || isnan(large->f.value))
			continue;
		text_f(f[0], sizeof(f[0]), small);
		text_f(f[1], sizeof(f[1]), large);
		f[0][strcspn(f[0], "!")] = f[1][strcspn(f[1], "!")] = '\0';
		next = xasprintf("%s%sF %s for 4k and %s for 2m pages on host page %s", text,
				 *text ? ", " : "; what it did show is ", f[0], f[1], host);
		free(text);
		text = next;
	}
	return text;
}

static void flush_answer(const struct report_run *run, char **first, char **second)
{
	enum verdict verdict = VERDICT_UNDECIDED;
	const char *why = "", *host = telling_host(run, &verdict, &why);
	char *more, *reason;

	if (verdict != VERDICT_UNDECIDED) {
		*first = xstrdup(verdict_sentence(verdict));
		*second = decided_words(run, host);
		return;
	}
	*first = xstrdup("This run gives no verdict on whether flushing one page costs other pages their cached "
			 "translations on hardware.");
	if (!strncmp(why, "no verdict", strlen("no verdict")) && strchr(why, ':'))
		why = strchr(why, ':') + 2;
	more = undecided_words(run);
	reason = without_stop(why);
	*second = xasprintf("The reason: %s%s.", reason, more);
	free(reason);
	free(more);
}

/* From the first curve of large pages that tells something. */
static void reach_answer_words(const struct report_run *run, char **first, char **second)
{
	size_t i, j;
	char *why, *end;

	*first = NULL;
	for (i = 0; i < run->reach.count; i++)
		for (j = 0; j < run->reach.set[i].curves && !run->reach.set[i].emulated && !*first; j++) {
			if (!reach_asks(&run->reach.set[i].curve[j]))
				continue;
			reach_answer(&run->reach.set[i], &run->reach.set[i].curve[j], &why);
			end = strstr(why, ". ");
			*second = xstrdup(end ? end + 2 : "The cliffs below are where a level of the TLB is full.");
			*first = end ? strndup(why, end - why + 1) : xstrdup(why);
			free(why);
		}
	if (*first)
		return;
	*first = xstrdup("This run does not tell how far the TLB reaches.");
	*second = xstrdup(run->reach.set[0].emulated ?
				  "The CPU is emulated, so that its latencies are the emulator's own." :
				  "It lacks curves of large pages, 4K apart, beside those of 4K pages.");
}

/* From the first host page that has an advice. */
static void ceiling_answer_words(const struct report_run *run, char **first, char **second)
{
	const struct ceiling *c = &run->ceiling;
	const struct ceiling_advice *advice = c->advice;
	char *why;
	int keep;
	double value;

	if (!*run->stamp && c->advices) {
		value = ceiling_advised(c, advice, NULL, &keep);
		*first = xasprintf("tlb_single_page_flush_ceiling loses least at %.0f here%s.", value,
				   keep ? ", Linux' standard" : "");
		*second = xasprintf("With host pages of %s the worst flush of %zu working sets then costs %.0f cycles more "
				    "than the best way would, and %.0f at 33, Linux' standard.", advice->host,
				    advice->sets, ceiling_worst_flush(c, advice, value), advice->loss_standard);
		return;
	}
	*first = xstrdup("This run does not tell up to how many pages flushing them one by one is cheaper than flushing "
			 "everything.");
	why = without_stop(*run->stamp ? "its cycles are not those of hardware" : c->refusal ?: "no host page has enough of "
			   "valid working sets");
	*second = xasprintf("The reason: %s.", why);
	free(why);
}

/* ---- the question ---- */

#define CEILING_COUNTS 4 /* numbers of pages: two or three are a comparison, no search for a break-even */

static int asks_ceiling(const struct report_run *run)
{
	u64 seen[CEILING_COUNTS];
	size_t i, j, n = 0;

	for (i = 0; i < run->rows.count && n < CEILING_COUNTS; i++) {
		for (j = 0; j < n && seen[j] != run->rows.row[i].c.count;)
			j++;
		if (j == n)
			seen[n++] = run->rows.row[i].c.count;
	}
	return n == CEILING_COUNTS;
}

enum report_question report_question(const struct report_run *run)
{
	return asks_ceiling(run) ? ASKS_CEILING : run->phase != TS_PHASES ? ASKS_FLUSH :
	       run->reach.count ? ASKS_REACH : ASKS_NONE;
}

const char *report_question_title(enum report_question question)
{
	static const char *const titles[] = {
		[ASKS_FLUSH] = "Does flushing one page cost the others?",
		[ASKS_REACH] = "How far does the TLB reach?",
		[ASKS_CEILING] = "Up to how many pages is flushing them one by one cheaper?",
		[ASKS_NONE] = "What do TLB flushes drop and cost?",
	};

	return titles[question];
}

char *report_unasked(const struct report_run *run)
{
	const struct {
		int asked;
		const char *what;
	} parts[REPORT_QUESTIONS] = {
		[ASKS_FLUSH] = { run->phase != TS_PHASES, "whether flushing one page costs the others (plan fracture)" },
		[ASKS_REACH] = { run->reach.count != 0, "how far the TLB reaches (plan reach)" },
		[ASKS_CEILING] = { asks_ceiling(run), "up to how many pages flushing them one by one is cheaper (plan ceiling)" },
	};
	char *text = xstrdup(""), *next;
	size_t i;

	for (i = 0; i < TS_COUNT(parts); i++) {
		if (parts[i].asked)
			continue;
		next = xasprintf("%s%s%s", text, *text ? "; " : "", parts[i].what);
		free(text);
		text = next;
	}
	return text;
}

void report_answer(const struct report_run *run, char **first, char **second)
{
	enum report_question question = report_question(run);

	if (question == ASKS_CEILING) {
		ceiling_answer_words(run, first, second);
	} else if (question == ASKS_FLUSH) {
		flush_answer(run, first, second);
	} else if (question == ASKS_REACH) {
		reach_answer_words(run, first, second);
	} else if (cells_show_phase(&run->rest, TS_BOTH)) {
		*first = xstrdup("This run has the loops of 2016, but none of the passes that a verdict is made of.");
		*second = xstrdup("What its loops and counters show is in the tables.");
	} else {
		*first = xstrdup("This run tells nothing about flushes.");
		*second = xstrdup(run->rows.count ? "None of its rows has a number that is not an emulator's own." :
						    "It has no rows.");
	}
}

/* ---- columns ---- */

static const struct {
	const char *name, *about;
} columns[] = {
	{ "run", "name of the run" },
	{ "target", "where it ran: kvm, module, user, tcg, model" },
	{ "accel", "what executed it: kvm, tcg, a VM, the machine itself" },
	{ "cpu", "the CPU as it names itself" },
	{ "host", "page size of the host under the window: 4k, 2m, 1g; none: no second stage; unknown: it cannot be seen" },
	{ "host_how", "how that is known: verified, inferred (from timing), asked (not verified)" },
	{ "class", "what the op has to drop by the architecture: none, selective, full" },
	{ "sequence", "place of the row in the run, from 1: the order in which rows were measured" },
	{ "cycles", "TSC cycles of one iteration: the median, for both, op and access the mean" },
	{ "refills", "leaves that the page walker fetched again in one iteration: median" },
	{ "off_median", "iterations whose refills differed from the median" },
	{ "exits", "exits to the hypervisor that the op caused in one iteration" },
	{ "must", "leaves of the working set that the op has to drop by the architecture" },
	{ "mix_refills", "refills of the second working set" },
	{ "mix_must", "leaves of the second working set that the op has to drop" },
	{ "op_va", "address that the op flushed" },
	{ "twin", "new: after the op a remapped page showed its new frame; stale: it did not" },
	{ "valid", "ok, or why the row carries no verdict, joined by +" },
	{ "pages_4k", "4K pages that KVM had mapped after the row, by its own count" },
	{ "pages_2m", "2M pages that KVM had mapped after the row" },
	{ "pages_1g", "1G pages that KVM had mapped after the row" },
	{ "nx_lpage_splits", "large pages that KVM had split because code in them ran" },
	{ "backing", "how the guest's RAM was had, and what smaps says of it" },
	{ "guest_how", "how the pages of the window were had" },
	{ "flush_seen", "what the tracepoint tlb:tlb_flush saw of one call" },
	{ "op_cycles", "TSC cycles of the system call: median" },
	{ "f", "fracture index of the cell, by the target" },
	{ "f_low", "lower end of its 95 % interval" },
	{ "f_high", "upper end of its 95 % interval" },
	{ "rounds", "rounds that the medians are over" },
	{ "host_4k_share", "share of this process' 2M pages that act like 4K ones" },
};

const char *report_column(const char *name)
{
	u32 key = ts_key_find(name, strlen(name));
	size_t i;

	if (key < TS_KEYS)
		return ts_keys[key].help;
	for (i = 0; i < TS_COUNT(columns); i++)
		if (!strcmp(columns[i].name, name))
			return columns[i].about;
	return "";
}
