// SPDX-License-Identifier: GPL-2.0
/* Reach curves as a table and as JSON. */
#include "reach.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 100
#define BLOCK 5 /* curves side by side: 5 columns of lines, 10 of packed, 17 of each */

/* ---- table ---- */

char reach_mark(const struct reach_sample *sample)
{
	return strcmp(sample->valid, "ok") ? '!' : sample->spread >= REACH_STEP ? '~' : ' ';
}

/* A rounded zero has no sign. */
static double clean(double value)
{
	return fabs(value) < 0.05 ? 0 : value;
}

/* 10 columns for a packed curve, 17 for the others. */
static void print_sample(FILE *out, const struct reach_curve *curve, double lines)
{
	const struct reach_sample *sample = reach_at(curve, lines);
	char net[32] = "";

	if (!sample || isnan(sample->cycles)) {
		fprintf(out, curve->packed ? "%9s " : "%17s", sample ? "declined" : "");
		return;
	}
	if (!isnan(sample->net))
		snprintf(net, sizeof(net), "(%.1f)", clean(sample->net));
	fprintf(out, "%*.1f%c", curve->packed ? 9 : 7, sample->cycles, reach_mark(sample));
	if (!curve->packed)
		fprintf(out, "%9s", net);
}

/* Part `number` of a name, parts being separated by commas; 0 when there are not so many. */
static const char *name_part(const char *name, size_t number, int *length)
{
	const char *end;

	for (; number; number--) {
		name = strstr(name, ", ");
		if (!name)
			return NULL;
		name += 2;
	}
	end = strstr(name, ", ");
	*length = end ? (int)(end - name) + 1 : (int)strlen(name);
	return name;
}

/* Heading: the parts of the names below one another. */
static void print_heading(FILE *out, const struct reach_curve *const *shown, size_t n)
{
	size_t part, i;
	int length, any = 1;

	for (part = 0; any; part++) {
		any = 0;
		fprintf(out, "%5s", part ? "" : "lines");
		for (i = 0; i < n; i++) {
			const char *text = name_part(shown[i]->name, part, &length);
			int next;

			any |= name_part(shown[i]->name, part + 1, &next) != NULL;
			length = text ? length : 0;
			if (shown[i]->packed)
				fprintf(out, "%9.*s ", length, text ? text : "");
			else
				fprintf(out, "%17.*s", length, text ? text : "");
		}
		fputs("\n", out);
	}
}

/* The smallest number of lines in the set beyond `lines`; 0 when there is none. */
static double next_lines(const struct reach_set *set, double lines)
{
	double next = 0;
	size_t i, j;

	for (i = 0; i < set->curves; i++)
		for (j = 0; j < set->curve[i].samples; j++) {
			double here = set->curve[i].sample[j].lines;

			if (here > lines && (!next || here < next))
				next = here;
		}
	return next;
}

/* One table of the curves shown[0..n). */
static void print_block(FILE *out, const struct reach_set *set,
			const struct reach_curve *const *shown, size_t n)
{
	double lines;
	size_t i;

	fputs("\n", out);
	print_heading(out, shown, n);
	for (lines = next_lines(set, 0); lines > 0; lines = next_lines(set, lines)) {
		fprintf(out, "%5.0f", lines);
		for (i = 0; i < n; i++)
			print_sample(out, shown[i], lines);
		fputs("\n", out);
	}
}

/* All curves over one packed curve (or over none, base 0), behind it; so many in a table that it fits. */
static void print_over(FILE *out, const struct reach_set *set, const struct reach_curve *base)
{
	const struct reach_curve *shown[BLOCK + 1] = { base };
	size_t first = base ? 1 : 0, n = first, printed = 0, i;

	for (i = 0; i < set->curves; i++) {
		const struct reach_curve *curve = &set->curve[i];

		if (curve->packed || curve->base != base)
			continue;
		shown[n++] = curve;
		if (n < first + BLOCK)
			continue;
		print_block(out, set, shown, n);
		printed++;
		n = first;
	}
	if (n > first || (base && !printed))
		print_block(out, set, shown, n);
}

static void print_curves(FILE *out, const struct reach_set *set)
{
	size_t i;

	for (i = 0; i < set->curves; i++)
		if (set->curve[i].packed)
			print_over(out, set, &set->curve[i]);
	print_over(out, set, NULL);
}

