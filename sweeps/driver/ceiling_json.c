// SPDX-License-Identifier: GPL-2.0
/* The break-even as JSON. */
#include "ceiling.h"

#include <math.h>
#include <string.h>

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *line(const struct fit_line *fit)
{
	if (!fit->n)
		return json_null();
	return json_pack("{s:f, s:f, s:o, s:o, s:I}", "intercept", fit->intercept, "slope", fit->slope,
			 "residual", fit->freedom ? json_real(fit->residual) : json_null(), "worst",
			 fit->freedom ? json_real(fit->worst) : json_null(), "points",
			 (json_int_t)fit->n);
}

/* What the record's flushes cost in a cell, by ceiling. */
static json_t *expected(const struct ceiling_cell *cell, const struct ceiling_context *context)
{
	const struct flushes *flushes = context->flushes;
	struct ceiling_choice best;
	json_t *list;
	double at;

	if (!flushes || !ceiling_tells(cell))
		return json_null();
	list = json_array();
	for (at = 0; at <= CEILING_MOST; at = at ? 2 * at : 1) {
		double cycles = ceiling_expected(cell, flushes, at);

		json_array_append_new(list, json_pack("{s:f, s:f}", "ceiling", at, "cycles", cycles));
		if (at == CEILING_STANDARD - 1)
			json_array_append_new(list, json_pack("{s:i, s:f}", "ceiling", CEILING_STANDARD, "cycles",
							      ceiling_expected(cell, flushes, CEILING_STANDARD)));
	}
	best = ceiling_best(cell, flushes);
	return json_pack("{s:o, s:{s:f, s:f, s:f, s:o, s:o}}", "by_ceiling", list, "best", "from", best.from,
			 "to", best.to, "cycles", best.cost, "cycles_per_second",
			 number(best.cost / flushes->seconds), "percent_of_core",
			 number(100 * best.cost / flushes->seconds / context->tsc_hz));
}

static json_t *cell_json(const struct ceiling_cell *cell, const struct ceiling_context *context)
{
	const struct row *key = cell->key;
	json_t *json = json_pack("{s:s, s:s, s:s, s:f, s:b, s:s, s:s, s:s, s:s, s:s?}", "host", key->host,
				 "host_how", key->host_how, "guest",
				 ceiling_page_name(cell), "lines",
				 cell->lines, "apart", cell->lines && key->c.touches != key->c.leaves, "single",
				 ceiling_single_name(cell->pair), "full", ts_ops[cell->pair->full].name,
				 "stands_for", cell->pair->stands_for, "outcome",
				 ceiling_outcome_name(cell->outcome), "why", cell->why);

	json_object_update_new(json, json_pack("{s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:o}",
					       "single_line", line(&cell->fit.rising), "full_line",
					       line(&cell->fit.level), "noise_power", cell->fit.power,
					       "baseline", number(cell->baseline), "pages",
					       number(cell->pages.value), "pages_low", number(cell->pages.low),
					       "pages_high", number(cell->pages.high), "beyond", cell->beyond,
					       "below", cell->below, "f", number(cell->f), "expected",
					       expected(cell, context)));
	return json;
}

static json_t *advice_json(const struct ceiling *c, const struct ceiling_advice *advice,
			   const struct ceiling_context *context)
{
	int keep;
	double ceiling = ceiling_advised(c, advice, context->flushes, &keep);

	return json_pack("{s:s, s:s, s:s, s:f, s:b, s:I, s:f, s:f, s:f, s:f, s:f, s:b}", "host", advice->host,
			 "single", ceiling_single_name(advice->pair), "full", ts_ops[advice->pair->full].name,
			 "ceiling", ceiling, "keep", keep, "sets", (json_int_t)advice->sets, "least_loss_at",
			 advice->ceiling.value, "least_loss_low", advice->ceiling.low, "least_loss_high",
			 advice->ceiling.high, "loss", advice->loss, "loss_at_33", advice->loss_standard,
			 "weighed", context->flushes != NULL);
}

static json_t *flushes_json(const struct flushes *flushes)
{
	json_t *sums = json_array();
	size_t i;

	if (!flushes) {
		json_decref(sums);
		return json_null();
	}
	for (i = 0; i < flushes->sums; i++)
		json_array_append_new(sums, json_pack("{s:I, s:I, s:s, s:I, s:b}", "pages",
						      (json_int_t)flushes->sum[i].pages, "reason",
						      (json_int_t)flushes->sum[i].reason, "text",
						      flushes->sum[i].text, "count",
						      (json_int_t)flushes->sum[i].count, "counts",
						      flushes_counts(&flushes->sum[i])));
	return json_pack("{s:s, s:I, s:o, s:I, s:o}", "file", flushes->path, "flushes",
			 (json_int_t)flushes->lines, "seconds", number(flushes->seconds), "lost",
			 (json_int_t)flushes->lost, "sums", sums);
}

json_t *ceiling_json(const struct ceiling *c, const struct ceiling_context *context)
{
	json_t *cells = json_array(), *advice = json_array();
	size_t i;

	for (i = 0; i < c->count; i++)
		json_array_append_new(cells, cell_json(&c->cell[i], context));
	for (i = 0; i < c->advices; i++)
		json_array_append_new(advice, advice_json(c, &c->advice[i], context));
	return json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:I, s:I, s:s, s:o, s:o, s:o, s:o}", "run", context->name,
			 "target", c->cells.count ? c->cells.cell[0].key->target : "", "cpu",
			 c->cells.count ? c->cells.cell[0].key->cpu : "", "refusal", c->refusal, "remedy", c->refusal ? c->remedy : NULL, "rows_used",
			 (json_int_t)c->used, "rows_left_out", (json_int_t)c->left, "reasons", c->reasons,
			 "tsc_hz", number(context->tsc_hz), "cells", cells, "advice", advice, "flushes",
			 flushes_json(context->flushes));
}
