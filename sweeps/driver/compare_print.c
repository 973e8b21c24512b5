// SPDX-License-Identifier: GPL-2.0
/* tlbscope compare: what differs between two runs, as text and as JSON. */
#include "cell_text.h"
#include "command.h"
#include "compare.h"
#include "reach.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "invlpg far, 16 x 2m on host 4k"; the caller frees. */
static char *case_text(const struct outcome *outcome)
{
	const struct row *row = outcome->row[0];
	char host[32], *op = text_op(outcome), *set = text_set(&row->c);
	char *text = xasprintf("%s: %s, %s on host %s", ts_phase_names[row->c.phase], op, set,
			       row_host_text(host, sizeof(host), row));

	free(op);
	free(set);
	return text;
}

/* ---- verdicts ---- */

/* Phase of the verdict: the first that has something to show. */
static u64 verdict_phase(const struct cells *cells)
{
	u64 phase;

	for (phase = 0; phase <= TS_RETOUCH; phase++)
		if (cells_show_phase(cells, phase))
			return phase;
	return TS_PHASES;
}

/* Of cells that are no part of a reach curve: those flush nothing. */
static void print_verdicts(FILE *out, const struct cells *a, const struct cells *b)
{
	static const char *const hosts[] = { "4k", "2m", "1g", "none", "unknown" };
	u64 phase = verdict_phase(a);
	const char *why;
	size_t i;

	for (i = 0; i < TS_COUNT(hosts) && phase != TS_PHASES; i++) {
		enum verdict one, other;

		if (!cells_verdict_cell(a, phase, hosts[i], TS_2M) || !cells_verdict_cell(b, phase, hosts[i], TS_2M))
			continue;
		one = cells_verdict(a, phase, hosts[i], &why);
		other = cells_verdict(b, phase, hosts[i], &why);
		fprintf(out, "verdict on host page %s: %s%s%s\n", hosts[i], verdict_name(one),
			one == other ? " in both" : " -> ", one == other ? "" : verdict_name(other));
	}
}

/* ---- cliffs of reach ---- */

/* As each run's own repeats have them, not decided together: a cliff is a place, no number with an interval. */
static void print_cliffs(FILE *out, const struct reach *a, const struct reach *b)
{
	size_t i, j;

	for (i = 0; i < a->count; i++)
		for (j = 0; j < a->set[i].curves && !a->set[i].emulated; j++) {
			const struct reach_curve *one = &a->set[i].curve[j];
			const struct reach_curve *other = reach_same_curve(b, a->set[i].key->host, one->name);
			char *texts[2];

			if (one->packed || !other)
				continue;
			texts[0] = reach_cliffs_text(one);
			texts[1] = reach_cliffs_text(other);
			fprintf(out, "cliffs, %s on host page %s, lines: %s%s%s\n", one->name, a->set[i].key->host,
				texts[0], strcmp(texts[0], texts[1]) ? " -> " : " in both",
				strcmp(texts[0], texts[1]) ? texts[1] : "");
			free(texts[0]);
			free(texts[1]);
		}
}

/* What the runs answer, each on its own. */
static void print_answers(FILE *out, const struct comparison *comparison)
{
	struct reach reach[2];
	struct cells rest[2];
	int i;

	for (i = 0; i < 2; i++) {
		reach_build(&comparison->side[i].cells, &reach[i]);
		rest[i] = reach_rest(&comparison->side[i].cells, &reach[i]);
	}
	print_verdicts(out, &rest[0], &rest[1]);
	print_cliffs(out, &reach[0], &reach[1]);
	for (i = 0; i < 2; i++) {
		free(rest[i].cell);
		reach_free(&reach[i]);
	}
}

/* ---- around the runs ---- */

/* The names of the facts that matter and that only one run recorded; the caller frees. */
static char *recorded_once(const json_t *has, const json_t *lacks)
{
	const struct environment_fact *fact;
	char *text = xstrdup(""), *next;
	size_t i;

	for (i = 0; (fact = environment_fact(i)); i++) {
		char *one = environment_text(has, fact->path), *other = environment_text(lacks, fact->path);

		if (fact->matters && one && !other) {
			next = xasprintf("%s%s%s", text, *text ? ", " : "", fact->label);
			free(text);
			text = next;
		}
		free(one);
		free(other);
	}
	return text;
}

