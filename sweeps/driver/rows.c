// SPDX-License-Identifier: GPL-2.0
/*
 * rows.csv. One table of columns says for each how it is printed and how it is read back; the reader looks
 * columns up by name, so that files of other versions and other tools can be read.
 */
#include "row.h"

#include "judge.h"
#include "record.h"
#include "row_check.h"
#include "util.h"

#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum column_id {
	COL_RUN, COL_TARGET, COL_ACCEL, COL_CPU, COL_GUEST, COL_HOST, COL_HOST_HOW, COL_OP, COL_CLASS,
	COL_AT, COL_COUNT, COL_GLOBAL, COL_PCID, COL_LEAVES, COL_TOUCHES, COL_STRIDE, COL_OFFSET,
	COL_FRAMES, COL_MIX, COL_ORDER, COL_ACCESS, COL_PHASE, COL_REPEAT, COL_SEQUENCE,
	COL_ITERATIONS, COL_SEED, COL_CYCLES, COL_REFILLS, COL_OFF_MEDIAN, COL_EXITS, COL_MUST,
	COL_MIX_REFILLS, COL_MIX_MUST, COL_OP_VA, COL_TWIN, COL_CODE, COL_FIXED, COL_VALID = COL_FIXED
};

/* Names in file order; the extra columns stand between twin and valid. */
static const char *const column_names[COL_FIXED + 1] = {
	"run", "target", "accel", "cpu", "guest", "host", "host_how", "op", "class", "at", "count",
	"global", "pcid", "leaves", "touches", "stride", "offset", "frames", "mix", "order", "access",
	"phase", "repeat", "sequence", "iterations", "seed", "cycles", "refills", "off_median",
	"exits", "must", "mix_refills", "mix_must", "op_va", "twin", "code", "valid",
};

/* ---- reasons ---- */

int row_has_reason(const struct row *row, const char *reason)
{
	size_t length = strlen(reason);
	const char *at;

	for (at = row->valid; at; at = strchr(at, '+') ? strchr(at, '+') + 1 : NULL)
		if (!strncmp(at, reason, length) && (at[length] == '+' || !at[length]))
			return 1;
	return 0;
}

int row_is_valid(const struct row *row)
{
	return !strcmp(row->valid, "ok");
}

void row_reason(struct row *row, const char *reason)
{
	size_t length = strlen(row->valid);

	if (row_has_reason(row, reason))
		return;
	if (!length || row_is_valid(row))
		snprintf(row->valid, sizeof(row->valid), "%s", reason);
	else
		snprintf(row->valid + length, sizeof(row->valid) - length, "+%s", reason);
}

const char *row_host_text(char *text, size_t size, const struct row *row)
{
	int seen = !*row->host_how || !strcmp(row->host_how, "verified");

	snprintf(text, size, "%s%s", row->host, seen ? "" : "?");
	return text;
}

/* ---- writing ---- */

struct rows_file {
	char *path;
	int fd;
	off_t size; /* of the file, as far as this program knows */
	size_t extras;
	char *line;
	size_t length, capacity;
};

static void put_bytes(struct rows_file *file, const char *bytes, size_t n)
{
	if (file->length + n > file->capacity) {
		file->capacity = 2 * (file->length + n);
		file->line = xrealloc(file->line, file->capacity);
	}
	memcpy(file->line + file->length, bytes, n);
	file->length += n;
}

/* Appends one field; quoted only when it has to be, so that the file stays readable. */
static void put_field(struct rows_file *file, const char *text)
{
	size_t length = strlen(text), size = 2 * length + 2;
	char *quoted;

	if (file->length)
		put_bytes(file, ",", 1);
	if (!text[strcspn(text, ",\"\r\n")]) {
		put_bytes(file, text, length);
		return;
	}
	quoted = xcalloc(1, size);
	put_bytes(file, quoted, csv_write(quoted, size, text, length));
	free(quoted);
}

