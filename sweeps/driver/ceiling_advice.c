// SPDX-License-Identifier: GPL-2.0
/*
 * From break-evens to one number: the ceiling whose worst case loses least.
 *
 * n* depends on the working set that has to be touched again, and a kernel has one ceiling for all.
 * Without knowing how often which set occurs, the choice that can be defended against any of them is the
 * one that minimises the largest loss (regret): over all sets measured and all numbers of pages, what
 * a flush costs more than the better of the two ways would have. With a record of the kernel's own flushes
 * the numbers of pages and how often each occurs are known, and only the sets are left to guess: the
 * loss then is over all flushes of the record.
 */
#include "ceiling.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Is the cell among those that an advice rests on? */
int ceiling_counts(const struct ceiling_cell *cell, const struct ceiling_advice *advice)
{
	return cell->pair == advice->pair && !strcmp(cell->key->host, advice->host) && ceiling_tells(cell);
}

/* What moves the full flush's line so that n* becomes one end of its interval: -1 low, 1 high. */
static double shift_of(const struct ceiling_cell *cell, int end)
{
	double to = end < 0 ? cell->pages.low : cell->pages.high;

	if (!end || isnan(to) || isnan(cell->pages.value))
		return 0;
	return (to - cell->pages.value) * (cell->fit.rising.slope - cell->fit.level.slope);
}

/*
 * The most that one flush of up to CEILING_MOST pages loses by a ceiling against the better of the
 * two ways. Both lines are straight, so that the worst sizes are 1, the ceiling, the next one, and
 * the largest.
 */
static double worst_flush(const struct ceiling_cell *cell, double ceiling, int end)
{
	const double sizes[] = { 1, ceiling, ceiling + 1, CEILING_MOST };
	double shift = shift_of(cell, end), worst = 0;
	size_t i;

	for (i = 0; i < TS_COUNT(sizes); i++) {
		double single = ceiling_single(cell, sizes[i]);
		double full = ceiling_full(cell) + shift;

		if (sizes[i] < 1 || sizes[i] > CEILING_MOST)
			continue;
		worst = fmax(worst, sizes[i] <= ceiling ? single - full : full - single);
	}
	return worst;
}

static double worst_of_all(const struct ceiling *c, const struct ceiling_advice *advice, double ceiling,
			   int end)
{
	double worst = 0;
	size_t i;

	for (i = 0; i < c->count; i++)
		if (ceiling_counts(&c->cell[i], advice))
			worst = fmax(worst, worst_flush(&c->cell[i], ceiling, end));
	return worst;
}

double ceiling_worst_flush(const struct ceiling *c, const struct ceiling_advice *advice, double ceiling)
{
	return worst_of_all(c, advice, ceiling, 0);
}

/* The ceiling with the least worst loss. */
static double least_worst(const struct ceiling *c, const struct ceiling_advice *advice, int end,
			  double *loss)
{
	double at, best = 0, worst;

	*loss = INFINITY;
	for (at = 0; at <= CEILING_MOST; at++) {
		worst = worst_of_all(c, advice, at, end);
		if (worst < *loss) {
			*loss = worst;
			best = at;
		}
	}
	return best;
}

#define WORTH 0.75 /* a change has to bring the worst loss below this share of what it is at 33 */

static void find_advice(const struct ceiling *c, struct ceiling_advice *advice)
{
	double ignored, low, high;
	size_t i;

	for (i = 0; i < c->count; i++)
		advice->sets += ceiling_counts(&c->cell[i], advice);
	advice->ceiling.value = least_worst(c, advice, 0, &advice->loss);
	low = least_worst(c, advice, -1, &ignored);
	high = least_worst(c, advice, 1, &ignored);
	advice->ceiling.low = fmin(advice->ceiling.value, fmin(low, high));
	advice->ceiling.high = fmax(advice->ceiling.value, fmax(low, high));
	advice->loss_standard = worst_of_all(c, advice, CEILING_STANDARD, 0);
	advice->keep = advice->loss >= WORTH * advice->loss_standard;
}

int ceiling_advice_pti(const struct ceiling *c, const char *host, struct ceiling_advice *advice)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct ceiling_cell *cell = &c->cell[i];

		if (!cell->pair->also || !ceiling_tells(cell) || strcmp(cell->key->host, host))
			continue;
		*advice = (struct ceiling_advice){ .host = cell->key->host, .pair = cell->pair };
		find_advice(c, advice);
		return 1;
	}
	return 0;
}

