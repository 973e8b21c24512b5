// SPDX-License-Identifier: GPL-2.0
/* CSV files by libcsv. */
#include "csv_table.h"

#include "util.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct csv_table *table;
	struct problem *problem;
	int failed;
	size_t number; /* of the line being read */
	size_t feeds;  /* line feeds inside its fields */
	char **field;
	size_t fields;
};

static void fail(struct reader *reader, const char *what)
{
	if (!reader->failed)
		problem(reader->problem, EXIT_INPUT, "%s:%zu: %s; mend or remove the line",
			reader->table->path, reader->number, what);
	reader->failed = 1;
}

static void on_field(void *bytes, size_t length, void *context)
{
	struct reader *reader = context;
	char *text = xcalloc(1, length + 1);
	size_t i;

	memcpy(text, bytes, length);
	for (i = 0; i < length; i++)
		reader->feeds += text[i] == '\n';
	if (strlen(text) != length)
		fail(reader, "a NUL byte in a field");
	reader->field = xrealloc(reader->field, (reader->fields + 1) * sizeof(char *));
	reader->field[reader->fields++] = text;
}

static void drop_fields(char **field, size_t n)
{
	while (field && n)
		free(field[--n]);
	free(field);
}

static void on_line(int terminator, void *context)
{
	struct reader *reader = context;
	struct csv_table *table = reader->table;

	(void)terminator;
	if (!reader->failed && table->header && reader->fields != table->columns)
		fail(reader, "another number of fields than the header has");
	if (reader->failed) {
		drop_fields(reader->field, reader->fields);
	} else if (!table->header) {
		table->header = reader->field;
		table->columns = reader->fields;
	} else {
		table->line = xrealloc(table->line, (table->lines + 1) * sizeof(char **));
		table->number = xrealloc(table->number, (table->lines + 1) * sizeof(size_t));
		table->number[table->lines] = reader->number;
		table->line[table->lines++] = reader->field;
	}
	reader->field = NULL;
	reader->fields = 0;
	reader->number += 1 + reader->feeds;
	reader->feeds = 0;
}

/* Whole file in memory; finished_size and unfinished are set. */
static char *read_bytes(struct csv_table *table, struct problem *p)
{
	FILE *file = fopen(table->path, "rbe");
	char *bytes = NULL;
	size_t size = 0, n;

	if (!file) {
		problem(p, EXIT_INPUT, "%s: %s; name a run directory or its rows.csv", table->path,
			strerror(errno));
		return NULL;
	}
	do {
		bytes = xrealloc(bytes, size + 65536);
		n = fread(bytes + size, 1, 65536, file);
		size += n;
	} while (n);
	if (ferror(file)) {
		problem(p, EXIT_INPUT, "%s: %s", table->path, strerror(errno));
		free(bytes);
		bytes = NULL;
	}
	fclose(file);
	table->finished_size = size;
	while (bytes && table->finished_size && bytes[table->finished_size - 1] != '\n')
		table->finished_size--;
	table->unfinished = (size_t)table->finished_size != size;
	return bytes;
}

int csv_table_read(const char *path, struct csv_table *table, struct problem *p)
{
	struct reader reader = { .table = table, .problem = p, .number = 1 };
	struct csv_parser parser;
	char *bytes;

	memset(table, 0, sizeof(*table));
	table->path = xstrdup(path);
	bytes = read_bytes(table, p);
	if (!bytes || csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI)) {
		free(bytes);
		csv_table_free(table);
		return -EINVAL;
	}
	if (csv_parse(&parser, bytes, table->finished_size, on_field, on_line, &reader) !=
		    (size_t)table->finished_size ||
	    csv_fini(&parser, on_field, on_line, &reader))
		fail(&reader, "quotes that do not fit together");
	if (!table->header)
		fail(&reader, "no header line");
	csv_free(&parser);
	drop_fields(reader.field, reader.fields);
	free(bytes);
	if (reader.failed)
		csv_table_free(table);
	return reader.failed ? -EINVAL : 0;
}

void csv_table_free(struct csv_table *table)
{
	while (table->lines)
		drop_fields(table->line[--table->lines], table->columns);
	drop_fields(table->header, table->columns);
	free(table->line);
	free(table->number);
	free(table->path);
	memset(table, 0, sizeof(*table));
}

size_t csv_table_column(const struct csv_table *table, const char *name)
{
	size_t i;

	for (i = 0; i < table->columns; i++)
		if (!strcmp(table->header[i], name))
			break;
	return i;
}
