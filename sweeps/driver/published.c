// SPDX-License-Identifier: GPL-2.0
/* Published figures. */
#include "published.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_one(const char *name, struct csv_table *table, struct problem *p)
{
	char *path = data_path(name);
	int result = csv_table_read(path, table, p);

	free(path);
	return result;
}

int published_read(struct published *published, struct problem *p)
{
	int result = read_one("published/dtlb-misses-2016.csv", &published->misses, p);

	if (result)
		return result;
	result = read_one("published/cycles-2016.csv", &published->cycles, p);
	if (result)
		csv_table_free(&published->misses);
	return result;
}

void published_free(struct published *published)
{
	csv_table_free(&published->misses);
	csv_table_free(&published->cycles);
}

const char *published_text(const struct csv_table *table, size_t line, const char *column)
{
	size_t i = csv_table_column(table, column);

	return i < table->columns ? table->line[line][i] : "";
}

double published_number(const struct csv_table *table, size_t line, const char *column)
{
	const char *text = published_text(table, line, column);
	char *end;
	double number = strtod(text, &end);

	return end == text || *end ? NAN : number;
}

const struct cell *published_like(const struct csv_table *misses, size_t line, const struct cells *cells)
{
	const char *host = published_text(misses, line, "host"), *guest = published_text(misses, line, "guest");
	size_t i;

	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];
		const struct ts_case *c = &cell->key->c;

		if (c->phase == TS_REFILL && cell->none && cell->selective && cell->full && !c->mix && !c->global &&
		    !c->pcid && !c->code && !strcmp(cell->key->host, host) &&
		    !strcmp(ts_page_names[c->guest], guest) &&
		    c->touches == published_number(misses, line, "touches"))
			return cell;
	}
	return NULL;
}
