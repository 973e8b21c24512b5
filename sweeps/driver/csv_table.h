/* SPDX-License-Identifier: GPL-2.0 */
/* A CSV file as a table of texts (libcsv, strict): every line has as many fields as the first. */
#ifndef TS_CSV_TABLE_H
#define TS_CSV_TABLE_H

#include "problem.h"

#include <stddef.h>

struct csv_table {
	char *path;
	size_t columns, lines; /* lines: those behind the header */
	char **header;	       /* columns texts */
	char ***line;	       /* lines * columns texts */
	size_t *number;	       /* of each line in the file, from 1 (fields may hold line feeds) */
	long long finished_size; /* bytes up to the end of the last whole line */
	int unfinished;	       /* bytes behind it were left out (a writer was killed) */
};

/* Reads it; a problem names file and line. */
int csv_table_read(const char *path, struct csv_table *table, struct problem *problem);
void csv_table_free(struct csv_table *table);

/* Index of a column, or columns if there is none. */
size_t csv_table_column(const struct csv_table *table, const char *name);

#endif
