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
	size_t left_out;       /* lines that could not be read; only of csv_table_read_good() */
	char *left_out_why;    /* what was wrong with the first of them */
};

/* Reads it; a problem names file and line. */
int csv_table_read(const char *path, struct csv_table *table, struct problem *problem);
/* The same, but bad lines behind the header are left out and counted. */
int csv_table_read_good(const char *path, struct csv_table *table, struct problem *problem);
/* Counts one more such line, of which `text` says what is wrong. */
void csv_table_leave_out(struct csv_table *table, const char *text);
void csv_table_free(struct csv_table *table);

/* Index of a column, or columns if there is none. */
size_t csv_table_column(const struct csv_table *table, const char *name);

#endif
