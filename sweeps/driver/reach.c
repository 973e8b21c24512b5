// SPDX-License-Identifier: GPL-2.0
/* Reach curves: from cells to curves, what is left over the packed one, cliffs, what follows. */
#include "reach.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * What the timer is wrong by in one pass. TSCs count in steps (21 cycles on a Zen 5 at 2.7 GHz), so
 * that sets of few lines seem to differ by cycles a line when they do not.
 */
#define TIMER_ERROR 12.0

/* ---- names ---- */

/* A length in bytes with its unit: 64 bytes, 4K, 2M, 1G. Caller frees. */
static char *length_text(u64 bytes)
{
	static const char units[] = { 'G', 'M', 'K' };
	size_t i;

	for (i = 0; i < TS_COUNT(units); i++) {
		int shift = 30 - 10 * (int)i;

		if (bytes >> shift && !(bytes & ((1ULL << shift) - 1)))
			return xasprintf("%llu%c", bytes >> shift, units[i]);
	}
	return xasprintf("%llu bytes", bytes);
}

static int is_packed(const struct ts_case *c)
{
	return c->stride == TS_LINE;
}

/* "4K pages", "2M pages, 4K apart", "packed", and behind it what is not standard. Caller frees. */
static char *curve_name(const struct ts_case *c)
{
	static const u8 told[] = { TS_KEY_GLOBAL, TS_KEY_PCID, TS_KEY_OFFSET, TS_KEY_FRAMES,
				   TS_KEY_ORDER, TS_KEY_ACCESS, TS_KEY_SEED };
	u64 page = ts_page_size(c->guest);
	char *size = length_text(page), *apart = length_text(c->stride), *name, *next, value[64];
	struct ts_text out;
	size_t i;

	name = is_packed(c) ? xasprintf(c->guest == TS_4K ? "packed" : "packed in %s", size) :
	       c->stride == page ? xasprintf("%s pages", size) :
				   xasprintf("%s pages, %s apart", size, apart);
	for (i = 0; i < TS_COUNT(told); i++) {
		u32 key = told[i];

		if (ts_value(c, key) == ts_keys[key].standard ||
		    (key == TS_KEY_OFFSET && is_packed(c)))
			continue;
		ts_text_init(&out, value, sizeof(value));
		ts_value_print(&out, key, ts_value(c, key));
		next = xasprintf("%s, %s%s%s", name,
				 ts_keys[key].kind == TS_KIND_WORD ? "" : ts_keys[key].name,
				 ts_keys[key].kind == TS_KIND_WORD ? "" : "=", value);
		free(name);
		name = next;
	}
	free(size);
	free(apart);
	return name;
}

/* ---- grouping ---- */

/* A cell that times passes without any flush, and nothing beside that. */
static int is_reach_cell(const struct cell *cell)
{
	const struct ts_case *c = &cell->key->c;

	return c->phase == TS_RETOUCH && !c->mix && cell->outcomes == 1 &&
	       cell->outcome[0].row[0]->c.op == TS_OP_NONE;
}

static int in_set(const struct reach_set *set, const struct row *row)
{
	return !strcmp(set->key->run, row->run) && !strcmp(set->key->target, row->target) &&
	       !strcmp(set->key->host, row->host);
}

static struct reach_set *find_set(const struct reach *reach, const struct row *row)
{
	size_t i;

	for (i = 0; i < reach->count; i++)
		if (in_set(&reach->set[i], row))
			return &reach->set[i];
	return NULL;
}

static struct reach_set *add_set(struct reach *reach, const struct row *row)
{
	struct reach_set *set;

	reach->set = xrealloc(reach->set, (reach->count + 1) * sizeof(*set));
	set = &reach->set[reach->count++];
	memset(set, 0, sizeof(*set));
	set->key = row;
	return set;
}

/* What all points of a curve share. */
static struct ts_case curve_key(const struct row *row)
{
	struct ts_case c = row->c;

	c.at = c.count = c.leaves = c.touches = c.repeat = c.iterations = 0;
	return c;
}

static struct reach_curve *find_curve(struct reach_set *set, const struct row *row)
{
	struct ts_case wanted = curve_key(row), c;
	struct reach_curve *curve;
	size_t i;

