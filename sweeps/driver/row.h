/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows: one measured case each, and rows.csv, the file that holds them (RFC 4180, by libcsv).
 *
 * Columns, in this order; the names are fixed:
 *   run target accel cpu guest host host_how op class at count global pcid leaves touches stride offset
 *   frames mix order access phase repeat sequence iterations seed cycles refills off_median exits
 *   must mix_refills mix_must op_va twin code  [extra columns of the target, one for each event]  valid
 *
 * cycles, refills: per iteration (median over the iterations). Not measured: empty. Readers take columns by
 * name, keep those that they do not know, and take a missing one for empty, unless it is essential (row_check.h).
 */
#ifndef TS_ROW_H
#define TS_ROW_H

#include "csv_table.h"
#include "measure.h"
#include "problem.h"

#include <stddef.h>

struct row {
	/* Where: the strings belong to the run or, in rows that were read, to struct rows. */
	const char *run, *target, *accel, *cpu;
	const char *host;     /* 4k 2m 1g none unknown */
	const char *host_how; /* verified inferred asked; empty with host none */
	struct ts_case c;
	enum ts_class class;  /* as the op table has it, or as the target saw it (user: by count) */
	struct ts_result r;
	u64 op_va;
	u64 sequence; /* position in the run, from 1 */
	u64 exits;    /* KVM exits in an iteration */
	u8 has_exits;
	const char *const *extra; /* one text for each extra column; 0 or "" when not measured */
	char valid[160];	  /* ok, or reasons joined by + */
};

/* Adds a reason to row->valid (which starts as "ok"); a reason stands once. */
void row_reason(struct row *row, const char *reason);
int row_is_valid(const struct row *row);
int row_has_reason(const struct row *row, const char *reason);

/* Is it the name of one of the fixed columns? */
int row_is_column(const char *name);
/* Column i of them in file order, or 0 beyond the last. */
const char *row_column_name(size_t i);

/* Host page for people: "4k", and "4k?" when it was inferred or asked for but not verified. */
const char *row_host_text(char *text, size_t size, const struct row *row);

/* The rows of one file; their texts belong to the table. */
struct rows {
	struct csv_table table;
	const char **extra_names; /* columns that are none of the fixed ones, in file order */
	size_t extras;
	const char **extra_texts; /* count * extras */
	struct row *row;
	size_t count;
};

/*
 * Reads a file; a row that cannot be read, or that stands twice, is a problem that names file, line and column. With
 * only_good such rows are left out instead, and counted in rows->table.left_out.
 */
int rows_read(const char *path, struct rows *rows, struct problem *problem);
int rows_read_good(const char *path, int only_good, struct rows *rows, struct problem *problem);
void rows_free(struct rows *rows);
/* Text of an extra column by name, "" if the file has none. */
const char *row_extra(const struct rows *rows, const struct row *row, const char *name);

/* A file that rows are appended to; each row is one write(2), so that a killed program leaves whole lines. */
struct rows_file;
struct rows_file *rows_create(const char *path, const char *const *extra_names, size_t extras,
			      struct problem *problem);
/* Opens a file for more rows, before it is read: nobody else may write to it from here on. -1 with *problem. */
int rows_lock(const char *path, struct problem *problem);
/* Goes on behind the last whole line of a file with the same columns; takes fd, from rows_lock(), over. */
struct rows_file *rows_continue(const struct rows *rows, int fd, const char *const *extra_names,
				size_t extras, struct problem *problem);
int rows_append(struct rows_file *file, const struct row *row, struct problem *problem);
/* Is the file under its name still the one that was written, and no more and no less? Else a problem. */
int rows_check(const struct rows_file *file, struct problem *problem);
void rows_close(struct rows_file *file);

#endif