/* An advice for each host page, from the first pair that has something to say there. */
void ceiling_advise(struct ceiling *c)
{
	size_t i, j;

	for (i = 0; i < c->count; i++) {
		if (!ceiling_tells(&c->cell[i]))
			continue;
		for (j = 0; j < c->advices && strcmp(c->advice[j].host, c->cell[i].key->host); j++)
			;
		if (j < c->advices)
			continue;
		c->advice = xrealloc(c->advice, (c->advices + 1) * sizeof(*c->advice));
		c->advice[c->advices] = (struct ceiling_advice){ .host = c->cell[i].key->host,
								 .pair = c->cell[i].pair };
		find_advice(c, &c->advice[c->advices++]);
	}
}

/* ---- weighted ---- */

/*
 * A change of the address space is full whatever the ceiling. So is any other full flush of the record:
 * how many pages it was for is not in it.
 */
double ceiling_expected(const struct ceiling_cell *cell, const struct flushes *flushes, double ceiling)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < flushes->sums; i++) {
		const struct flush_sum *one = &flushes->sum[i];

		if (!flushes_counts(one))
			continue;
		if (one->pages == FLUSHES_FULL || one->pages > ceiling)
			sum += one->count * ceiling_full(cell);
		else
			sum += one->count * ceiling_single(cell, one->pages);
	}
	return sum;
}

/* The next number of pages beyond `pages` in the record; INFINITY when there is none. */
static double next_size(const struct flushes *flushes, double pages)
{
	double next = INFINITY;
	size_t i;

	for (i = 0; i < flushes->sums; i++)
		if (flushes_counts(&flushes->sum[i]) && flushes->sum[i].pages > pages)
			next = fmin(next, flushes->sum[i].pages);
	return next;
}

/* The cheapest of the ceilings 0 and all sizes of the record, by a cost of a ceiling. */
static struct ceiling_choice cheapest(const struct flushes *flushes,
				      double cost(const void *context, double ceiling),
				      const void *context)
{
	struct ceiling_choice best = { .cost = INFINITY };
	double at, next, here;

	for (at = 0; at < INFINITY; at = next) {
		next = next_size(flushes, at);
		here = cost(context, at);
		if (here < best.cost)
			best = (struct ceiling_choice){ at, next < INFINITY ? next - 1 : CEILING_MOST, here };
	}
	return best;
}

struct weighing {
	const struct ceiling *ceiling;
	const struct ceiling_advice *advice;
	const struct ceiling_cell *cell;
	const struct flushes *flushes;
};

static double cost_of_cell(const void *context, double at)
{
	const struct weighing *w = context;

	return ceiling_expected(w->cell, w->flushes, at);
}

struct ceiling_choice ceiling_best(const struct ceiling_cell *cell, const struct flushes *flushes)
{
	const struct weighing w = { .cell = cell, .flushes = flushes };

	return cheapest(flushes, cost_of_cell, &w);
}

double ceiling_worst(const struct ceiling *ceiling, const struct ceiling_advice *advice,
		     const struct flushes *flushes, double at)
{
	double worst = 0;
	size_t i;

	for (i = 0; i < ceiling->count; i++) {
		const struct ceiling_cell *cell = &ceiling->cell[i];

		if (ceiling_counts(cell, advice))
			worst = fmax(worst, ceiling_expected(cell, flushes, at) -
						    ceiling_best(cell, flushes).cost);
	}
	return worst;
}

static double worst_of_cells(const void *context, double at)
{
	const struct weighing *w = context;

	return ceiling_worst(w->ceiling, w->advice, w->flushes, at);
}

struct ceiling_choice ceiling_best_of_all(const struct ceiling *ceiling,
					  const struct ceiling_advice *advice,
					  const struct flushes *flushes)
{
	const struct weighing w = { .ceiling = ceiling, .advice = advice, .flushes = flushes };

	return cheapest(flushes, worst_of_cells, &w);
}

double ceiling_advised(const struct ceiling *ceiling, const struct ceiling_advice *advice,
		       const struct flushes *flushes, int *keep)
{
	struct ceiling_choice best;

	*keep = advice->keep;
	if (!flushes)
		return *keep ? CEILING_STANDARD : advice->ceiling.value;
	best = ceiling_best_of_all(ceiling, advice, flushes);
	*keep = (best.from <= CEILING_STANDARD && CEILING_STANDARD <= best.to) ||
		best.cost >= WORTH * ceiling_worst(ceiling, advice, flushes, CEILING_STANDARD);
	return *keep ? CEILING_STANDARD : best.from;
}