	for (i = 0; i < set->curves; i++) {
		c = curve_key(set->curve[i].key);
		if (!memcmp(&c, &wanted, sizeof(c)))
			return &set->curve[i];
	}
	set->curve = xrealloc(set->curve, (set->curves + 1) * sizeof(*curve));
	curve = &set->curve[set->curves++];
	memset(curve, 0, sizeof(*curve));
	curve->key = row;
	curve->name = curve_name(&row->c);
	curve->packed = is_packed(&row->c);
	return curve;
}

static struct reach_sample *find_sample(struct reach_curve *curve, double lines)
{
	struct reach_sample *sample;
	size_t i;

	for (i = 0; i < curve->samples; i++)
		if (curve->sample[i].lines == lines)
			return &curve->sample[i];
	curve->sample = xrealloc(curve->sample, (curve->samples + 1) * sizeof(*sample));
	sample = &curve->sample[curve->samples++];
	memset(sample, 0, sizeof(*sample));
	sample->lines = lines;
	sample->valid = "ok";
	return sample;
}

/* Cells that differ in their iterations only are repeats of one point. */
static void add_cell(struct reach_set *set, const struct cell *cell)
{
	const struct outcome *outcome = &cell->outcome[0];
	struct reach_sample *sample;
	size_t i;

	sample = find_sample(find_curve(set, cell->key), cell->key->c.touches);
	sample->value = xrealloc(sample->value, (sample->values + outcome->n) * sizeof(double));
	for (i = 0; i < outcome->n; i++) {
		const struct row *row = outcome->row[i];

		if (row->r.has_cycles)
			sample->value[sample->values++] = row->r.cycles / (double)row->c.touches;
		set->emulated |= row_has_reason(row, "emulated-cpu");
	}
	if (!strcmp(sample->valid, "ok"))
		sample->valid = outcome->valid;
}

/* ---- numbers ---- */

static int compare_samples(const void *a, const void *b)
{
	double x = ((const struct reach_sample *)a)->lines;
	double y = ((const struct reach_sample *)b)->lines;

	return (x > y) - (x < y);
}

/* Packed curves last; then small pages first, and one page a line before several lines a page. */
static int compare_curves(const void *a, const void *b)
{
	const struct reach_curve *x = a, *y = b;

	if (x->packed != y->packed)
		return x->packed - y->packed;
	if (x->key->c.guest != y->key->c.guest)
		return x->key->c.guest < y->key->c.guest ? -1 : 1;
	if (x->key->c.stride != y->key->c.stride)
		return x->key->c.stride > y->key->c.stride ? -1 : 1;
	return strcmp(x->name, y->name);
}

/*
 * Median and spread of the repeats. The quartiles and not the ends: of three repeats on a busy
 * machine, one is often disturbed and says nothing about the other two.
 */
static void sum_up(struct reach_sample *sample)
{
	size_t n = sample->values;

	sample->cycles = sample->spread = sample->low = sample->high = NAN;
	sample->net = sample->net_spread = NAN;
	if (!n)
		return;
	sample->cycles = statistics_median(sample->value, n);
	sample->low = statistics_quantile(sample->value, n, 0.25);
	sample->high = statistics_quantile(sample->value, n, 0.75);
	if (n > 1)
		sample->spread = (sample->high - sample->low) / 2;
}

const struct reach_sample *reach_at(const struct reach_curve *curve, double lines)
{
	size_t i;

	for (i = 0; curve && i < curve->samples; i++)
		if (curve->sample[i].lines == lines)
			return &curve->sample[i];
	return NULL;
}

/*
 * How much the packed curve rises next to a point. Where a cache is about full, packed lines and
 * spread ones do not leave it at exactly the same number, so that their difference is uncertain by
 * as much.
 */
static double step_at(const struct reach_curve *packed, const struct reach_sample *at)
{
	size_t i = at - packed->sample;
	double step = 0;

	if (i)
		step = fmax(step, at->cycles - at[-1].cycles);
	if (i + 1 < packed->samples)
		step = fmax(step, at[1].cycles - at->cycles);
	return step >= REACH_STEP ? step : 0;
}