static void put_number(struct rows_file *file, int has, u64 number)
{
	char text[32] = "";

	if (has)
		snprintf(text, sizeof(text), "%llu", number);
	put_field(file, text);
}

static void put_key(struct rows_file *file, const struct row *row, u32 key)
{
	char text[64];
	struct ts_text out;

	ts_text_init(&out, text, sizeof(text));
	ts_value_print(&out, key, ts_value(&row->c, key));
	put_field(file, text);
}

static void put_column(struct rows_file *file, const struct row *row, u32 column)
{
	char text[32] = "";
	u32 key = ts_key_find(column_names[column], strlen(column_names[column]));

	if (key < TS_KEYS) {
		put_key(file, row, key);
		return;
	}
	switch (column) {
	case COL_RUN: put_field(file, row->run); break;
	case COL_TARGET: put_field(file, row->target); break;
	case COL_ACCEL: put_field(file, row->accel); break;
	case COL_CPU: put_field(file, row->cpu); break;
	case COL_HOST: put_field(file, row->host); break;
	case COL_HOST_HOW: put_field(file, row->host_how); break;
	case COL_CLASS: put_field(file, ts_class_names[row->class]); break;
	case COL_SEQUENCE: put_number(file, 1, row->sequence); break;
	case COL_CYCLES: put_number(file, row->r.has_cycles, row->r.cycles); break;
	case COL_REFILLS: put_number(file, row->r.has_refills, row->r.refills); break;
	case COL_OFF_MEDIAN: put_number(file, row->r.has_refills, row->r.off_median); break;
	case COL_EXITS: put_number(file, row->has_exits, row->exits); break;
	case COL_MUST: put_number(file, 1, ts_must(&row->c, 0)); break;
	case COL_MIX_REFILLS: put_number(file, row->r.has_mix, row->r.mix_refills); break;
	case COL_MIX_MUST: put_number(file, row->c.mix != 0, ts_must(&row->c, 1)); break;
	case COL_OP_VA:
		if (row->op_va)
			snprintf(text, sizeof(text), "0x%llx", row->op_va);
		put_field(file, text);
		break;
	case COL_TWIN:
		put_field(file, row->r.twin ? ts_twin_names[row->r.twin] : "");
		break;
	}
}

/* One write(2) for the whole line: a program that is killed leaves it whole or not at all. */
static int flush_line(struct rows_file *file, struct problem *p)
{
	ssize_t n;

	put_bytes(file, "\r\n", 2);
	n = write(file->fd, file->line, file->length);
	if (n != (ssize_t)file->length) {
		file->length = 0;
		return problem(p, EXIT_FAILED, "%s: cannot write: %s; free some space, then --resume",
			       file->path, n < 0 ? strerror(errno) : "disk full");
	}
	file->size += n;
	file->length = 0;
	return 0;
}

int rows_check(const struct rows_file *file, struct problem *p)
{
	struct stat mine, named;

	if (!fstat(file->fd, &mine) && !stat(file->path, &named) && mine.st_dev == named.st_dev &&
	    mine.st_ino == named.st_ino && named.st_size == file->size)
		return 0;
	return problem(p, EXIT_FAILED, "%s: someone else removed, replaced or changed it during the run: rows that were "
		       "measured are not in it; mend it and --resume, or start a new run", file->path);
}

int rows_append(struct rows_file *file, const struct row *row, struct problem *p)
{
	u32 column;
	size_t i;

	for (column = 0; column < COL_FIXED; column++)
		put_column(file, row, column);
	for (i = 0; i < file->extras; i++)
		put_field(file, row->extra && row->extra[i] ? row->extra[i] : "");
	put_field(file, row->valid);
	return flush_line(file, p);
}