/* Returns how many facts both recorded, and in another way. */
static size_t print_differing(FILE *out, const struct comparison *comparison)
{
	const struct environment_fact *fact;
	size_t i, n = 0;

	for (i = 0; (fact = environment_fact(i)); i++) {
		char *a = environment_text(comparison->side[0].json[0], fact->path);
		char *b = environment_text(comparison->side[1].json[0], fact->path);

		if (fact->matters && a && b && strcmp(a, b))
			fprintf(out, "%s  %s: %s -> %s (%s)\n", n++ ? "" : "\naround them, A -> B:\n", fact->label, a, b,
				fact->matters);
		free(a);
		free(b);
	}
	return n;
}

/* Facts that matter and are not the same in all runs of one side: then it is no side. */
static void print_unlike(FILE *out, const struct comparison *comparison)
{
	const struct environment_fact *fact;
	size_t which, run, i;

	for (which = 0; which < 2; which++)
		for (i = 0; (fact = environment_fact(i)); i++) {
			const struct compared_side *side = &comparison->side[which];
			char *first = environment_text(side->json[0], fact->path);
			int unlike = 0;

			for (run = 1; run < side->runs && fact->matters; run++) {
				char *text = environment_text(side->json[run], fact->path);

				unlike |= strcmp(first ?: "", text ?: "") != 0;
				free(text);
			}
			if (unlike)
				fprintf(out, "  the runs of %c are not alike: %s (%s)\n", (int)('A' + which), fact->label,
					fact->matters);
			free(first);
		}
}

static void print_environment(FILE *out, const struct comparison *comparison)
{
	const json_t *a = comparison->side[0].json[0], *b = comparison->side[1].json[0];
	char *only[2];
	size_t n;

	if (!a || !b) {
		fprintf(out, "\nno run.json of %s: what was around it is not known\n", a ? "B" : b ? "A" : "both");
		return;
	}
	n = print_differing(out, comparison);
	only[0] = recorded_once(a, b);
	only[1] = recorded_once(b, a);
	if (!n)
		fprintf(out, "\naround them nothing differs that %s\n",
			*only[0] || *only[1] ? "matters and was recorded of both" : "matters");
	if (*only[0])
		fprintf(out, "  recorded of A only, so not compared: %s\n", only[0]);
	if (*only[1])
		fprintf(out, "  recorded of B only, so not compared: %s\n", only[1]);
	print_unlike(out, comparison);
	free(only[0]);
	free(only[1]);
}

/* ---- cases ---- */

static void print_compared(FILE *out, const struct compared *c)
{
	char *name = case_text(c->a), value[2][32], range[80];
	const struct difference *d = &c->difference;

	text_number(value[0], sizeof(value[0]), c->value[0]);
	text_number(value[1], sizeof(value[1]), c->value[1]);
	if (d->low == d->high)
		snprintf(range, sizeof(range), "%+.10g", d->value);
	else
		snprintf(range, sizeof(range), "%+.1f (%+.1f to %+.1f)", d->value, d->low, d->high);
	fprintf(out, "  %s\n    %s: %s -> %s, %s%s%s\n", name, c->measure, value[0], value[1], range,
		strcmp(c->a->valid, "ok") || strcmp(c->b->valid, "ok") ? "; not valid: " : "",
		strcmp(c->a->valid, "ok") ? c->a->valid : strcmp(c->b->valid, "ok") ? c->b->valid : "");
	free(name);
}

static void print_only(FILE *out, const struct comparison *comparison, int which)
{
	size_t i;

	if (comparison->onlys[which])
		fprintf(out, "\nonly in %c, %zu:\n", 'A' + which, comparison->onlys[which]);
	for (i = 0; i < comparison->onlys[which]; i++) {
		char *name = case_text(comparison->only[which][i]);

		fprintf(out, "  %s\n", name);
		free(name);
	}
}

/* How many were not told, by reason. */
static void print_untold(FILE *out, const struct comparison *comparison)
{
	static const char *const reasons[] = { "fewer than 3 repeats", "an emulator's own cycles",
					       "measured on one side only", "in fewer than 3 runs of a side" };
	size_t i, j, n;

	for (i = 0; i < TS_COUNT(reasons); i++) {
		for (j = n = 0; j < comparison->count; j++)
			n += comparison->compared[j].untold && !strcmp(comparison->compared[j].untold, reasons[i]);
		if (n)
			fprintf(out, "not told, %zu: %s\n", n, reasons[i]);
	}
}

/* Cases whose rows are valid in one run and not in the other. */
static void print_validity(FILE *out, const struct comparison *comparison)
{
	const struct outcome *last = NULL;
	char *name;
	size_t i;

	for (i = 0; i < comparison->count; i++) {
		const struct compared *c = &comparison->compared[i];

		if (c->a == last || !strcmp(c->a->valid, c->b->valid))
			continue;
		if (!last)
			fprintf(out, "\nvalid in another way, A -> B:\n");
		last = c->a;
		name = case_text(c->a);
		fprintf(out, "  %s: %s -> %s\n", name, c->a->valid, c->b->valid);
		free(name);
	}
}

