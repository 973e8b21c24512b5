// SPDX-License-Identifier: GPL-2.0
/* Pictures of counted events: without a flush, after a selective and after a full one, for each cell. */
#include "event_table.h"
#include "figures.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One cell in the columns of fracture.gp; ranges are the medians themselves. */
static void write_cell(FILE *out, const struct cell *cell, const double *bar, double f)
{
	const struct ts_case *c = &cell->key->c;
	const char *reason = strrchr(cell->valid, '+');
	char host[32];
	size_t i;

	reason = reason ? reason + 1 : cell->valid;
	fprintf(out, "\"guest %s%s\\nhost %s\\n%llu %s\"", ts_page_names[c->guest],
		c->global ? " global" : c->pcid ? " pcid" : "", row_host_text(host, sizeof(host), cell->key),
		c->touches == c->leaves ? c->leaves : c->touches,
		c->touches == c->leaves ? "leaves" : "touches");
	for (i = 0; i < 3; i++)
		fprintf(out, " %.4f %.4f %.4f \"%.2f\"", bar[i], bar[i], bar[i], bar[i]);
	if (isnan(f))
		fprintf(out, " \"no F: %s\"", strcmp(reason, "ok") ? reason : "no contrast");
	else
		fprintf(out, " \"F = %.2f%s%s\"", fabs(f) < 0.005 ? 0 : f, strcmp(reason, "ok") ? ", not valid: " : "",
			strcmp(reason, "ok") ? reason : "");
	fprintf(out, " %d\n", !strcmp(cell->valid, "ok"));
}

/* All cells that have the three parts; what they are in words is added to *text. Returns how many, *invalid of them. */
static size_t write_cells(FILE *out, const struct figures_from *from, const char *event, u64 phase, char **text,
			  size_t *invalid)
{
	size_t i, n = 0;

	for (i = 0; i < from->cells->count; i++) {
		const struct cell *cell = &from->cells->cell[i];
		const double bar[] = { event_value(from->rows, cell->none, event),
				       event_value(from->rows, cell->selective, event),
				       event_value(from->rows, cell->full, event) };
		char *next;

		if (cell->key->c.phase != phase || cell->key->c.mix || isnan(bar[0]) || isnan(bar[1]) ||
		    isnan(bar[2]))
			continue;
		write_cell(out, cell, bar, event_f(from->rows, cell, event));
		next = xasprintf("%s Guest %s on host %s: nothing flushed %.2f, one flush %.2f, full flush %.2f.", *text,
				 ts_page_names[cell->key->c.guest], cell->key->host, bar[0], bar[1], bar[2]);
		free(*text);
		*text = next;
		*invalid += strcmp(cell->valid, "ok") != 0;
		n++;
	}
	return n;
}

static int draw_event(const struct figures_from *from, const char *event, struct figures *figures,
		      struct problem *p)
{
	u64 phase = event_phase(from->rows, from->cells, event);
	struct drawing drawing = { .script = "fracture", .unit = "counts in an iteration" };
	char *name = xasprintf("event-%s", event), *base, *path;
	FILE *out = figure_data(from, figures, name, &base, p);
	size_t n, invalid = 0;

	free(name);
	if (!out) {
		free(base);
		return -EINVAL;
	}
	drawing.text = xasprintf("%s in one iteration.", event);
	n = write_cells(out, from, event, phase, &drawing.text, &invalid);
	fclose(out);
	if (n) {
		char *samples = figure_samples(from->cells, phase);

		drawing.note = xasprintf("%s; %s%s", event, samples, invalid ? "; hatched: not valid" : "");
		drawing.title = xasprintf("Event %s", event);
		free(samples);
		return figure_draw(from, figures, base, &drawing);
	}
	path = xasprintf("%s.dat", base);
	unlink(path);
	free(path);
	free(base);
	free(drawing.text);
	return 0;
}

int figure_events(const struct figures_from *from, struct figures *figures, struct problem *p)
{
	int result = 0;
	size_t i;

	for (i = 0; i < from->rows->extras && !result; i++)
		if (event_column(from->rows, i))
			result = draw_event(from, from->rows->extra_names[i], figures, p);
	return result;
}