char *reach_end_text(const struct reach_set *set, const struct reach_curve *curve)
{
	const struct ts_case *c = &curve->key->c;
	double last = curve->samples ? curve->sample[curve->samples - 1].lines : 0, mib = last * c->stride / (1 << 20);

	if (c->guest == TS_4K || c->stride < ts_page_size(c->guest) || !last || !next_lines(set, last))
		return NULL;
	return xasprintf("%s: each line takes a page of its own, %g of them %g %s; the run has no rows beyond.",
			 curve->name, last, mib < 1024 ? mib : mib / 1024, mib < 1024 ? "MiB" : "GiB");
}

static void print_legend(FILE *out, const struct reach_set *set)
{
	int differ = 0, invalid = 0, declined = 0, compared = 0;
	size_t i, j;

	for (i = 0; i < set->curves; i++) {
		compared |= set->curve[i].base != NULL;
		for (j = 0; j < set->curve[i].samples; j++) {
			const struct reach_sample *sample = &set->curve[i].sample[j];

			declined |= isnan(sample->cycles);
			invalid |= !isnan(sample->cycles) && reach_mark(sample) == '!';
			differ |= reach_mark(sample) == '~';
		}
	}
	if (compared)
		fprintf(out, "In brackets: without the packed curve, the share of caches and timer. A "
			     "first-level cache of 512\nor 768 lines is full in the middle of this "
			     "range and would pass for a cliff of the TLB.\n");
	if (differ)
		fprintf(out, "~: the repeats differ by more than a cycle a line.\n");
	if (invalid)
		fprintf(out, "!: not valid, left out below.\n");
	if (declined)
		fprintf(out, "declined: not measured; column valid says why (too little memory, "
			     "no pages of this size).\n");
	for (i = 0; i < set->curves; i++) {
		char *end = reach_end_text(set, &set->curve[i]);

		if (end)
			print_wrapped(out, end);
		free(end);
	}
}

static void print_cliff(FILE *out, const char *name, const struct cliff *cliff)
{
	char *range = xasprintf("between %g and %g lines", cliff->from, cliff->to);

	fprintf(out, "%-34s %-28s %10.1f  %s\n", name, range, cliff->rise, reach_certainty(cliff));
	free(range);
}

static void print_cliffs_of(FILE *out, const struct reach_curve *curve, int *doubtful)
{
	char *name = curve->packed ? xasprintf("%s (caches, not the TLB)", curve->name) :
				     xstrdup(curve->name);
	struct cliff cliff[REACH_CLIFFS];
	size_t i, n = reach_cliffs(curve, cliff);

	for (i = 0; i < n; i++) {
		print_cliff(out, name, &cliff[i]);
		*doubtful |= cliff[i].certainty == CLIFF_DOUBTFUL;
	}
	if (!curve->packed && !curve->base)
		fprintf(out, "%-34s not told: no packed curve to compare with\n", name);
	else if (isnan(reach_searched(curve)))
		fprintf(out, "%-34s not told: fewer than two valid points\n", name);
	else if (!n && !curve->packed)
		fprintf(out, "%-34s none up to %g lines\n", name, reach_searched(curve));
	free(name);
}

static void print_cliffs(FILE *out, const struct reach_set *set)
{
	int doubtful = 0;
	size_t i;

	fprintf(out, "\n%-34s %-28s %10s  %s\n", "cliffs over packed", "", "rise", "certainty");
	for (i = 0; i < set->curves; i++)
		print_cliffs_of(out, &set->curve[i], &doubtful);
	fprintf(out, "Rise: cycles a line. Where packed rises, too, only a rise beyond that makes a "
		     "cliff.\n");
	if (doubtful)
		fprintf(out, "doubtful: less than twice what the repeats vary by; measure again "
			     "with nothing else running.\n");
}

static void print_set(FILE *out, const struct reach_set *set)
{
	const struct row *key = set->key;
	size_t i;

	if (set->emulated) {
		fprintf(out, "\nreach, host page %s: the CPU is emulated, so that its latencies say "
			     "nothing; not shown.\n", key->host);
		return;
	}
	fprintf(out, "\nreach, host page %s%s%s%s: latency against the number of lines, TSC cycles "
		     "a line\n", key->host, *key->host_how ? " (" : "", key->host_how,
		*key->host_how ? ")" : "");
	print_curves(out, set);
	print_legend(out, set);
	print_cliffs(out, set);
	for (i = 0; i < set->curves; i++) {
		char *why;

		if (!reach_asks(&set->curve[i]))
			continue;
		reach_answer(set, &set->curve[i], &why);
		fputs("\n", out);
		print_wrapped(out, why);
		free(why);
	}
}