static void subtract(struct reach_curve *curve)
{
	const struct reach_sample *packed;
	struct reach_sample *sample;
	double timer;
	size_t i;

	for (i = 0; i < curve->samples; i++) {
		sample = &curve->sample[i];
		packed = reach_at(curve->base, sample->lines);
		if (!packed)
			continue;
		timer = 2 * TIMER_ERROR / sample->lines;
		sample->net = sample->cycles - packed->cycles;
		sample->net_spread = sample->spread + packed->spread;
		if (sample->net_spread < timer)
			sample->net_spread = timer;
		sample->edge = step_at(curve->base, packed);
		sample->net_spread += sample->edge;
		if (!strcmp(sample->valid, "ok"))
			sample->valid = packed->valid;
	}
}

static const struct reach_curve *find_base(const struct reach_set *set,
					   const struct reach_curve *curve)
{
	const struct ts_case *c = &curve->key->c, *b;
	size_t i;

	for (i = 0; i < set->curves && !curve->packed; i++) {
		b = &set->curve[i].key->c;
		if (set->curve[i].packed && b->order == c->order && b->access == c->access)
			return &set->curve[i];
	}
	return NULL;
}

static void finish_set(struct reach_set *set)
{
	struct reach_curve *curve;
	size_t i, j;

	qsort(set->curve, set->curves, sizeof(*set->curve), compare_curves);
	for (i = 0; i < set->curves; i++) {
		curve = &set->curve[i];
		qsort(curve->sample, curve->samples, sizeof(*curve->sample), compare_samples);
		for (j = 0; j < curve->samples; j++)
			sum_up(&curve->sample[j]);
		curve->base = find_base(set, curve);
	}
	for (i = 0; i < set->curves; i++)
		subtract(&set->curve[i]);
}

static int has_curve(const struct reach_set *set)
{
	size_t i;

	for (i = 0; i < set->curves; i++)
		if (set->curve[i].samples > 1)
			return 1;
	return 0;
}

static void free_set(struct reach_set *set)
{
	size_t i, j;

	for (i = 0; i < set->curves; i++) {
		for (j = 0; j < set->curve[i].samples; j++)
			free(set->curve[i].sample[j].value);
		free(set->curve[i].sample);
		free(set->curve[i].name);
	}
	free(set->curve);
}

void reach_build(const struct cells *cells, struct reach *reach)
{
	struct reach_set *set;
	size_t i, kept = 0;

	memset(reach, 0, sizeof(*reach));
	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];

		if (!is_reach_cell(cell))
			continue;
		set = find_set(reach, cell->key);
		add_cell(set ? set : add_set(reach, cell->key), cell);
	}
	for (i = 0; i < reach->count; i++) {
		set = &reach->set[i];
		if (!has_curve(set)) {
			free_set(set);
			continue;
		}
		finish_set(set);
		reach->set[kept++] = *set;
	}
	reach->count = kept;
}

void reach_free(struct reach *reach)
{
	size_t i;

	for (i = 0; i < reach->count; i++)
		free_set(&reach->set[i]);
	free(reach->set);
	memset(reach, 0, sizeof(*reach));
}

int reach_owns(const struct reach *reach, const struct cell *cell)
{
	return is_reach_cell(cell) && find_set(reach, cell->key);
}

/* ---- cliffs ---- */

/* The points that a cliff may be found on, with those at edges of caches or without. */
static size_t points_of(const struct reach_curve *curve, int edges, struct reach_point *point)
{
	size_t i, n = 0;

	for (i = 0; i < curve->samples; i++) {
		const struct reach_sample *sample = &curve->sample[i];
		double cycles = curve->packed ? sample->cycles : sample->net;
		double spread = curve->packed ? sample->spread : sample->net_spread;

		if (!isnan(cycles) && !strcmp(sample->valid, "ok") && (edges || !sample->edge))
			point[n++] = (struct reach_point){ sample->lines, cycles, spread };
	}
	return n;
}

/* Does it touch one of n cliffs? */
static int touches(const struct cliff *cliff, size_t n, const struct cliff *other)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (cliff[i].from <= other->to && other->from <= cliff[i].to)
			return 1;
	return 0;
}

/*
 * Does a cliff lie around an edge, and is it no trifle against it? Smaller rises may be what the
 * caches make of lines that are spread.
 */