static void print_sides(FILE *out, const struct comparison *comparison)
{
	size_t i, run;

	for (i = 0; i < 2; i++) {
		const struct compared_side *side = &comparison->side[i];

		fprintf(out, "%c: ", (int)('A' + i));
		for (run = 0; run < side->runs; run++)
			fprintf(out, "%s, ", side->name[run]);
		fprintf(out, "target %s, %s, %zu rows\n", side->rows.row->target, side->rows.row->cpu, side->rows.count);
	}
}

static void print_apart(FILE *out, const struct comparison *comparison)
{
	size_t i;

	if (!comparison->apart)
		return;
	fprintf(out, "%zu lie farther apart than the repeats of each run, A -> B, difference with its interval:\n",
		comparison->apart);
	for (i = 0; i < comparison->count; i++)
		if (comparison->compared[i].apart)
			print_compared(out, &comparison->compared[i]);
}

void compare_print(FILE *out, const struct comparison *comparison)
{
	size_t i;

	print_sides(out, comparison);
	print_environment(out, comparison);
	fprintf(out, "\n");
	print_answers(out, comparison);
	fprintf(out, "%zu of %zu numbers changed beyond noise%s\n", comparison->changed, comparison->told,
		comparison->changed ? ", A -> B, difference with its interval:" : "");
	for (i = 0; i < comparison->count; i++)
		if (comparison->compared[i].difference.changed)
			print_compared(out, &comparison->compared[i]);
	print_apart(out, comparison);
	print_untold(out, comparison);
	print_validity(out, comparison);
	print_only(out, comparison, 0);
	print_only(out, comparison, 1);
	fprintf(out, "\n95 %% sure of all together (Holm). Cycles: 2 %% or one step of the timer are no change.\n");
}

/* ---- JSON ---- */

static json_t *json_number(double value)
{
	return isnan(value) || isinf(value) ? json_null() : json_real(value);
}

static json_t *json_case(const struct outcome *outcome)
{
	const struct row *row = outcome->row[0];
	char *op = text_op(outcome), *set = text_set(&row->c);
	json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s}", "phase", ts_phase_names[row->c.phase], "op", op,
				 "host", row->host, "guest", ts_page_names[row->c.guest], "set", set);

	free(op);
	free(set);
	return json;
}

static json_t *json_compared(const struct compared *c)
{
	const struct difference *d = &c->difference;
	json_t *json = json_case(c->a);

	json_object_update_new(json, json_pack("{s:s, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:b, s:b, s:s?, s:s, s:s}",
					       "measure", c->measure, "a", json_number(c->value[0]), "b",
					       json_number(c->value[1]), "repeats_a", (int)c->repeats[0],
					       "repeats_b", (int)c->repeats[1], "difference",
					       c->untold ? json_null() : json_number(d->value), "low",
					       json_number(d->low), "high", json_number(d->high), "p",
					       c->untold ? json_null() : json_number(d->p), "changed", d->changed,
					       "apart", c->apart, "untold", c->untold, "valid_a", c->a->valid, "valid_b", c->b->valid));
	return json;
}

static json_t *json_environment(const struct comparison *comparison)
{
	const struct environment_fact *fact;
	json_t *list = json_array();
	size_t i;

	for (i = 0; (fact = environment_fact(i)); i++) {
		char *a = environment_text(comparison->side[0].json[0], fact->path);
		char *b = environment_text(comparison->side[1].json[0], fact->path);

		if (fact->matters && strcmp(a ?: "", b ?: ""))
			json_array_append_new(list, json_pack("{s:s, s:s?, s:s?, s:s}", "fact", fact->path, "a", a,
							      "b", b, "matters", fact->matters));
		free(a);
		free(b);
	}
	return list;
}

static json_t *json_names(const struct compared_side *side)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < side->runs; i++)
		json_array_append_new(names, json_string(side->name[i]));
	return names;
}

json_t *compare_json(const struct comparison *comparison)
{
	json_t *cases = json_array(), *only[2] = { json_array(), json_array() };
	size_t i;
	int which;

	for (i = 0; i < comparison->count; i++)
		json_array_append_new(cases, json_compared(&comparison->compared[i]));
	for (which = 0; which < 2; which++)
		for (i = 0; i < comparison->onlys[which]; i++)
			json_array_append_new(only[which], json_case(comparison->only[which][i]));
	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "a", json_names(&comparison->side[0]), "b",
			 json_names(&comparison->side[1]), "changed", (json_int_t)comparison->changed, "apart",
			 (json_int_t)comparison->apart, "told", (json_int_t)comparison->told, "environment",
			 json_environment(comparison), "cases", cases, "only_a", only[0], "only_b", only[1]);
}

