/* SPDX-License-Identifier: GPL-2.0 */
/* What a rows.csv has to have before anything is concluded from it: columns, and values that can be. */
#ifndef TS_ROW_CHECK_H
#define TS_ROW_CHECK_H

#include "row.h"

/* Must the file have this column, and a value in it? (valid: the column; an empty one is "not-judged".) */
int row_is_essential(const char *column);

/*
 * Why the header cannot be taken, as text that the caller frees: an essential column is missing, or a column differs
 * from a missing one in nothing but case and blanks. 0 when it can.
 */
char *row_check_header(const struct csv_table *table);

/* Digits only, as column cycles has it: no suffix, no 0x. */
int row_plain_number(const char *text, u64 *value);

/* Digits with at most one point, as a count of an event has it; a minus is taken (a difference of two counts). */
int row_plain_decimal(const char *text);

/*
 * Is a column one of counts of an event? It is none of the fixed ones and none of a target's, and some text in it begins
 * as a number does. Whether that text can be read decides nothing: else one bad value would hide the others.
 */
int row_names_event(const char *column);
int row_begins_number(const char *text);

/* Column whose value cannot be in a row that was measured, *why says why not; 0 when there is none. */
const char *row_check_values(const struct row *row, const char **why);

/*
 * Column valid as it was read: "ok" alone is ok. Of anything else the reasons are taken, and without any the row is
 * "not-judged". -1 when they are too many.
 */
int row_take_valid(struct row *row, const char *text);

#endif