static int put_header(struct rows_file *file, const char *const *extra_names, struct problem *p)
{
	u32 column;
	size_t i;

	for (column = 0; column < COL_FIXED; column++)
		put_field(file, column_names[column]);
	for (i = 0; i < file->extras; i++)
		put_field(file, extra_names[i]);
	put_field(file, column_names[COL_VALID]);
	return flush_line(file, p);
}

static struct rows_file *new_file(const char *path, int fd, size_t extras, off_t size)
{
	struct rows_file *file = xcalloc(1, sizeof(*file));

	file->size = size;
	file->path = xstrdup(path);
	file->fd = fd;
	file->extras = extras;
	return file;
}

struct rows_file *rows_create(const char *path, const char *const *extra_names, size_t extras,
			      struct problem *p)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	struct rows_file *file;

	if (fd < 0) {
		problem(p, EXIT_INPUT, "%s: cannot create: %s; name another directory with --out",
			path, strerror(errno));
		return NULL;
	}
	flock(fd, LOCK_EX | LOCK_NB); /* nobody else can have it: it is new */
	file = new_file(path, fd, extras, 0);
	if (put_header(file, extra_names, p)) {
		rows_close(file);
		return NULL;
	}
	return file;
}

int rows_lock(const char *path, struct problem *p)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0) {
		problem(p, EXIT_INPUT, "%s: cannot be continued: %s", path, strerror(errno));
	} else if (flock(fd, LOCK_EX | LOCK_NB)) {
		problem(p, EXIT_INPUT, "%s: another tlbscope is measuring this run; wait until it has ended",
			path);
		close(fd);
		fd = -1;
	}
	return fd;
}

struct rows_file *rows_continue(const struct rows *rows, int fd, const char *const *extra_names,
				size_t extras, struct problem *p)
{
	int same = extras == rows->extras;
	size_t i;

	for (i = 0; same && i < extras; i++)
		same = !strcmp(extra_names[i], rows->extra_names[i]);
	if (!same)
		problem(p, EXIT_INPUT, "%s: has other columns than this run would write; start a new run "
			"instead of --resume", rows->table.path);
	else if (ftruncate(fd, rows->table.finished_size))
		problem(p, EXIT_FAILED, "%s: cannot be continued: %s", rows->table.path, strerror(errno));
	else
		return new_file(rows->table.path, fd, extras, rows->table.finished_size);
	close(fd);
	return NULL;
}

void rows_close(struct rows_file *file)
{
	if (!file)
		return;
	close(file->fd);
	free(file->path);
	free(file->line);
	free(file);
}

/* ---- reading ---- */

/* Reads one file; the first problem is kept. */
struct reader {
	struct rows *rows;
	struct problem *problem;
	int failed;
	size_t line; /* of the file, from 1 */
	const char *name; /* of the column being read, or 0 */
	u32 *column; /* of field i: enum column_id, or COL_VALID + 1 + index of an extra */
	u32 *key;    /* of field i: enum ts_key_id, or TS_KEYS */
	u8 *is_event; /* of each extra column: does it hold counts? */
};

#define QUOTED 60 /* so much of a bad text is told */

