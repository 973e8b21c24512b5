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
	int ended;     /* the line was ended, if not by a failure */
	size_t number; /* of the line being read */
	size_t feeds;  /* line feeds inside its fields */
	char *text;    /* its fields, each with a NUL behind it */
	size_t length, capacity;
	size_t fields;
};

void csv_table_leave_out(struct csv_table *table, const char *text)
{
	if (!table->left_out++)
		table->left_out_why = xstrdup(text);
}

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
	char *text;
	size_t i;

	if (reader->length + length + 1 > reader->capacity) {
		reader->capacity = 2 * (reader->length + length + 1);
		reader->text = xrealloc(reader->text, reader->capacity);
	}
	text = reader->text + reader->length;
	if (length)
		memcpy(text, bytes, length);
	text[length] = '\0';
	for (i = 0; i < length; i++)
		reader->feeds += text[i] == '\n';
	if (strlen(text) != length)
		fail(reader, "a NUL byte in a field");
	reader->length += length + 1;
	reader->fields++;
}

/* The fields of the line as one block: pointers, then texts. */
static char **take_fields(const struct reader *reader)
{
	char **field = xcalloc(1, reader->fields * sizeof(char *) + reader->length);
	char *text = (char *)(field + reader->fields);
	size_t i;

	memcpy(text, reader->text, reader->length);
	for (i = 0; i < reader->fields; i++) {
		field[i] = text;
		text += strlen(text) + 1;
	}
	return field;
}

static void on_line(int terminator, void *context)
{
	struct reader *reader = context;
	struct csv_table *table = reader->table;

	(void)terminator;
	reader->ended = 1;
	if (!reader->failed && table->header && reader->fields != table->columns)
		fail(reader, "another number of fields than the header has");
	if (!reader->failed && !table->header) {
		table->header = take_fields(reader);
		table->columns = reader->fields;
	} else if (!reader->failed) {
		if (!(table->lines & (table->lines - 1))) { /* full: its room is a power of two */
			size_t room = table->lines ? 2 * table->lines : 1;

			table->line = xrealloc(table->line, room * sizeof(char **));
			table->number = xrealloc(table->number, room * sizeof(size_t));
		}
		table->number[table->lines] = reader->number;
		table->line[table->lines++] = take_fields(reader);
	}
	reader->length = reader->fields = 0;
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

static const char *const bad_quotes = "quotes that do not fit together";

/* All lines at once; the first bad one ends it. */
static void read_lines(struct reader *reader, const char *bytes, size_t size)
{
	struct csv_parser parser;

	if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI)) {
		fail(reader, "out of memory");
		return;
	}
	if (csv_parse(&parser, bytes, size, on_field, on_line, reader) != size ||
	    csv_fini(&parser, on_field, on_line, reader))
		fail(reader, bad_quotes);
	csv_free(&parser);
}

/*
 * One line, which may be several in the file when fields hold line feeds; returns its size. What begins with a
 * quote that nothing closes ends with its own first line feed.
 */
static size_t read_one_line(struct reader *reader, const char *bytes, size_t size)
{
	const char *first = memchr(bytes, '\n', size), *end;
	size_t number = reader->number, done = 0, n;
	struct csv_parser parser;

	reader->ended = reader->failed = 0;
	if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI)) {
		fail(reader, "out of memory");
		return size;
	}
	while (done < size && !reader->ended && !reader->failed) {
		end = memchr(bytes + done, '\n', size - done);
		n = end ? (size_t)(end - bytes) + 1 - done : size - done;
		if (csv_parse(&parser, bytes + done, n, on_field, on_line, reader) != n)
			fail(reader, bad_quotes);
		done += n;
	}
	if (!reader->ended && !reader->failed && csv_fini(&parser, on_field, on_line, reader))
		fail(reader, bad_quotes);
	csv_free(&parser);
	if (!reader->failed)
		return done;
	reader->number = number + 1;
	reader->feeds = 0;
	return first ? (size_t)(first - bytes) + 1 : size;
}

static void read_good_lines(struct reader *reader, const char *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		done += read_one_line(reader, bytes + done, size - done);
		if (reader->failed && !reader->table->header)
			return;
		if (reader->failed)
			csv_table_leave_out(reader->table, reader->problem->text);
		reader->failed = 0;
		reader->length = reader->fields = 0;
	}
}

/* Spreadsheets put a byte order mark before UTF-8; it is no part of the first name. */
static size_t mark_size(const char *bytes, size_t size)
{
	static const char mark[] = "\xef\xbb\xbf";

	return size >= strlen(mark) && !memcmp(bytes, mark, strlen(mark)) ? strlen(mark) : 0;
}

static int read_table(const char *path, struct csv_table *table, int skips, struct problem *p)
{
	struct reader reader = { .table = table, .problem = p, .number = 1 };
	size_t skip;
	char *bytes;

	memset(table, 0, sizeof(*table));
	table->path = xstrdup(path);
	bytes = read_bytes(table, p);
	if (!bytes) {
		csv_table_free(table);
		return -EINVAL;
	}
	skip = mark_size(bytes, table->finished_size);
	if (skips)
		read_good_lines(&reader, bytes + skip, table->finished_size - skip);
	else
		read_lines(&reader, bytes + skip, table->finished_size - skip);
	if (!table->header)
		fail(&reader, "no header line");
	free(reader.text);
	free(bytes);
	if (reader.failed)
		csv_table_free(table);
	return reader.failed ? -EINVAL : 0;
}

int csv_table_read(const char *path, struct csv_table *table, struct problem *p)
{
	return read_table(path, table, 0, p);
}

int csv_table_read_good(const char *path, struct csv_table *table, struct problem *p)
{
	return read_table(path, table, 1, p);
}

void csv_table_free(struct csv_table *table)
{
	while (table->lines)
		free(table->line[--table->lines]);
	free(table->header);
	free(table->line);
	free(table->number);
	free(table->path);
	free(table->left_out_why);
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
