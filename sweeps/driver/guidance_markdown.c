// SPDX-License-Identifier: GPL-2.0
/* guidance.md: the points of guidance.c in Markdown. All that comes from rows.csv and run.json goes through put_markdown(). */
#include "report.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

/* A text from a file in Markdown: what would be markup there gets a backslash; no line feeds. */
static void put_markdown(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\*_[]<>#|&", *text))
			putc('\\', out);
		putc((unsigned char)*text < ' ' ? ' ' : *text, out);
	}
}

static int ends_in_stop(const char *text)
{
	return *text && text[strlen(text) - 1] == '.';
}

static void put_point(FILE *out, const struct guidance_point *point)
{
	fprintf(out, "### %s\n\n", point->topic);
	put_markdown(out, point->advice);
	fputs("\n\nEvidence: ", out);
	put_markdown(out, point->evidence);
	fputs(ends_in_stop(point->evidence) ? "\n\n" : ".\n\n", out);
	if (point->snippet)
		fprintf(out, "```\n%s```\n\n", point->snippet);
}

/* What each run of the machine answers. */
static void put_answers(FILE *out, const struct report_run *machine, const struct report_run *runs, size_t n)
{
	char *first, *second;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!guidance_same_machine(machine, &runs[i]))
			continue;
		report_answer(&runs[i], &first, &second);
		fputs("Run ", out);
		put_markdown(out, runs[i].label);
		fputs(": ", out);
		put_markdown(out, first);
		fputs(" ", out);
		put_markdown(out, second);
		fputs("\n\n", out);
		free(first);
		free(second);
	}
}

void guidance_markdown(FILE *out, const struct report_run *runs, size_t n,
		       const struct report_options *options)
{
	struct guidance *list;
	size_t i, j, machines = guidance_build(runs, n, options, &list);

	fputs("# What to set\n\n", out);
	for (i = 0; i < machines; i++) {
		const struct report_run *run = list[i].run;

		fputs("## ", out);
		put_markdown(out, run->rows.count ? run->rows.row[0].cpu : run->label);
		fputs("\n\n", out);
		put_answers(out, run, runs, n);
		if (*run->stamp)
			fprintf(out, "**Not hardware: %s.**\n\n", run->stamp);
		if (guidance_is_idle(&list[i]))
			fprintf(out, "%s\n\n", guidance_idle);
		for (j = 0; j < GUIDANCE_POINTS && !guidance_is_idle(&list[i]); j++)
			put_point(out, &list[i].point[j]);
	}
	fprintf(out, "Made by tlbscope %s; the evidence is in report.html and rows.csv.\n", TS_VERSION);
	guidance_free(list, machines);
}