static int around_edge(const struct reach_curve *curve, const struct cliff *cliff)
{
	double edge = 0;
	size_t i;

	for (i = 0; i < curve->samples; i++)
		if (curve->sample[i].lines > cliff->from && curve->sample[i].lines < cliff->to)
			edge = fmax(edge, curve->sample[i].edge);
	return edge > 0 && cliff->rise >= edge / 2;
}

static int compare_cliffs(const void *a, const void *b)
{
	double x = ((const struct cliff *)a)->from, y = ((const struct cliff *)b)->from;

	return (x > y) - (x < y);
}

/*
 * A cliff of the TLB may stand where a cache is full, too, and be lost in what is uncertain there.
 * So the points at edges are left out in a second search, which finds it between the points around
 * them.
 */
size_t reach_cliffs(const struct reach_curve *curve, struct cliff cliff[REACH_CLIFFS])
{
	struct reach_point *point = xcalloc(curve->samples, sizeof(*point));
	struct cliff around[REACH_CLIFFS];
	size_t i, n, more;

	n = statistics_cliffs(point, points_of(curve, 1, point), cliff, REACH_CLIFFS);
	more = statistics_cliffs(point, points_of(curve, 0, point), around, REACH_CLIFFS);
	n = n < REACH_CLIFFS ? n : REACH_CLIFFS;
	for (i = 0; i < more && i < REACH_CLIFFS && n < REACH_CLIFFS; i++)
		if (around_edge(curve, &around[i]) && !touches(cliff, n, &around[i]))
			cliff[n++] = around[i];
	qsort(cliff, n, sizeof(*cliff), compare_cliffs);
	free(point);
	return n;
}

double reach_searched(const struct reach_curve *curve)
{
	struct reach_point *point = xcalloc(curve->samples, sizeof(*point));
	size_t n = points_of(curve, 1, point);
	double lines = n > 1 ? point[n - 1].lines : NAN;

	free(point);
	return lines;
}

const char *reach_certainty(const struct cliff *cliff)
{
	static const char *const words[] = {
		[CLIFF_DOUBTFUL] = "doubtful", [CLIFF_LIKELY] = "likely", [CLIFF_CLEAR] = "clear",
	};

	return words[cliff->certainty];
}

/* ---- in pieces? ---- */

int reach_asks(const struct reach_curve *curve)
{
	return curve->key->c.guest != TS_4K && curve->key->c.stride == 4096;
}

/* The 4K pages that differ from a curve of large ones in nothing else. */
static const struct reach_curve *small_pages(const struct reach_set *set,
					     const struct reach_curve *large)
{
	struct ts_case wanted = curve_key(large->key), c;
	size_t i;

	wanted.guest = TS_4K;
	for (i = 0; i < set->curves; i++) {
		c = curve_key(set->curve[i].key);
		if (!memcmp(&c, &wanted, sizeof(c)))
			return &set->curve[i];
	}
	return NULL;
}

/* Rise of net across a cliff, and what it is uncertain by; NAN when it cannot be had. */
static double rise_between(const struct reach_curve *curve, const struct cliff *cliff,
			   double *error)
{
	const struct reach_sample *a = reach_at(curve, cliff->from);
	const struct reach_sample *b = reach_at(curve, cliff->to);

	*error = NAN;
	if (!a || !b || strcmp(a->valid, "ok") || strcmp(b->valid, "ok"))
		return NAN;
	*error = a->net_spread + b->net_spread;
	return b->net - a->net;
}

/* What one cliff of the 4K pages says about the large ones: do they rise there as well? */
static enum reach_answer answer_at(const struct reach_curve *small, const struct reach_curve *large,
				   const struct cliff *cliff)
{
	double error, ignored;
	double share = rise_between(large, cliff, &error) / rise_between(small, cliff, &ignored);

	/* Nor does a rise that is lost in the noise say that there is none. */
	if (isnan(share) || !(error <= 0.5 * cliff->rise))
		return REACH_NOT_TOLD;
	if (share >= 0.75)
		return REACH_PIECES;
	return share <= 0.25 ? REACH_ONE_ENTRY : REACH_NOT_TOLD;
}

/* The first cliff that is more than doubtful, or 0. */
static const struct cliff *first_firm(const struct cliff *cliff, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (cliff[i].certainty != CLIFF_DOUBTFUL)
			return &cliff[i];
	return NULL;
}