void reach_print(FILE *out, const struct reach *reach)
{
	size_t i;

	for (i = 0; i < reach->count; i++)
		print_set(out, &reach->set[i]);
}

/* ---- curves of several runs ---- */

char *reach_cliffs_text(const struct reach_curve *curve)
{
	struct cliff cliff[REACH_CLIFFS];
	size_t i, n = reach_cliffs(curve, cliff);
	char *text = xstrdup(""), *next;

	for (i = 0; i < n; i++) {
		next = xasprintf("%s%s%g to %g%s", text, *text ? ", " : "", cliff[i].from, cliff[i].to,
				 cliff[i].certainty == CLIFF_DOUBTFUL ? " (doubtful)" : "");
		free(text);
		text = next;
	}
	if (n)
		return text;
	free(text);
	return !curve->base || isnan(reach_searched(curve)) ? xstrdup("not told") :
					      xasprintf("none up to %g", reach_searched(curve));
}

const struct reach_curve *reach_same_curve(const struct reach *reach, const char *host, const char *name)
{
	size_t i, j;

	for (i = 0; i < reach->count; i++)
		for (j = 0; j < reach->set[i].curves && !strcmp(reach->set[i].key->host, host); j++)
			if (!strcmp(reach->set[i].curve[j].name, name))
				return &reach->set[i].curve[j];
	return NULL;
}

/* ---- JSON ---- */

static json_t *json_number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *json_sample(const struct reach_sample *sample)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:i, s:s}", "lines",
			 (json_int_t)sample->lines, "cycles", json_number(sample->cycles),
			 "spread", json_number(sample->spread), "net", json_number(sample->net),
			 "net_spread", json_number(sample->net_spread), "repeats",
			 (int)sample->values, "valid", sample->valid);
}

static json_t *json_cliff(const struct cliff *cliff)
{
	return json_pack("{s:I, s:I, s:f, s:s}", "from", (json_int_t)cliff->from, "to",
			 (json_int_t)cliff->to, "rise", cliff->rise, "certainty",
			 reach_certainty(cliff));
}

static json_t *json_curve(const struct reach_curve *curve)
{
	json_t *points = json_array(), *cliffs = json_array();
	struct cliff cliff[REACH_CLIFFS];
	size_t i, n = reach_cliffs(curve, cliff);

	for (i = 0; i < curve->samples; i++)
		json_array_append_new(points, json_sample(&curve->sample[i]));
	for (i = 0; i < n; i++)
		json_array_append_new(cliffs, json_cliff(&cliff[i]));
	return json_pack("{s:s, s:s, s:I, s:b, s:o, s:o}", "name", curve->name, "guest",
			 ts_page_names[curve->key->c.guest], "stride",
			 (json_int_t)curve->key->c.stride, "packed", curve->packed, "points",
			 points, "cliffs", cliffs);
}

static json_t *json_answer(const struct reach_set *set, const struct reach_curve *curve)
{
	static const char *const words[] = {
		[REACH_NOT_TOLD] = "not told", [REACH_ONE_ENTRY] = "one entry",
		[REACH_PIECES] = "in pieces",
	};
	char *why;
	enum reach_answer answer = reach_answer(set, curve, &why);
	json_t *json = json_pack("{s:s, s:s, s:s}", "curve", curve->name, "cached", words[answer],
				 "why", why);

	free(why);
	return json;
}

static json_t *json_set(const struct reach_set *set)
{
	json_t *curves = json_array(), *answers = json_array();
	size_t i;

	for (i = 0; i < set->curves && !set->emulated; i++) {
		json_array_append_new(curves, json_curve(&set->curve[i]));
		if (reach_asks(&set->curve[i]))
			json_array_append_new(answers, json_answer(set, &set->curve[i]));
	}
	return json_pack("{s:s, s:s, s:b, s:o, s:o}", "host", set->key->host, "host_how",
			 set->key->host_how, "emulated", set->emulated, "curves", curves, "answers",
			 answers);
}

json_t *reach_json(const struct reach *reach)
{
	json_t *hosts;
	size_t i;

	if (!reach->count)
		return json_null();
	hosts = json_array();
	for (i = 0; i < reach->count; i++)
		json_array_append_new(hosts, json_set(&reach->set[i]));
	return json_pack("{s:o}", "hosts", hosts);
}
