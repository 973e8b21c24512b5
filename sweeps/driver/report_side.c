// SPDX-License-Identifier: GPL-2.0
/* Several runs side by side in one table of report.html. */
#include "cell_text.h"
#include "report.h"
#include "report_html.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LINES 120 /* of F; each run's own tables follow */

/* What makes a cell, without what may differ between runs of the same thing. */
static struct ts_case cell_case(const struct cell *cell)
{
	struct ts_case c = cell->key->c;

	c.op = c.at = c.count = c.repeat = c.iterations = c.seed = 0;
	return c;
}

/* The same cell in another run, or 0. */
static const struct cell *same_cell(const struct report_run *run, const struct cell *like)
{
	struct ts_case a = cell_case(like), b;
	size_t i;

	for (i = 0; i < run->rest.count; i++) {
		const struct cell *cell = &run->rest.cell[i];

		b = cell_case(cell);
		if (!memcmp(&a, &b, sizeof(a)) && !strcmp(cell->key->host, like->key->host))
			return cell;
	}
	return NULL;
}

static void put_f_line(FILE *out, const struct report_run *runs, size_t n, const struct cell *like)
{
	char *set = text_set(&like->key->c), text[64];
	size_t i;

	html_put(out, "<tr><th scope=\"row\">%s: guest %s on host %s, %s</th>", ts_phase_names[like->key->c.phase],
		 ts_page_names[like->key->c.guest], like->key->host, set);
	for (i = 0; i < n; i++) {
		const struct cell *cell = same_cell(&runs[i], like);

		snprintf(text, sizeof(text), "-");
		if (cell)
			text_f(text, sizeof(text), cell);
		html_put(out, "<td class=\"n\">%s</td>", strcmp(text, "-") ? text : cell ? "no F" : "");
	}
	fputs("</tr>\n", out);
	free(set);
}

/* A fact of all runs, if any has it and not all are the same. */
static void put_fact_line(FILE *out, const struct report_run *runs, size_t n, const struct environment_fact *fact)
{
	char **value = xcalloc(n, sizeof(*value));
	size_t i, differ = 0;

	for (i = 0; i < n; i++) {
		value[i] = environment_text(runs[i].json, fact->path);
		differ |= i && strcmp(value[0] ?: "", value[i] ?: "");
	}
	if (differ) {
		html_put(out, "<tr><th scope=\"row\">%s</th>", fact->label);
		for (i = 0; i < n; i++)
			html_put(out, "<td>%s</td>", value[i] ?: "");
		fputs("</tr>\n", out);
	}
	for (i = 0; i < n; i++)
		free(value[i]);
	free(value);
}

/* Where levels of the TLB are full, for each curve of runs[i] that no run before has. */
static void put_reach_lines(FILE *out, const struct report_run *runs, size_t n, size_t i)
{
	const struct reach *reach = &runs[i].reach;
	size_t j, k, l;

	for (j = 0; j < reach->count; j++)
		for (k = 0; k < reach->set[j].curves && !reach->set[j].emulated; k++) {
			const struct reach_curve *curve = &reach->set[j].curve[k], *other;
			const char *host = reach->set[j].key->host;

			for (l = 0; l < i && !reach_same_curve(&runs[l].reach, host, curve->name);)
				l++;
			if (curve->packed || l < i)
				continue;
			html_put(out, "<tr><th scope=\"row\">cliffs, lines: %s on host %s</th>", curve->name, host);
			for (l = 0; l < n; l++) {
				char *text;

				other = reach_same_curve(&runs[l].reach, host, curve->name);
				text = other ? reach_cliffs_text(other) : xstrdup("");
				html_put(out, "<td>%s</td>", text);
				free(text);
			}
			fputs("</tr>\n", out);
		}
}

const char *report_hardware(const struct report_run *run, const char *yes)
{
	if (*run->stamp)
		return run->stamp;
	return json_object_get(run->json, "imported") ? "not verified: imported" : yes;
}

void report_side_by_side(FILE *out, const struct report_run *runs, size_t n)
{
	size_t i, j, k, lines = 0;

	fputs("<div class=\"wide side\"><table>\n<caption><span>The runs side by side: what differs around them, then F of each "
	      "cell and the cliffs of reach</span></caption>\n<thead><tr><th scope=\"col\">run</th>", out);
	for (i = 0; i < n; i++)
		html_put(out, "<th scope=\"col\">%s</th>", runs[i].label);
	fputs("</tr></thead>\n<tbody>\n<tr><th scope=\"row\">target, CPU</th>", out);
	for (i = 0; i < n; i++)
		html_put(out, "<td>%s, %s</td>", runs[i].rows.count ? runs[i].rows.row[0].target : "no rows",
			 runs[i].rows.count ? runs[i].rows.row[0].cpu : "");
	fputs("</tr>\n<tr><th scope=\"row\">hardware</th>", out);
	for (i = 0; i < n; i++)
		html_put(out, "<td>%s</td>", report_hardware(&runs[i], "yes"));
	fputs("</tr>\n", out);
	for (i = 0; environment_fact(i); i++)
		put_fact_line(out, runs, n, environment_fact(i));
	for (i = 0; i < n; i++)
		for (j = 0; j < runs[i].rest.count && lines < MOST_LINES; j++) {
			const struct cell *cell = &runs[i].rest.cell[j];

			if (cell_is_emulated(cell) || cell->key->c.phase > TS_RETOUCH)
				continue;
			for (k = 0; k < i && !same_cell(&runs[k], cell);)
				k++;
			if (k < i)
				continue;
			put_f_line(out, runs, n, cell);
			lines++;
		}
	for (i = 0; i < n; i++)
		put_reach_lines(out, runs, n, i);
	fputs("</tbody></table></div>\n", out);
}