/* Sentence of an answer that rests on a cliff of the 4K pages. */
static char *because(enum reach_answer answer, const struct reach_curve *small,
		     const struct reach_curve *large, const struct cliff *at)
{
	char *size = length_text(ts_page_size(large->key->c.guest)), *text;
	double error, rise = rise_between(large, at, &error), of = rise_between(small, at, &error);

	if (answer == REACH_PIECES)
		text = xasprintf("%s pages are cached in pieces: from %g to %g lines, 4K apart in "
				 "them, latency rises by %.1f cycles a line, as over 4K pages "
				 "(%.1f).%s", size, at->from, at->to, rise, of,
				 strcmp(large->key->host, "none") ?
					 " Host pages smaller than the guest's do that." : "");
	else
		text = xasprintf("%s pages are cached as one entry each: from %g to %g lines "
				 "latency over 4K pages rises by %.1f cycles a line, over lines "
				 "4K apart in %s pages by %.1f.", size, at->from, at->to, of, size,
				 fabs(rise) < 0.05 ? 0 : rise);
	free(size);
	return text;
}

/*
 * Does a later cliff of the 4K pages say the opposite of the first? Not when the large pages have
 * one of their own beyond the first: in the last level a busy machine moves cliffs by a point or
 * two.
 */
static int contradicts(const struct reach_curve *small, const struct reach_curve *large,
		       const struct cliff *first, const struct cliff *later)
{
	enum reach_answer one = answer_at(small, large, first);
	enum reach_answer other = answer_at(small, large, later);
	struct cliff own[REACH_CLIFFS];
	size_t i, n = reach_cliffs(large, own);

	if (later->certainty == CLIFF_DOUBTFUL || other == one || other == REACH_NOT_TOLD)
		return 0;
	for (i = 0; i < n; i++)
		if (own[i].from >= first->to)
			return 0;
	return 1;
}

/*
 * The first certain cliff of the 4K pages decides, since it is the sharpest. Pieces larger than 4K,
 * or a cache, would make a cliff elsewhere: then it is not one entry.
 */
static const char *why_not_told(const struct reach_curve *small, const struct reach_curve *large,
				const struct cliff *cliff, size_t n)
{
	const struct cliff *first = first_firm(cliff, n);
	struct cliff own[REACH_CLIFFS];
	enum reach_answer answer;
	size_t i;

	if (!large->base)
		return "there is no packed curve to compare with";
	if (isnan(reach_searched(large)))
		return "too few of their points could be measured and are valid";
	if (!first)
		return small ? "no cliff of the 4K pages is certain" :
			       "there is no curve of 4K pages";
	answer = answer_at(small, large, first);
	if (answer == REACH_NOT_TOLD)
		return "at the 4K pages' cliff they neither rise as much nor stay, or vary too "
		       "much";
	if (answer == REACH_ONE_ENTRY && first_firm(own, reach_cliffs(large, own)))
		return "they have a cliff, but elsewhere than 4K pages";
	for (i = 0; i < n; i++)
		if (contradicts(small, large, first, &cliff[i]))
			return "one level of the TLB says so, another does not";
	return NULL;
}

enum reach_answer reach_answer(const struct reach_set *set, const struct reach_curve *large,
			       char **why)
{
	const struct reach_curve *small = small_pages(set, large);
	struct cliff cliff[REACH_CLIFFS];
	size_t n = small ? reach_cliffs(small, cliff) : 0;
	const char *reason = why_not_told(small, large, cliff, n);
	const struct cliff *first = first_firm(cliff, n);
	enum reach_answer answer;

	if (reason) {
		*why = xasprintf("%.2s pages cached in pieces or as one entry: not told; %s.",
				 large->name, reason);
		return REACH_NOT_TOLD;
	}
	answer = answer_at(small, large, first);
	*why = because(answer, small, large, first);
	return answer;
}

struct cells reach_rest(const struct cells *cells, const struct reach *reach)
{
	struct cells rest = { xcalloc(cells->count, sizeof(*rest.cell)), 0 };
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (!reach_owns(reach, &cells->cell[i]))
			rest.cell[rest.count++] = cells->cell[i];
	return rest;
}