/* ---- command ---- */

struct compare_request {
	const char **run; /* A, B, A, B ... */
	size_t runs;
	int json, anyway, only_good;
};

enum { OPT_ANYWAY = 0x300 };

static error_t parse_compare(int key, char *arg, struct argp_state *state)
{
	struct compare_request *request = state->input;

	switch (key) {
	case 'j':
		request->json = 1;
		return 0;
	case OPT_ANYWAY:
		request->anyway = 1;
		return 0;
	case OPT_SKIP_BAD_ROWS:
		request->only_good = 1;
		return 0;
	case ARGP_KEY_ARG:
		request->run[request->runs++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (request->runs != 2 && (request->runs % 2 || request->runs < 2 * COMPARE_REPEATS))
			argp_error(state, "name two runs, or three pairs or more in turns: A B A B A B");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Loads the runs of one side: every second, from `which` on. */
static int load(struct compared_side *side, const struct compare_request *request, size_t which, struct problem *p)
{
	size_t i, runs = request->runs / 2;

	side->name = xcalloc(runs, sizeof(*side->name));
	side->part = xcalloc(runs, sizeof(*side->part));
	side->json = xcalloc(runs, sizeof(*side->json));
	for (i = 0; i < runs; i++) {
		const char *name = request->run[2 * i + which];
		char *dir;

		if (run_rows(name, request->only_good, &side->part[i], p))
			return -1;
		dir = run_dir(name);
		side->name[i] = name;
		side->json[i] = environment_load(dir);
		side->runs++;
		free(dir);
	}
	compare_join(side);
	return 0;
}

static int show(struct comparison *comparison, const struct compare_request *request)
{
	char *obstacle = compare_side_obstacle(&comparison->side[0]) ?: compare_side_obstacle(&comparison->side[1]);
	struct problem p = { 0 };
	json_t *json;

	if (obstacle) {
		problem(&p, EXIT_REFUSED, "%s: nothing to compare with", obstacle);
		free(obstacle);
		return report(&p);
	}
	obstacle = compare_obstacle(comparison);
	if (obstacle && !request->anyway) {
		problem(&p, EXIT_REFUSED, "%s and %s cannot be compared: %s; --anyway compares them all the same",
			request->run[0], request->run[1], obstacle);
		free(obstacle);
		return report(&p);
	}
	if (obstacle)
		fprintf(stderr, "tlbscope: compared all the same: %s\n", obstacle);
	free(obstacle);
	compare_runs(comparison);
	if (request->json) {
		json = compare_json(comparison);
		json_dumpf(json, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(json);
	} else {
		compare_print(stdout, comparison);
	}
	if (!comparison->told) {
		problem(&p, EXIT_UNDECIDED, "nothing could be compared: %s", comparison->count ?
			"each number has fewer than 3 repeats or is on one side only; measure with --repeats 3 or more" :
			"the runs have no case in common");
		return report(&p);
	}
	if (comparison->apart && !comparison->changed) {
		problem(&p, EXIT_UNDECIDED, "whether anything changed cannot be told from one run on each side: the next run of an "
			"unchanged machine lies apart, too; measure both three times in turns and compare A B A B A B");
		return report(&p);
	}
	return comparison->changed ? EXIT_CHANGED : EXIT_DONE;
}

int command_compare(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", 'j', 0, 0, "JSON instead of text", 0 },
		{ "anyway", OPT_ANYWAY, 0, 0, "compare runs of different targets, or with different events, too", 0 },
		OPTION_SKIP_BAD_ROWS,
		{ 0 },
	};
	const struct argp argp = { .options = options, .parser = parse_compare, .args_doc = "A B [A B]...",
				   .doc = "Tells what differs between two runs, or between two machines or states of "
					  "one that were measured in turns (three pairs or more), beyond noise. Exit "
					  "status: 0 nothing, 6 something, 4 nothing could be told, 5 they cannot be "
					  "compared." };
	struct compare_request request = { .run = xcalloc(argc, sizeof(*request.run)) };
	struct comparison comparison = { 0 };
	struct problem p = { 0 };
	int result;

	parse_options(&argp, argc, argv, &request);
	if (load(&comparison.side[0], &request, 0, &p) || load(&comparison.side[1], &request, 1, &p))
		result = report(&p);
	else
		result = show(&comparison, &request);
	compare_free(&comparison);
	free(request.run);
	return result;
}
