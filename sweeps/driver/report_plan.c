// SPDX-License-Identifier: GPL-2.0
/*
 * The plan of a run in report.html, as it was carried out: a target does not do every phase, and a CPU has not every
 * page size, so that run.json's plan says more than was measured. What counts as carried out is what is in rows.csv: each
 * section is expanded again, and its cases are looked for among the rows.
 */
#include "report.h"
#include "report_html.h"
#include "sweep.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES (1 << 16) /* a printed sweep, see record.c */

/* What makes a case, without what differs between its repeats. */
static struct ts_case plain_case(const struct ts_case *full)
{
	struct ts_case c = *full;

	c.repeat = c.iterations = c.seed = 0;
	return c;
}

static int compare_cases(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ts_case));
}

/* The cases of all rows, sorted; the caller frees. */
static struct ts_case *measured_cases(const struct rows *rows)
{
	struct ts_case *cases = xcalloc(rows->count ? rows->count : 1, sizeof(*cases));
	size_t i;

	for (i = 0; i < rows->count; i++)
		cases[i] = plain_case(&rows->row[i].c);
	qsort(cases, rows->count, sizeof(*cases), compare_cases);
	return cases;
}

/* Notes in used the values of an axis that the case has. */
static void note_values(const struct ts_sweep *sweep, const struct ts_case *c, u8 used[TS_KEYS][TS_MAX_VALUES])
{
	u32 key, i;

	for (key = 0; key < TS_KEYS; key++)
		for (i = 0; i < sweep->axis[key].n; i++)
			used[key][i] |= sweep->axis[key].value[i] == ts_value(c, key);
}

/* Leaves out the values that no row has, of axes with several. */
static void keep_used(struct ts_sweep *sweep, u8 used[TS_KEYS][TS_MAX_VALUES])
{
	u32 key, i, n;

	for (key = 0; key < TS_KEYS; key++) {
		struct ts_axis *axis = &sweep->axis[key];

		if (axis->n < 2)
			continue;
		for (i = n = 0; i < axis->n; i++)
			if (used[key][i])
				axis->value[n++] = axis->value[i];
		axis->n = n;
	}
}

/* Cuts a sweep down to what is in cases; returns how many of its cases are. */
static size_t cut_to_measured(struct ts_sweep *sweep, const struct ts_case *cases, size_t n)
{
	u8 used[TS_KEYS][TS_MAX_VALUES] = { 0 };
	struct ts_cursor cursor = { 0 };
	struct ts_error error;
	struct ts_case c, plain;
	size_t found = 0;
	int more;

	while ((more = ts_sweep_next(sweep, &cursor, &c, &error))) {
		plain = plain_case(&c);
		if (more < 0 || !bsearch(&plain, cases, n, sizeof(*cases), compare_cases))
			continue;
		note_values(sweep, &c, used);
		found++;
	}
	if (found)
		keep_used(sweep, used);
	return found;
}

/* One section; its name is added to *left_out when no row is of it. */
static void put_section(FILE *out, const json_t *section, const struct ts_case *cases, size_t n, char **left_out)
{
	const char *name = json_string_value(json_object_get(section, "name")) ?: "";
	const char *line = json_string_value(json_object_get(section, "sweep")) ?: "";
	char *bytes, *next;
	struct ts_sweep sweep;
	struct ts_error error;
	struct ts_text text;

	if (ts_sweep_parse(line, &sweep, &error)) { /* of another version: as it stands there */
		html_put(out, "[%s] %s\n", name, line);
		return;
	}
	if (!cut_to_measured(&sweep, cases, n)) {
		next = xasprintf("%s%s[%s]", *left_out, **left_out ? ", " : "", name);
		free(*left_out);
		*left_out = next;
		return;
	}
	bytes = xcalloc(1, LINE_BYTES);
	ts_text_init(&text, bytes, LINE_BYTES);
	ts_sweep_print(&text, &sweep);
	html_put(out, "[%s] %s\n", name, bytes);
	free(bytes);
}

void report_plan(FILE *out, const struct report_run *run)
{
	json_t *sections = json_object_get(json_object_get(run->json, "plan"), "sections"), *section;
	struct ts_case *cases;
	char *left_out = xstrdup("");
	size_t i;

	if (json_array_size(sections)) {
		cases = measured_cases(&run->rows);
		fputs("<p>The sections of the plan that rows are of, each with the values that are in rows:</p>\n<pre>", out);
		json_array_foreach(sections, i, section)
			put_section(out, section, cases, run->rows.count, &left_out);
		fputs("</pre>\n", out);
		if (*left_out)
			html_put(out, "<p class=\"note\">Not carried out (they are for other targets, or need what was not "
				      "there): %s.</p>\n", left_out);
		free(cases);
	}
	free(left_out);
}
