/* SPDX-License-Identifier: GPL-2.0 */
/* The fracture table: host page x guest page, selective and full, with F and the verdict. */
#ifndef TS_TABLE_H
#define TS_TABLE_H

#include "judge.h"

#include <jansson.h>
#include <stdio.h>

struct published;

/* Prints the tables of n runs; published (may be 0) adds the figures of 2016 beside ours. */
void table_print(FILE *out, const struct rows *rows, size_t n, const struct published *published);

/* The same as JSON; the caller owns it. Schema in the man page. */
json_t *table_json(const struct rows *rows, size_t n);

/* Working set and op as the tables name them; the caller frees. */
char *table_set_text(const struct ts_case *c);
char *table_op_text(const struct outcome *outcome);

/* The op of another cell's outcome, and the cell of another phase; 0 if there is none. */
const struct outcome *table_same_op(const struct cell *cell, const struct outcome *like);
const struct cell *table_with_phase(const struct cells *cells, const struct cell *like, u64 phase);

#endif