static void bad_row(struct reader *reader, const char *what, const char *word)
{
	char text[QUOTED + 4];
	size_t i, n = strlen(word);

	snprintf(text, sizeof(text), "%.*s%s", QUOTED, word, n > QUOTED ? "..." : "");
	for (i = 0; text[i]; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			text[i] = '?';
	if (!reader->failed)
		problem(reader->problem, EXIT_INPUT, "%s:%zu: %s%s%s%s \"%s\"; mend or remove the line",
			reader->rows->table.path, reader->line, reader->name ? "column " : "",
			reader->name ? reader->name : "", reader->name ? ": " : "", what, text);
	reader->failed = 1;
}

static u32 find_column(const char *name)
{
	u32 column;

	for (column = 0; column <= COL_VALID; column++)
		if (!strcmp(name, column_names[column]))
			break;
	return column;
}

int row_is_column(const char *name)
{
	return find_column(name) <= COL_VALID;
}

const char *row_column_name(size_t i)
{
	return i <= COL_VALID ? column_names[i] : NULL;
}

#define MOST_NAME 200 /* bytes of a column's name, which becomes part of the name of a picture */

static void read_header(struct reader *reader)
{
	const struct csv_table *table = &reader->rows->table;
	struct rows *rows = reader->rows;
	size_t i, known = 0;
	char *missing;

	reader->column = xcalloc(table->columns, sizeof(u32));
	reader->key = xcalloc(table->columns, sizeof(u32));
	rows->extra_names = xcalloc(table->columns, sizeof(char *));
	for (i = 0; i < table->columns; i++) {
		u32 column = find_column(table->header[i]);

		if (!record_is_plain(table->header[i]) || strlen(table->header[i]) > MOST_NAME)
			bad_row(reader, "no name of a column:", "?");

		known += column <= COL_VALID;
		if (column > COL_VALID) {
			rows->extra_names[rows->extras] = table->header[i];
			column = COL_VALID + 1 + rows->extras++;
		}
		reader->column[i] = column;
		reader->key[i] = column > COL_VALID ? TS_KEYS : ts_key_find(column_names[column], strlen(column_names[column]));
	}
	if (known < 3)
		bad_row(reader, "not the header of a rows.csv, it starts", table->header[0]);
	for (i = 0; i < table->columns; i++)
		if (csv_table_column(table, table->header[i]) != i)
			bad_row(reader, "a column that stands twice:", table->header[i]);
	missing = reader->failed ? NULL : row_check_header(table);
	if (missing) {
		problem(reader->problem, EXIT_INPUT, "%s:1: %s", table->path, missing);
		reader->failed = 1;
		free(missing);
	}
}

static void read_number(struct reader *reader, const char *text, u8 *has, u64 *value)
{
	if (!*text)
		return;
	if (row_plain_number(text, value))
		bad_row(reader, "not a plain number:", text);
	else if (has)
		*has = 1;
}

/* An address: the only number that is written with 0x. */
static void read_address(struct reader *reader, const char *text, u64 *value)
{
	if (*text && ts_number(text, strlen(text), value))
		bad_row(reader, "not a number:", text);
}

static int word_index(const char *const *words, const char *text)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	return -1;
}

static void read_word(struct reader *reader, const char *text, const char *const *words, u32 *value)
{
	int i = word_index(words, text);

	if (i >= 0)
		*value = i;
	else if (*text)
		bad_row(reader, "unknown word", text);
}

static void read_key(struct reader *reader, struct row *row, u32 key, const char *text)
{
	struct ts_error error;

	if (*text && ts_value_parse(key, text, strlen(text), ts_field(&row->c, key), &error))
		bad_row(reader, "not a value of it:", text);
}

static void read_column(struct reader *reader, struct row *row, u32 column, const char *text)
{
	u32 word = 0;

	switch (column) {
	case COL_RUN: row->run = text; break;
	case COL_TARGET: row->target = text; break;
	case COL_ACCEL: row->accel = text; break;
	case COL_CPU: row->cpu = text; break;
	case COL_HOST: row->host = text; break;
	case COL_HOST_HOW: row->host_how = text; break;
	case COL_CLASS:
		read_word(reader, text, ts_class_names, &word);
		row->class = word;
		break;
	case COL_SEQUENCE: read_number(reader, text, NULL, &row->sequence); break;
	case COL_CYCLES: read_number(reader, text, &row->r.has_cycles, &row->r.cycles); break;
	case COL_REFILLS: read_number(reader, text, &row->r.has_refills, &row->r.refills); break;
	case COL_OFF_MEDIAN: read_number(reader, text, NULL, &row->r.off_median); break;
	case COL_EXITS: read_number(reader, text, &row->has_exits, &row->exits); break;
	case COL_MIX_REFILLS: read_number(reader, text, &row->r.has_mix, &row->r.mix_refills); break;
	case COL_OP_VA: read_address(reader, text, &row->op_va); break;
	case COL_TWIN:
		read_word(reader, text, ts_twin_names, &word);
		row->r.twin = word;
		break;
	case COL_VALID:
		if (row_take_valid(row, text))
			bad_row(reader, "longer than any list of reasons:", text);
		break;
	}
}

