// SPDX-License-Identifier: GPL-2.0
/* The break-even as text: the style of a terminal, and what is told there only. */
#include "ceiling_style.h"

#include "util.h"

#include <string.h>

static void put_heading(FILE *out, const char *text)
{
	fprintf(out, "\n%s\n\n", text);
}

static void put_gap(FILE *out)
{
	fputc('\n', out);
}

/* A line of a table, without blanks at its end. */
static void put_line(FILE *out, const struct ceiling_grid *grid, const char *field(const struct ceiling_grid *grid, size_t i),
		     size_t first)
{
	char line[256];
	size_t i, used = 0;

	line[0] = '\0';
	for (i = 0; i < grid->columns && used < sizeof(line); i++)
		used += snprintf(line + used, sizeof(line) - used, "%s%*s", i ? " " : "", grid->width[i],
				 field(grid, first + i));
	for (used = strlen(line); used && line[used - 1] == ' ';)
		line[--used] = '\0';
	fprintf(out, "%s\n", line);
}

static const char *head_field(const struct ceiling_grid *grid, size_t i)
{
	return grid->head[i];
}

static const char *text_field(const struct ceiling_grid *grid, size_t i)
{
	return grid->text[i];
}

static void put_table(FILE *out, const struct ceiling_grid *grid)
{
	size_t i;

	put_heading(out, grid->caption);
	put_line(out, grid, head_field, 0);
	for (i = 0; i < grid->rows; i++)
		put_line(out, grid, text_field, i * grid->columns);
}

static void put_list(FILE *out, const char *const *items)
{
	for (; *items; items++) {
		fputs("* ", out);
		print_hanging(out, 2, *items);
	}
}

/* Not broken: it is to be copied. */
static void put_code(FILE *out, const char *text)
{
	const char *end;

	fputc('\n', out);
	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		fprintf(out, "    %.*s\n", (int)(end - text), text);
	}
}

const struct ceiling_style ceiling_text = {
	.heading = put_heading,
	.paragraph = print_wrapped,
	.note = print_wrapped,
	.table = put_table,
	.list = put_list,
	.code = put_code,
	.gap = put_gap,
};

static void print_recording(FILE *out)
{
	fprintf(out, "\nTo record the kernel's own flushes (as root, on the machine that has the work):\n");
	put_code(out, "perf record -a -e tlb:tlb_flush -o flushes.data sleep 10\n"
		      "perf script -i flushes.data >flushes.txt\n"
		      "tlbscope ceiling --flushes flushes.txt RUN");
	put_gap(out);
	print_wrapped(out, "Flushes beyond the present ceiling are recorded without their size; to see up to 512 pages, set "
			   "it to 512 for those ten seconds. Without perf: see man tlbscope.");
}

void ceiling_print(FILE *out, const struct ceiling *c, const struct ceiling_context *context)
{
	if (c->refusal)
		fprintf(out, "%s: %s\n", context->name, c->refusal);
	else
		fprintf(out, "%s: target %s, %s\n", context->name, c->cell[0].key->target, c->cell[0].key->cpu);
	ceiling_say(out, &ceiling_text, c, context);
	if (!c->refusal && !context->flushes)
		print_recording(out);
}
