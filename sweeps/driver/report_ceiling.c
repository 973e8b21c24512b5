// SPDX-License-Identifier: GPL-2.0
/* The break-even in report.html. Words and numbers are those of `tlbscope ceiling`, in the style of the page. */
#include "ceiling_style.h"
#include "report.h"
#include "report_html.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>

static void put_heading(FILE *out, const char *text)
{
	html_put(out, "<h4>%s</h4>\n", text);
}

static void put_paragraph(FILE *out, const char *text)
{
	html_put(out, "<p>%s</p>\n", text);
}

static void put_note(FILE *out, const char *text)
{
	html_put(out, "<p class=\"note\">%s</p>\n", text);
}

static void put_table(FILE *out, const struct ceiling_grid *grid)
{
	size_t i;

	html_put(out, "<div class=\"wide\"><table>\n<caption><span>%s</span></caption>\n<thead><tr>", grid->caption);
	for (i = 0; i < grid->columns; i++)
		html_put(out, grid->width[i] < 0 ? "<th scope=\"col\">%s</th>" : "<th scope=\"col\" class=\"n\">%s</th>",
			 grid->head[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (i = 0; i < grid->rows * grid->columns; i++) {
		size_t column = i % grid->columns;

		html_put(out, column ? "" : "<tr>");
		html_put(out, grid->width[column] < 0 ? "<td>%s</td>" : "<td class=\"n\">%s</td>", grid->text[i]);
		html_put(out, column + 1 < grid->columns ? "" : "</tr>\n");
	}
	fputs("</tbody></table></div>\n", out);
}

static void put_list(FILE *out, const char *const *items)
{
	fputs("<ul>\n", out);
	for (; *items; items++)
		html_put(out, "<li>%s</li>\n", *items);
	fputs("</ul>\n", out);
}

static void put_code(FILE *out, const char *text)
{
	html_put(out, "<pre>%s</pre>\n", text);
}

static void put_gap(FILE *out)
{
	(void)out; /* the style sheet has them */
}

static const struct ceiling_style page = {
	.heading = put_heading,
	.paragraph = put_paragraph,
	.note = put_note,
	.table = put_table,
	.list = put_list,
	.code = put_code,
	.gap = put_gap,
};

void report_ceiling(FILE *out, const struct report_run *run)
{
	const struct ceiling_context context = { .name = run->label, .tsc_hz = NAN };
	const struct ceiling *c = &run->ceiling;

	if (c->refusal)
		html_put(out, "<p>No break-even: %s%s%s.</p>\n", c->refusal, c->remedy ? "; " : "", c->remedy ?: "");
	ceiling_say(out, &page, c, &context);
}

/* Does a full flush cost more than none by more than noise? A word for the table; empty when it cannot be told. */
static const char *contrast(const struct ceiling_cell *cell)
{
	double error = statistics_line_error(&cell->fit.level, 0);

	return !cell->fit.level.freedom || isnan(cell->baseline) ? "" :
	       ceiling_full(cell) > CEILING_CONTRAST * error ? "passed" : "failed";
}

void report_ceiling_controls(FILE *out, const struct report_run *run)
{
	static const char *const head[] = { "host", "page", "lines", "without a flush", "full flush", "costs more by",
					    "more than noise" };
	static const int width[] = { -1, -1, 1, 1, -1, 1, -1 };
	struct ceiling_grid grid = { "Controls of the break-even: TSC cycles of an iteration without a flush, and what one full "
				     "flush adds", TS_COUNT(head), 0, head, width, NULL };
	size_t i;

	if (run->ceiling.refusal)
		return;
	grid.text = xcalloc(run->ceiling.count * grid.columns, CEILING_TEXT);
	for (i = 0; i < run->ceiling.count; i++) {
		const struct ceiling_cell *cell = &run->ceiling.cell[i];
		char (*text)[CEILING_TEXT] = grid.text + grid.rows * grid.columns;

		if (!cell->flat || cell->outcome == CEILING_NOT_TOLD)
			continue; /* of a call every row has its twin as control */
		row_host_text(text[0], CEILING_TEXT, cell->key);
		snprintf(text[1], CEILING_TEXT, "%s", ceiling_page_name(cell));
		snprintf(text[2], CEILING_TEXT, "%.0f", cell->lines);
		if (!isnan(cell->baseline))
			snprintf(text[3], CEILING_TEXT, "%.0f", cell->baseline);
		snprintf(text[4], CEILING_TEXT, "%s", ts_ops[cell->pair->full].name);
		snprintf(text[5], CEILING_TEXT, "%.0f", ceiling_full(cell));
		snprintf(text[6], CEILING_TEXT, "%s", contrast(cell));
		grid.rows++;
	}
	if (grid.rows)
		put_table(out, &grid);
	free(grid.text);
}