/* Extra columns that are read as numbers later: what target user measures (judge.c, ceiling_points.c), and events. */
static void check_extra(struct reader *reader, u32 extra, const char *text)
{
	static const char *const numbers[] = { "f", "f_low", "f_high", "op_cycles", NULL };

	if (!*text || row_plain_decimal(text))
		return;
	if (reader->is_event[extra])
		bad_row(reader, "an event's, and no plain decimal number:", text);
	else if (word_index(numbers, reader->name) >= 0)
		bad_row(reader, "not a plain decimal number:", text);
}

/* Values that contradict each other; then the controls, which the numbers decide and not what the file says of them. */
static void check_row(struct reader *reader, char *const *field, struct row *row)
{
	const char *why;

	reader->name = row_check_values(row, &why);
	if (reader->name)
		bad_row(reader, why, field[csv_table_column(&reader->rows->table, reader->name)]);
	reader->name = NULL;
	judge_row(row);
}

static void read_row(struct reader *reader, char *const *field, struct row *row,
		     const char **extra)
{
	size_t i;

	row->run = row->target = row->accel = row->cpu = row->host = row->host_how = "";
	row->extra = extra;
	ts_case_init(&row->c);
	for (i = 0; i < reader->rows->table.columns; i++) {
		reader->name = reader->rows->table.header[i];
		if (!record_is_plain(field[i]))
			bad_row(reader, "not UTF-8, or control characters:", "?");
		if (!*field[i] && reader->column[i] < COL_VALID && row_is_essential(reader->name))
			bad_row(reader, "without a value a row has no meaning:", "");
		if (reader->key[i] < TS_KEYS) {
			read_key(reader, row, reader->key[i], field[i]);
		} else if (reader->column[i] <= COL_VALID) {
			read_column(reader, row, reader->column[i], field[i]);
		} else {
			u32 index = reader->column[i] - COL_VALID - 1;

			extra[index] = field[i];
			check_extra(reader, index, field[i]);
		}
	}
	if (!reader->failed)
		check_row(reader, field, row);
	reader->name = NULL;
}

/* ---- rows that stand twice ---- */

static u64 hash_text(u64 hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL; /* FNV-1a */
	return (hash ^ 0xff) * 0x100000001b3ULL;
}

/* Same place in the same run, or, where rows have no such number, the same in every field. */
static int is_same_row(const struct rows *rows, const struct row *a, char *const *fields_a,
		       const struct row *b, char *const *fields_b)
{
	size_t i;

	if (a->sequence || b->sequence)
		return a->sequence == b->sequence && !strcmp(a->run, b->run) &&
		       !strcmp(a->target, b->target);
	for (i = 0; i < rows->table.columns; i++)
		if (strcmp(fields_a[i], fields_b[i]))
			return 0;
	return 1;
}

static u64 hash_row(const struct rows *rows, const struct row *row, char *const *fields)
{
	u64 hash = hash_text(0xcbf29ce484222325ULL, row->run) ^ row->sequence * 0x9e3779b97f4a7c15ULL;
	size_t i;

	for (i = 0; !row->sequence && i < rows->table.columns; i++)
		hash = hash_text(hash, fields[i]);
	return hash ^ hash >> 29;
}

/* Rows seen so far, by hash; places hold the number of a row + 1. */
struct seen {
	size_t *place, mask;
};

/* Index + 1 of the same row before this one, or 0; this one is remembered then. line[]: of each row. */
static size_t find_same(struct seen *seen, const struct rows *rows, const size_t *line, size_t index)
{
	char **const *fields = rows->table.line;
	const struct row *row = &rows->row[index];
	size_t at = hash_row(rows, row, fields[line[index]]) & seen->mask;

	for (; seen->place[at]; at = (at + 1) & seen->mask) {
		size_t other = seen->place[at] - 1;

		if (is_same_row(rows, row, fields[line[index]], &rows->row[other], fields[line[other]]))
			return other + 1;
	}
	seen->place[at] = index + 1;
	return 0;
}

static void find_events(struct reader *reader)
{
	const struct csv_table *table = &reader->rows->table;
	size_t i, j;

	reader->is_event = xcalloc(table->columns, sizeof(u8));
	for (i = 0; i < table->columns; i++) {
		u32 extra = reader->column[i] - COL_VALID - 1;

		if (reader->column[i] <= COL_VALID || !row_names_event(table->header[i]))
			continue;
		for (j = 0; j < table->lines && !reader->is_event[extra]; j++)
			reader->is_event[extra] = row_begins_number(table->line[j][i]);
	}
}

/* Reads all lines of the table; bad ones end it, or are left out when only_good. */
static void read_rows(struct reader *reader, int only_good)
{
	struct rows *rows = reader->rows;
	size_t *line = xcalloc(rows->table.lines, sizeof(*line)), i, same;
	struct seen seen = { NULL, 1 };
	char number[32];

	while (seen.mask <= 2 * rows->table.lines)
		seen.mask = 2 * seen.mask + 1;
	seen.place = xcalloc(seen.mask + 1, sizeof(size_t));
	for (i = 0; i < rows->table.lines && !reader->failed; i++) {
		struct row *row = &rows->row[rows->count];

		memset(row, 0, sizeof(*row));
		line[rows->count] = i;
		reader->line = rows->table.number[i];
		read_row(reader, rows->table.line[i], row, rows->extra_texts + i * rows->extras);
		same = reader->failed ? 0 : find_same(&seen, rows, line, rows->count);
		if (same) {
			snprintf(number, sizeof(number), "%zu", rows->table.number[line[same - 1]]);
			bad_row(reader, "the same row as in line", number);
		}
		if (!reader->failed) {
			rows->count++;
		} else if (only_good) {
			csv_table_leave_out(&rows->table, reader->problem->text);
			reader->failed = 0;
			reader->name = NULL;
		}
	}
	free(seen.place);
	free(line);
}

int rows_read_good(const char *path, int only_good, struct rows *rows, struct problem *p)
{
	struct reader reader = { .rows = rows, .problem = p, .line = 1 };

	memset(rows, 0, sizeof(*rows));
	if (only_good ? csv_table_read_good(path, &rows->table, p) : csv_table_read(path, &rows->table, p))
		return -EINVAL;
	read_header(&reader);
	find_events(&reader);
	rows->row = xcalloc(rows->table.lines, sizeof(*rows->row));
	rows->extra_texts = xcalloc(rows->table.lines * rows->extras, sizeof(char *));
	read_rows(&reader, only_good);
	free(reader.column);
	free(reader.key);
	free(reader.is_event);
	if (reader.failed)
		rows_free(rows);
	return reader.failed ? -EINVAL : 0;
}

int rows_read(const char *path, struct rows *rows, struct problem *p)
{
	return rows_read_good(path, 0, rows, p);
}

void rows_free(struct rows *rows)
{
	free(rows->extra_names);
	free(rows->extra_texts);
	free(rows->row);
	csv_table_free(&rows->table);
	memset(rows, 0, sizeof(*rows));
}

const char *row_extra(const struct rows *rows, const struct row *row, const char *name)
{
	size_t i;

	for (i = 0; i < rows->extras; i++)
		if (!strcmp(rows->extra_names[i], name))
			return row->extra[i];
	return "";
}
